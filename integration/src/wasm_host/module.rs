//! Loading and compiling the module, once for each test binary.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, anyhow};
use wasmtime::{Config, Engine, InstancePre, Linker, Module};

use super::capabilities::Capabilities;
use super::state::HostState;
use super::{hostcalls, hostcalls_http, wasi};
use crate::paths;

/// A compiled filter, from which VMs are made.
#[derive(Clone)]
pub struct Host {
    pub(super) engine: Engine,
    pub(super) ready: InstancePre<HostState>,
    pub(super) capabilities: Capabilities,
}

static FILTER: LazyLock<Result<Host, String>> = LazyLock::new(|| {
    let host = paths::filter_wasm().and_then(|path| Host::from_file(&path));
    host.map_err(|error| format!("{error:#}"))
});

// === impl Host ===

impl Host {
    /// The filter that Envoy loads, with the capabilities that Keyward gives it.
    ///
    /// # Errors
    ///
    /// When it was not built, or does not load.
    pub fn load() -> anyhow::Result<Self> {
        FILTER.clone().map_err(|error| anyhow!(error))
    }

    /// Any proxy-wasm module, with every capability.
    ///
    /// # Errors
    ///
    /// When it does not load, or imports something that this host does not have.
    pub fn from_file(path: &Path) -> anyhow::Result<Self> {
        let wasm = std::fs::read(path).with_context(|| path.display().to_string())?;
        let mut config = Config::new();
        config.consume_fuel(true);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, wasm)?;
        let mut linker = Linker::new(&engine);
        hostcalls::link(&mut linker)?;
        hostcalls_http::link(&mut linker)?;
        wasi::link(&mut linker)?;
        let ready = linker.instantiate_pre(&module)?;
        Ok(Self { engine, ready, capabilities: Capabilities::default() })
    }

    /// The same with only the capabilities listed, as Envoy's `capability_restriction_config`.
    #[must_use]
    pub fn restricted_to<'a>(&self, capabilities: impl IntoIterator<Item = &'a str>) -> Self {
        Self { capabilities: Capabilities::only(capabilities), ..self.clone() }
    }
}
