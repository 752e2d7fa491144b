//! One VM: what a worker of Envoy has.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use wasmtime::{Instance, Store, StoreLimitsBuilder, WasmParams, WasmResults};

use super::module::Host;
use super::state::{HostState, Tick};

/// Enough for the largest snapshot of a test; an endless loop in the guest ends in a trap.
const FUEL: u64 = 1 << 40;

/// One VM, with one plugin.
pub struct Vm {
    pub(super) store: Store<HostState>,
    instance: Instance,
    next_context: u32,
    /// The requests on whose headers the guest said to wait.
    pub(super) paused: Vec<u32>,
}

// === impl Vm ===

impl Vm {
    /// A VM as Envoy makes it: instantiated, initialised and given its configuration.
    ///
    /// # Errors
    ///
    /// When the guest traps or refuses the configuration.
    pub fn start(host: &Host, plugin_config: &[u8]) -> anyhow::Result<Self> {
        Self::start_within(host, plugin_config, usize::MAX)
    }

    /// The same with so many bytes of memory at most.
    ///
    /// # Errors
    ///
    /// When the guest traps or refuses the configuration.
    pub fn start_within(host: &Host, plugin_config: &[u8], memory: usize) -> anyhow::Result<Self> {
        let mut store = Store::new(&host.engine, HostState::new(host.capabilities.clone()));
        store.data_mut().limits = StoreLimitsBuilder::new().memory_size(memory).build();
        store.limiter(|state| &mut state.limits);
        store.set_fuel(FUEL)?;
        let instance = host.ready.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory").context("no memory is exported")?;
        let allocator = ["malloc", "proxy_on_memory_allocate"]
            .into_iter()
            .find_map(|name| instance.get_typed_func(&mut store, name).ok());
        store.data_mut().memory = Some(memory);
        store.data_mut().allocate = Some(allocator.context("no allocator is exported")?);
        if instance.get_func(&mut store, "proxy_abi_version_0_2_1").is_none() {
            bail!("the module does not speak ABI 0.2.1");
        }
        let mut vm = Self { store, instance, next_context: 1, paused: Vec::new() };
        vm.call::<(), ()>("_initialize", ())?;
        if !vm.configure(plugin_config)? {
            bail!("the guest refused its configuration; it said {:?}", vm.logs());
        }
        Ok(vm)
    }

