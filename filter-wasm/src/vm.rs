//! The state of one VM. It lives as long as the VM, through all configurations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use keyward_filter_core::config::{FilterConfig, InvalidConfig};
use keyward_filter_core::host::HostError;
use keyward_filter_core::request::{self, Outcome};
use keyward_filter_core::worker::Worker;

use crate::BUILD;
use crate::proxy::Proxy;

thread_local! {
    static VM: RefCell<Option<Vm>> = const { RefCell::new(None) };
}

/// All that a VM holds.
pub(crate) struct Vm {
    pub(crate) worker: Worker,
    pub(crate) proxy: Proxy,
    /// The roots that took a configuration.
    roots: BTreeMap<u32, Rc<FilterConfig>>,
    /// The requests, each with the configuration of its root when it began: a newer one is for newer
    /// requests. There is none if the root has none.
    requests: BTreeMap<u32, Option<Rc<FilterConfig>>>,
}

/// Does something with the state of this VM.
///
/// Gives nothing if the state is in use already. A proxy enters a VM once at a time, so that does
/// not happen; if it did, the caller would have to deny.
pub(crate) fn with<R>(act: impl FnOnce(&mut Vm) -> R) -> Option<R> {
    VM.try_with(|vm| {
        let mut vm = vm.try_borrow_mut().ok()?;
        Some(act(vm.get_or_insert_with(Vm::start)))
    })
    .ok()
    .flatten()
}

// === impl Vm ===

impl Vm {
    fn start() -> Self {
        let proxy = Proxy::start();
        let worker = Worker::new(proxy.random(), BUILD);
        Self { worker, proxy, roots: BTreeMap::new(), requests: BTreeMap::new() }
    }

    /// A root gets a configuration.
    pub(crate) fn configure(&mut self, root: u32, config: &[u8]) -> Result<(), InvalidConfig> {
        let config = self.worker.on_configure(root, config, &mut self.proxy)?;
        self.roots.insert(root, config);
        Ok(())
    }

    /// A request begins.
    pub(crate) fn begin(&mut self, request: u32, root: u32) {
        self.worker.on_new_request(root, &mut self.proxy);
        self.requests.insert(request, self.roots.get(&root).map(Rc::clone));
    }

    /// Decides on a request.
    pub(crate) fn decide(&mut self, request: u32) -> Outcome {
        match self.requests.get(&request) {
            Some(Some(config)) => self.worker.on_request_headers(request, config, &mut self.proxy),
            Some(None) | None => request::unconfigured(&mut self.proxy),
        }
    }

    /// Takes off a response what is nobody's business.
    pub(crate) fn strip_response(&mut self, request: u32) -> Result<(), HostError> {
        match self.requests.get(&request) {
            Some(Some(config)) => request::on_response_headers(config, &mut self.proxy),
            Some(None) | None => Ok(()),
        }
    }

    /// A request or a root is gone.
    pub(crate) fn end(&mut self, context: u32) {
        if self.requests.remove(&context).is_some() {
            self.worker.on_request_gone(context, &mut self.proxy);
        } else if self.roots.remove(&context).is_some() {
            self.worker.on_root_gone(context, &mut self.proxy);
        }
    }
}
