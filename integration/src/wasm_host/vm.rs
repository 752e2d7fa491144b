//! One VM: what a worker of Envoy has.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use wasmtime::{Instance, Store, WasmParams, WasmResults};

use super::grpc::{GrpcMode, GrpcStream};
use super::module::Host;
use super::state::{HostState, LocalReply, Stream};
use crate::headers::Headers;

const ACTION_CONTINUE: u32 = 0;
/// Enough for the largest snapshot of a test; an endless loop in the guest ends in a trap.
const FUEL: u64 = 1 << 40;
/// Headers that Envoy keeps once: repeated, their values are joined with commas before any filter
/// sees them.
const JOINED_HEADERS: [&str; 4] = ["authorization", "user-agent", "x-forwarded-for", "accept"];

/// A request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Names the request in further calls.
    pub id: u32,
    /// What became of it so far.
    pub outcome: Outcome,
    /// What the guest executed for it, in units of fuel.
    pub fuel: u64,
    /// Hostcalls made for it by name; calls back into the guest's allocator as `malloc`.
    pub hostcalls: BTreeMap<&'static str, u64>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on to the upstream, with these headers.
    Forwarded(Headers),
    /// It was answered.
    Local(LocalReply),
    /// It waits.
    Paused,
}

/// One VM, with one plugin.
pub struct Vm {
    store: Store<HostState>,
    instance: Instance,
    next_context: u32,
    paused: Vec<u32>,
    /// Root contexts of earlier configurations, which go with their last request.
    roots: Vec<u32>,
    since_tick: Duration,
}

// === impl Outcome ===

impl Outcome {
    /// The headers that the upstream gets, if it gets the request.
    #[must_use]
    pub fn forwarded(&self) -> Option<&Headers> {
        match self {
            Self::Forwarded(headers) => Some(headers),
            Self::Local(_) | Self::Paused => None,
        }
    }

    /// The reply, if the request was answered.
    #[must_use]
    pub fn local(&self) -> Option<&LocalReply> {
        match self {
            Self::Local(reply) => Some(reply),
            Self::Forwarded(_) | Self::Paused => None,
        }
    }
}

// === impl Vm ===

impl Vm {
    /// A VM as Envoy makes it: instantiated, initialised and given its configuration.
    ///
    /// # Errors
    ///
    /// When the guest traps or refuses the configuration.
    pub fn start(host: &Host, plugin_config: &[u8]) -> anyhow::Result<Self> {
        Self::start_seeded(host, plugin_config, 1)
    }

    /// The same with another seed for the random bytes that the guest gets.
    ///
    /// # Errors
    ///
    /// When the guest traps or refuses the configuration.
    pub fn start_seeded(host: &Host, plugin_config: &[u8], seed: u64) -> anyhow::Result<Self> {
        let state = HostState::new(host.capabilities.clone(), seed);
        let mut store = Store::new(&host.engine, state);
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
        let roots = Vec::new();
        let since_tick = Duration::ZERO;
        let mut vm = Self { store, instance, next_context: 1, paused: Vec::new(), roots, since_tick };
        vm.call::<(), ()>("_initialize", ())?;
        if !vm.configure(plugin_config)? {
            bail!("the guest refused its configuration; it said {:?}", vm.logs());
        }
        Ok(vm)
    }

