//! The state of one VM. It lives as long as the VM, through all configurations.

use std::cell::RefCell;

use keyward_filter_core::worker::Worker;

use crate::BUILD;
use crate::proxy::Proxy;

thread_local! {
    static VM: RefCell<Option<Vm>> = const { RefCell::new(None) };
}

struct Vm {
    worker: Worker,
    proxy: Proxy,
}

/// Does something with the state of this VM.
///
/// Gives nothing if the state is in use already. A proxy enters a VM once at a time, so that does
/// not happen; if it did, the caller would have to deny.
pub(crate) fn with<R>(act: impl FnOnce(&mut Worker, &mut Proxy) -> R) -> Option<R> {
    VM.try_with(|vm| {
        let mut vm = vm.try_borrow_mut().ok()?;
        let vm = vm.get_or_insert_with(Vm::start);
        Some(act(&mut vm.worker, &mut vm.proxy))
    })
    .ok()
    .flatten()
}

// === impl Vm ===

impl Vm {
    fn start() -> Self {
        let proxy = Proxy::start();
        // Nanoseconds tell workers apart well enough for a name and for spreading their attempts,
        // and spare the module a source of randomness.
        let worker = Worker::new(proxy.nanoseconds(), BUILD);
        Self { worker, proxy }
    }
}
