//! The callbacks that concern one request.

use std::rc::Rc;

use keyward_filter_core::config::FilterConfig;
use keyward_filter_core::request::{self, Outcome};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use crate::vm;

/// The context of one request.
pub(crate) struct Request {
    id: u32,
    /// That of the root when the request began. A newer one is for newer requests.
    config: Option<Rc<FilterConfig>>,
}

// === impl Request ===

impl Request {
    pub(crate) fn new(id: u32, config: Option<Rc<FilterConfig>>) -> Self {
        Self { id, config }
    }
}

impl Context for Request {}

impl HttpContext for Request {
    fn on_http_request_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        #[cfg(feature = "fault-injection")]
        if crate::fault::bypasses() {
            return Action::Continue;
        }
        let outcome = vm::with(|worker, proxy| match &self.config {
            Some(config) => worker.on_request_headers(self.id, config, proxy),
            None => request::unavailable(proxy),
        });
        match outcome {
            Some(Outcome::Forward(_)) => Action::Continue,
            Some(Outcome::Answered | Outcome::Wait) | None => Action::Pause,
        }
    }

    fn on_http_response_headers(&mut self, _num_headers: usize, _end_of_stream: bool) -> Action {
        let removed = vm::with(|_, proxy| match &self.config {
            Some(config) => request::on_response_headers(config, proxy),
            None => Ok(()),
        });
        match removed {
            Some(Ok(())) => Action::Continue,
            Some(Err(_)) | None => Action::Pause,
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        vm::with(|worker, proxy| worker.on_request_gone(self.id, proxy));
    }
}
