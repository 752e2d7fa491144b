//! The callbacks that concern the filter as a whole: configuration, time and the key stream.

use std::rc::Rc;

use keyward_filter_core::config::FilterConfig;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use crate::request::Request;
use crate::{proxy, vm};

/// A root context: one plugin configuration in one VM.
pub(crate) struct Root {
    id: u32,
    config: Option<Rc<FilterConfig>>,
}

// === impl Root ===

impl Root {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, config: None }
    }
}

impl Context for Root {
    fn on_grpc_stream_initial_metadata(&mut self, token_id: u32, num_elements: u32) {
        // An error that the proxy found itself comes with no headers at all.
        if num_elements > 0 {
            vm::with(|worker, proxy| worker.on_stream_accepted(token_id, proxy));
        }
    }

    fn on_grpc_stream_message(&mut self, token_id: u32, message_size: usize) {
        let message = proxy::grpc_message(message_size);
        vm::with(|worker, proxy| match message {
            Some(message) => worker.on_message(token_id, &message, proxy),
            None => worker.on_garbage(token_id, proxy),
        });
    }

    fn on_grpc_stream_close(&mut self, token_id: u32, _status_code: u32) {
        vm::with(|worker, proxy| worker.on_close(token_id, proxy));
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, plugin_configuration_size: usize) -> bool {
        let config = proxy::plugin_configuration(plugin_configuration_size).unwrap_or_default();
        match vm::with(|worker, proxy| worker.on_configure(self.id, &config, proxy)) {
            Some(Ok(config)) => {
                self.config = Some(config);
                true
            }
            Some(Err(error)) => {
                log::error!("{error}");
                false
            }
            None => false,
        }
    }

    fn on_tick(&mut self) {
        vm::with(|worker, proxy| worker.on_tick(self.id, proxy));
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, context_id: u32) -> Option<Box<dyn HttpContext>> {
        vm::with(|worker, proxy| worker.on_new_request(self.id, proxy));
        Some(Box::new(Request::new(context_id, self.config.clone())))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        vm::with(|worker, proxy| worker.on_root_gone(self.id, proxy));
    }
}
