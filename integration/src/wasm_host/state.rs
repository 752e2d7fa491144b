//! What the host keeps between hostcalls.

use std::collections::BTreeMap;

use wasmtime::{Memory, StoreLimits, TypedFunc};

use super::capabilities::Capabilities;
use super::grpc::Grpc;
use super::metrics::Metrics;
use crate::headers::Headers;

/// A reply that the guest sent instead of letting the request pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalReply {
    /// The HTTP status.
    pub status: u32,
    /// The headers as the client gets them, without pseudo headers.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
    /// The response code details, for access logs.
    pub details: String,
    /// What the guest noted of the request before, for access logs.
    pub filter_state: BTreeMap<String, Vec<u8>>,
}

/// One HTTP request.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) root: u32,
    pub(super) route_name: Vec<u8>,
    pub(super) request: Headers,
    pub(super) response: Headers,
    pub(super) local_reply: Option<LocalReply>,
    pub(super) resumed: bool,
    /// The properties that the guest has set.
    pub(super) filter_state: BTreeMap<String, Vec<u8>>,
}

/// The timer of a root context.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tick {
    pub(super) period_ms: u32,
    /// When it was set, or ticked last.
    pub(super) since_ns: u64,
}

/// Everything that hostcalls read and write.
pub(super) struct HostState {
    pub(super) memory: Option<Memory>,
    pub(super) allocate: Option<TypedFunc<u32, u32>>,
    pub(super) capabilities: Capabilities,
    /// What the guest may have.
    pub(super) limits: StoreLimits,
    /// The root context that gets new requests.
    pub(super) root: u32,
    /// The timers of all root contexts.
    pub(super) ticks: BTreeMap<u32, Tick>,
    pub(super) effective: u32,
    pub(super) streams: BTreeMap<u32, Stream>,
    pub(super) plugin_config: Vec<u8>,
    pub(super) node_id: String,
    pub(super) grpc: Grpc,
    pub(super) metrics: Metrics,
    pub(super) logs: Vec<(u32, String)>,
    pub(super) now_ns: u64,
    pub(super) random: u64,
    /// Callbacks and hostcalls by name, and calls back into the guest's allocator as `malloc`.
    pub(super) calls: BTreeMap<&'static str, u64>,
}

// === impl Tick ===

impl Tick {
    pub(super) fn due(&self) -> Option<u64> {
        let period_ns = u64::from(self.period_ms) * 1_000_000;
        (period_ns > 0).then_some(self.since_ns + period_ns)
    }
}

// === impl HostState ===

impl HostState {
    pub(super) fn new(capabilities: Capabilities) -> Self {
        Self {
            memory: None,
            allocate: None,
            capabilities,
            limits: StoreLimits::default(),
            root: 0,
            ticks: BTreeMap::new(),
            effective: 0,
            streams: BTreeMap::new(),
            plugin_config: Vec::new(),
            node_id: "wasmtime".to_owned(),
            grpc: Grpc::default(),
            metrics: Metrics::default(),
            logs: Vec::new(),
            // Any moment will do, if only it is not zero: the epoch is a moment that clocks
            // that are not set show.
            now_ns: 1_700_000_000_000_000_000,
            random: 1,
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn count(&mut self, name: &'static str) {
        *self.calls.entry(name).or_default() += 1;
    }

    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        self.streams.get_mut(&self.effective)
    }

    pub(super) fn has_context(&self, context: u32) -> bool {
        self.ticks.contains_key(&context) || self.streams.contains_key(&context)
    }

    /// Sets the timer of the root that the effective context belongs to, as Envoy does.
    pub(super) fn set_tick(&mut self, period_ms: u32) {
        let root = self.streams.get(&self.effective).map_or(self.effective, |stream| stream.root);
        let since_ns = self.now_ns;
        self.ticks.insert(root, Tick { period_ms, since_ns });
    }

    /// A property of the effective context, by its path joined with dots.
    pub(super) fn property(&mut self, path: &str) -> Option<Vec<u8>> {
        match path {
            "plugin_name" => Some(b"keyward".to_vec()),
            "plugin_root_id" | "plugin_vm_id" => Some(Vec::new()),
            "xds.node.id" => Some(self.node_id.clone().into_bytes()),
            "xds.route_name" => self.stream().map(|stream| stream.route_name.clone()),
            _ => {
                // All values, where `proxy_get_header_map_value` gives the first one.
                let name = path.strip_prefix("request.headers.")?.to_owned();
                let values = self.stream()?.request.all(name);
                (!values.is_empty()).then(|| values.join(&b','))
            }
        }
    }

    /// Random bytes are the same in every run: `SplitMix64` from the seed.
    pub(super) fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}
