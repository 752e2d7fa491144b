//! The callbacks that concern the filter as a whole: configuration, time and the key stream.

use keyward_filter_abi::call::{self, Level};

use crate::{proxy, vm};

/// A root gets its configuration. Whether it is taken.
pub(crate) fn on_configure(root: u32, size: usize) -> bool {
    let config = proxy::plugin_configuration(size).unwrap_or_default();
    match vm::with(|vm| vm.configure(root, &config)) {
        Some(Ok(())) => true,
        Some(Err(error)) => {
            call::log(Level::Error, &error.to_string());
            false
        }
        None => false,
    }
}

/// Time goes by for a root.
pub(crate) fn on_tick(root: u32) {
    vm::with(|vm| {
        vm.worker.on_tick(root, &mut vm.proxy);
        vm.proxy.show_counts();
    });
}

/// The server answered on a stream.
pub(crate) fn on_stream_answered(stream: u32, headers: u32) {
    // An error that the proxy found itself comes with no headers at all.
    if headers > 0 {
        vm::with(|vm| vm.worker.on_stream_accepted(stream, &mut vm.proxy));
    }
}

/// A message came over a stream.
pub(crate) fn on_message(stream: u32, size: usize) {
    let message = proxy::grpc_message(size);
    vm::with(|vm| match message {
        Some(message) => vm.worker.on_message(stream, &message, &mut vm.proxy),
        None => vm.worker.on_garbage(stream, &mut vm.proxy),
    });
}
