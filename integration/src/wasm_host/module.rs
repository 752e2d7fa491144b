//! Loading and compiling the module, once for each test binary.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, anyhow};
use keyward_filter_core::capability::CAPABILITIES;
use wasmtime::{Config, Engine, ExternType, InstancePre, Linker, Module, Store, Val};

use super::capabilities::Capabilities;
use super::state::HostState;
use super::{Status, hostcalls, hostcalls_http, wasi};
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

/// Hostcalls that the SDK can import and this filter must not need: there, so that a module loads,
/// and answered with a code that shows.
fn link_absent(linker: &mut Linker<HostState>, module: &Module) -> wasmtime::Result<()> {
    for import in module.imports() {
        let known = linker.get_by_import(
            &mut Store::new(module.engine(), HostState::new(Capabilities::default())),
            &import,
        );
        let ExternType::Func(function) = import.ty() else { continue };
        if known.is_some() || import.module() != "env" {
            continue;
        }
        // Once for each module that is loaded: names of calls live as long as the process.
        let name: &'static str = import.name().to_owned().leak();
        linker.func_new("env", name, function, move |mut caller, _, results| {
            caller.data_mut().count(name);
            if let [result] = results {
                *result = Val::I32(Status::Unimplemented as i32);
                return Ok(());
            }
            wasmtime::bail!("the guest called {name}, which this host does not have")
        })?;
    }
    Ok(())
}

// === impl Host ===

impl Host {
    /// The filter that Envoy loads, with the capabilities that Keyward gives it.
    ///
    /// # Errors
    ///
    /// When it was not built, or does not load.
    pub fn load() -> anyhow::Result<Self> {
        Ok(Self::load_by_itself()?.restricted_to(CAPABILITIES.iter().copied()))
    }

    /// The same with every capability, as others may load it: then it also does what Keyward leaves to the
    /// route configuration.
    ///
    /// # Errors
    ///
    /// As for [`Host::load`].
    pub fn load_by_itself() -> anyhow::Result<Self> {
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
        link_absent(&mut linker, &module)?;
        let ready = linker.instantiate_pre(&module)?;
        Ok(Self { engine, ready, capabilities: Capabilities::default() })
    }

    /// The same with only the capabilities listed, as Envoy's `capability_restriction_config`.
    #[must_use]
    pub fn restricted_to<'a>(&self, capabilities: impl IntoIterator<Item = &'a str>) -> Self {
        Self { capabilities: Capabilities::only(capabilities), ..self.clone() }
    }
}