    /// Gives a new configuration as Envoy does: to a new root context in the same VM. The old root
    /// goes when its last request ends, and its streams with it, without a word. Says whether the
    /// guest took the configuration.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn configure(&mut self, plugin_config: &[u8]) -> anyhow::Result<bool> {
        let root = self.new_context();
        let state = self.store.data_mut();
        state.ticks.insert(root, Tick::default());
        state.plugin_config = plugin_config.to_vec();
        let length = u32::try_from(plugin_config.len())?;
        self.enter(root, "proxy_on_context_create", (root, 0_u32))?;
        let started = self.enter_for(root, "proxy_on_vm_start", (root, 0_u32), 1)?;
        let taken = started != 0 && self.enter_for(root, "proxy_on_configure", (root, length), 1)? != 0;
        if taken {
            self.store.data_mut().root = root;
        } else {
            self.store.data_mut().ticks.remove(&root);
        }
        self.drop_old_roots()?;
        Ok(taken)
    }

    /// Lets time pass, with the ticks that the guest asked for, each root at its own pace.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn advance(&mut self, by: Duration) -> anyhow::Result<()> {
        let end = self.store.data().now_ns + u64::try_from(by.as_nanos())?;
        loop {
            let ticks = self.store.data().ticks.iter();
            let due = ticks.filter_map(|(root, tick)| Some((tick.due()?, *root))).min();
            let Some((at, root)) = due.filter(|(at, _)| *at <= end) else { break };
            let state = self.store.data_mut();
            state.now_ns = state.now_ns.max(at);
            let now = state.now_ns;
            if let Some(tick) = state.ticks.get_mut(&root) {
                tick.since_ns = now;
            }
            self.enter(root, "proxy_on_tick", (root,))?;
        }
        self.store.data_mut().now_ns = end;
        Ok(())
    }

    /// A metric by its name, once the guest has defined it.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<u64> {
        self.metrics().get(name).copied()
    }

    /// All metrics by name.
    #[must_use]
    pub fn metrics(&self) -> &BTreeMap<String, u64> {
        self.store.data().metrics.by_name()
    }

    /// What the guest logged, with its level.
    #[must_use]
    pub fn logs(&self) -> &[(u32, String)] {
        &self.store.data().logs
    }

    /// Callbacks and hostcalls so far by name, and calls back into the guest's allocator as `malloc`.
    #[must_use]
    pub fn calls(&self) -> &BTreeMap<&'static str, u64> {
        &self.store.data().calls
    }

    /// The size of the guest's memory in bytes. It never shrinks.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        let memory = self.store.data().memory;
        memory.map_or(0, |memory| memory.data_size(&self.store))
    }

    /// What the guest executes while something is done, in units of fuel.
    ///
    /// # Errors
    ///
    /// When what is done fails.
    pub fn fuel_of<T>(
        &mut self,
        what: impl FnOnce(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, u64)> {
        let before = self.store.get_fuel()?;
        let done = what(self)?;
        Ok((done, before - self.store.get_fuel()?))
    }

    pub(super) fn new_context(&mut self) -> u32 {
        let id = self.next_context;
        self.next_context += 1;
        id
    }

    /// Ends the roots of earlier configurations that serve no request any more.
    pub(super) fn drop_old_roots(&mut self) -> anyhow::Result<()> {
        let state = self.store.data();
        let used = |root| state.streams.values().any(|stream| stream.root == root);
        let current = state.root;
        let old: Vec<u32> =
            state.ticks.keys().copied().filter(|root| *root != current && !used(*root)).collect();
        for root in old {
            self.enter_for(root, "proxy_on_done", (root,), 1)?;
            self.store.data_mut().grpc.open.retain(|_, stream| stream.context != root);
            self.enter(root, "proxy_on_delete", (root,))?;
            self.store.data_mut().ticks.remove(&root);
        }
        Ok(())
    }

    pub(super) fn enter<P: WasmParams>(
        &mut self,
        context: u32,
        callback: &'static str,
        parameters: P,
    ) -> anyhow::Result<()> {
        self.enter_any::<P, ()>(context, callback, parameters).map(|_| ())
    }

    pub(super) fn enter_for<P: WasmParams>(
        &mut self,
        context: u32,
        callback: &'static str,
        parameters: P,
        otherwise: u32,
    ) -> anyhow::Result<u32> {
        let result = self.enter_any::<P, u32>(context, callback, parameters)?;
        Ok(result.unwrap_or(otherwise))
    }

    /// Calls a callback unless it is not exported or not on the capability list, then does what
    /// the guest caused while it ran.
    fn enter_any<P: WasmParams, R: WasmResults>(
        &mut self,
        context: u32,
        callback: &'static str,
        parameters: P,
    ) -> anyhow::Result<Option<R>> {
        if !self.store.data().capabilities.allows(callback)
            || self.instance.get_func(&mut self.store, callback).is_none()
        {
            return Ok(None);
        }
        let state = self.store.data_mut();
        state.count(callback);
        state.effective = context;
        let result = self.call(callback, parameters)?;
        self.store.data_mut().effective = 0;
        self.close_failed_streams()?;
        Ok(Some(result))
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, function: &str, parameters: P) -> anyhow::Result<R> {
        let typed = self.instance.get_typed_func::<P, R>(&mut self.store, function)?;
        typed.call(&mut self.store, parameters).map_err(|error| {
            let said = self.store.data().logs.iter().rev().take(5).collect::<Vec<_>>();
            anyhow!("{function} died: {error:?}; last log lines, newest first: {said:?}")
        })
    }
}