    /// Gives a new configuration as Envoy does: to a new root context in the same VM. The streams
    /// of the old one are reset without a word, and it goes when its last request ends. Says
    /// whether the guest took it.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn configure(&mut self, plugin_config: &[u8]) -> anyhow::Result<bool> {
        let previous = self.store.data().root;
        let root = self.new_context();
        let state = self.store.data_mut();
        state.root = root;
        state.plugin_config = plugin_config.to_vec();
        let length = u32::try_from(plugin_config.len())?;
        self.enter(root, "proxy_on_context_create", (root, 0_u32))?;
        let started: u32 = self.enter_for(root, "proxy_on_vm_start", (root, 0_u32), 1)?;
        let taken: u32 = self.enter_for(root, "proxy_on_configure", (root, length), 1)?;
        if started == 0 || taken == 0 {
            self.store.data_mut().root = previous;
            return Ok(false);
        }
        if previous != 0 {
            self.store.data_mut().grpc.open.retain(|_, stream| stream.context != previous);
            self.roots.push(previous);
            self.drop_old_roots()?;
        }
        Ok(true)
    }

    /// Sends a request that matched the route of this name.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn request(&mut self, route: &str, headers: Headers) -> anyhow::Result<Exchange> {
        let fuel = self.fuel()?;
        let before = self.store.data().calls.clone();
        let id = self.new_context();
        let root = self.store.data().root;
        let request = with_pseudo_headers(&joined(headers.lower_case()));
        let count = u32::try_from(request.len())?;
        let route_name = route.as_bytes().to_vec();
        let stream = Stream { route_name, request, ..Stream::default() };
        self.store.data_mut().streams.insert(id, stream);
        self.enter(id, "proxy_on_context_create", (id, root))?;
        let action = self.enter_for(id, "proxy_on_request_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        if action != ACTION_CONTINUE {
            self.paused.push(id);
        }
        let outcome = self.outcome(id)?;
        if matches!(outcome, Outcome::Local(_)) {
            // Envoy sends a local reply through the filters, the one that made it included.
            let count = u32::try_from(self.reply_headers(id)?.len())?;
            self.enter_for(id, "proxy_on_response_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        }
        let spent = fuel - self.fuel()?;
        Ok(Exchange { id, outcome, fuel: spent, hostcalls: self.calls_since(&before) })
    }

    /// What became of a request, perhaps after it waited.
    ///
    /// # Errors
    ///
    /// When there is no such request.
    pub fn outcome(&self, id: u32) -> anyhow::Result<Outcome> {
        let stream = self.store.data().streams.get(&id).context("no such request")?;
        Ok(if let Some(reply) = &stream.local_reply {
            Outcome::Local(reply.clone())
        } else if self.paused.contains(&id) && !stream.resumed {
            Outcome::Paused
        } else {
            Outcome::Forwarded(stream.request.clone())
        })
    }

    /// Gives the upstream's response to a forwarded request; returns the headers that the client
    /// gets.
    ///
    /// # Errors
    ///
    /// When the guest traps or holds the response back.
    pub fn response(&mut self, id: u32, headers: &Headers) -> anyhow::Result<Headers> {
        let stream = self.store.data_mut().streams.get_mut(&id).context("no such request")?;
        stream.response = headers.lower_case();
        if stream.response.first(":status").is_none() {
            stream.response.add(":status", "200");
        }
        let count = u32::try_from(stream.response.len())?;
        let action = self.enter_for(id, "proxy_on_response_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        if action != ACTION_CONTINUE {
            bail!("the guest holds a response back");
        }
        let stream = self.store.data().streams.get(&id).context("no such request")?;
        Ok(stream.response.clone())
    }

    /// Ends a request, also one that waits: its client went away.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such request.
    pub fn end(&mut self, id: u32) -> anyhow::Result<()> {
        if !self.store.data().streams.contains_key(&id) {
            bail!("no such request");
        }
        self.enter_for(id, "proxy_on_done", (id,), 1)?;
        self.enter(id, "proxy_on_log", (id,))?;
        self.enter(id, "proxy_on_delete", (id,))?;
        self.store.data_mut().streams.remove(&id);
        self.paused.retain(|paused| *paused != id);
        self.drop_old_roots()
    }

    /// Lets time pass, with the ticks that the guest asked for.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn advance(&mut self, by: Duration) -> anyhow::Result<()> {
        let mut left = by;
        loop {
            let period = Duration::from_millis(u64::from(self.store.data().tick_period_ms));
            if period.is_zero() || self.since_tick + left < period {
                self.since_tick += left;
                self.pass(left)?;
                return Ok(());
            }
            let step = period.saturating_sub(self.since_tick);
            self.pass(step)?;
            left = left.saturating_sub(step);
            self.since_tick = Duration::ZERO;
            self.tick()?;
        }
    }

    /// One tick now.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn tick(&mut self) -> anyhow::Result<()> {
        let root = self.store.data().root;
        self.enter(root, "proxy_on_tick", (root,))
    }

    /// What happens when the guest opens a stream from now on.
    pub fn set_grpc_mode(&mut self, mode: GrpcMode) {
        self.store.data_mut().grpc.mode = mode;
    }

    /// The open streams by id.
    #[must_use]
    pub fn grpc_streams(&self) -> &BTreeMap<u32, GrpcStream> {
        &self.store.data().grpc.open
    }

    /// How many streams the guest has opened so far.
    #[must_use]
    pub fn grpc_opened(&self) -> u32 {
        self.store.data().grpc.opened
    }

    /// Takes what the guest sent on a stream since the last time.
    pub fn take_sent(&mut self, stream: u32) -> Vec<Vec<u8>> {
        let stream = self.store.data_mut().grpc.open.get_mut(&stream);
        stream.map(|stream| std::mem::take(&mut stream.sent)).unwrap_or_default()
    }

    /// A message arrives on a stream.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such stream.
    pub fn grpc_message(&mut self, stream: u32, message: &[u8]) -> anyhow::Result<()> {
        let context = self.grpc_context(stream)?;
        self.store.data_mut().grpc.receiving = message.to_vec();
        let length = u32::try_from(message.len())?;
        let done = self.enter(context, "proxy_on_grpc_receive", (context, stream, length));
        self.store.data_mut().grpc.receiving = Vec::new();
        done
    }

    /// A stream is closed by the other end.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such stream.
    pub fn grpc_close(&mut self, stream: u32, status: u32) -> anyhow::Result<()> {
        let context = self.grpc_context(stream)?;
        let grpc = &mut self.store.data_mut().grpc;
        grpc.open.remove(&stream);
        grpc.status = status;
        self.enter(context, "proxy_on_grpc_close", (context, stream, status))
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

    /// The size of the guest's memory in bytes. It never shrinks.
    pub fn memory_size(&mut self) -> usize {
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
        let before = self.fuel()?;
        let done = what(self)?;
        Ok((done, before - self.fuel()?))
    }

    fn fuel(&self) -> anyhow::Result<u64> {
        Ok(self.store.get_fuel()?)
    }

    fn pass(&mut self, by: Duration) -> anyhow::Result<()> {
        self.store.data_mut().now_ns += u64::try_from(by.as_nanos())?;
        Ok(())
    }

    fn new_context(&mut self) -> u32 {
        let id = self.next_context;
        self.next_context += 1;
        id
    }

    fn grpc_context(&self, stream: u32) -> anyhow::Result<u32> {
        let stream = self.store.data().grpc.open.get(&stream);
        Ok(stream.context("no such gRPC stream")?.context)
    }

    fn reply_headers(&mut self, id: u32) -> anyhow::Result<Headers> {
        let stream = self.store.data_mut().streams.get_mut(&id).context("no such request")?;
        let reply = stream.local_reply.as_ref().context("no reply")?;
        stream.response = Headers::new().with(":status", reply.status.to_string());
        for (name, value) in reply.headers.iter() {
            stream.response.add(name, value);
        }
        Ok(stream.response.clone())
    }

    fn calls_since(&self, before: &BTreeMap<&'static str, u64>) -> BTreeMap<&'static str, u64> {
        let now = self.store.data().calls.iter();
        let rise = now.map(|(name, count)| (*name, count - before.get(name).unwrap_or(&0)));
        rise.filter(|(_, count)| *count > 0).collect()
    }

    fn drop_old_roots(&mut self) -> anyhow::Result<()> {
        if !self.store.data().streams.is_empty() {
            return Ok(());
        }
        for root in std::mem::take(&mut self.roots) {
            self.enter_for(root, "proxy_on_done", (root,), 1)?;
            self.enter(root, "proxy_on_delete", (root,))?;
        }
        Ok(())
    }

    fn enter<P: WasmParams>(
        &mut self,
        context: u32,
        callback: &'static str,
        parameters: P,
    ) -> anyhow::Result<()> {
        self.enter_any::<P, ()>(context, callback, parameters).map(|_| ())
    }

    fn enter_for<P: WasmParams>(
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
        if !self.store.data().capabilities.allows(callback) {
            return Ok(None);
        }
        if self.instance.get_func(&mut self.store, callback).is_none() {
            return Ok(None);
        }
        self.store.data_mut().effective = context;
        let result = self.call(callback, parameters)?;
        self.store.data_mut().effective = 0;
        for (stream, status) in std::mem::take(&mut self.store.data_mut().grpc.to_close) {
            if self.store.data().grpc.open.contains_key(&stream) {
                self.grpc_close(stream, status)?;
            }
        }
        Ok(Some(result))
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, function: &str, parameters: P) -> anyhow::Result<R> {
        let function_ref = self.instance.get_typed_func::<P, R>(&mut self.store, function)?;
        function_ref.call(&mut self.store, parameters).map_err(|error| {
            let said = self.store.data().logs.iter().rev().take(5).collect::<Vec<_>>();
            anyhow!("{function} died: {error:?}; last log lines, newest first: {said:?}")
        })
    }
}

fn joined(headers: Headers) -> Headers {
    JOINED_HEADERS.iter().fold(headers, |mut headers, name| {
        let values = headers.all(name);
        if values.len() > 1 {
            let value = values.join(b",".as_slice());
            headers.replace(name, value);
        }
        headers
    })
}

fn with_pseudo_headers(headers: &Headers) -> Headers {
    let defaults = [(":authority", "test"), (":path", "/"), (":method", "GET"), (":scheme", "http")];
    let missing = defaults.iter().filter(|(name, _)| headers.first(name).is_none());
    let mut all: Headers = missing.copied().collect();
    for (name, value) in headers.iter() {
        all.add(name, value);
    }
    all
}
