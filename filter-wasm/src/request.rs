//! The callbacks that concern one request.

use keyward_filter_abi::Action;
use keyward_filter_core::request::Outcome;

use crate::vm;

/// A request begins.
pub(crate) fn on_create(context: u32, root: u32) {
    vm::with(|vm| vm.begin(context, root));
}

/// Its headers are there.
pub(crate) fn on_headers(context: u32) -> Action {
    #[cfg(feature = "fault-injection")]
    if crate::fault::bypasses() {
        return Action::Continue;
    }
    match vm::with(|vm| vm.decide(context)) {
        Some(Outcome::Forward(_)) => Action::Continue,
        Some(Outcome::Answered | Outcome::Wait) | None => Action::Pause,
    }
}

/// The headers of its response are there.
pub(crate) fn on_response_headers(context: u32) -> Action {
    match vm::with(|vm| vm.strip_response(context)) {
        Some(Ok(())) => Action::Continue,
        Some(Err(_)) | None => Action::Pause,
    }
}
