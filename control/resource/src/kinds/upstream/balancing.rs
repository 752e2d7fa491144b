//! `spec.loadBalancerConfig`: which host gets which request.

use std::time::Duration;

use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// Which host gets which request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadBalancer {
    /// How a host is chosen.
    pub policy: LbPolicy,
    /// Below this share of healthy hosts, in percent, all hosts get requests. Unset: 50.
    pub healthy_panic_threshold: Option<Decimal>,
    /// Changes of hosts within this time are taken together; zero for none. Unset: 1 s.
    pub update_merge_window: Option<Duration>,
    /// Hashes the name of a host instead of its address.
    pub use_hostname_for_hashing: bool,
    /// Closes all connections when the set of hosts changes.
    pub close_connections_on_host_set_change: bool,
}

/// How a host is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LbPolicy {
    /// One after the other.
    RoundRobin {
        /// New hosts get their share by and by.
        slow_start: Option<SlowStart>,
    },
    /// The one with the fewest requests under way among a few.
    LeastRequest {
        /// How many; at least 2. Unset: 2.
        choice_count: Option<u32>,
        /// New hosts get their share by and by.
        slow_start: Option<SlowStart>,
    },
    /// Any.
    Random,
    /// By hash, on a ring.
    RingHash {
        /// The least number of points on the ring. Unset: 1024.
        minimum_ring_size: Option<u64>,
        /// The greatest. Unset: 8388608.
        maximum_ring_size: Option<u64>,
    },
    /// By hash, in a table.
    Maglev,
}

/// New hosts get their share by and by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowStart {
    /// How long a host counts as new; not zero.
    pub window: Duration,
    /// How the share grows: 1 for evenly. 0.01 to 1000. Unset: 1.
    pub aggression: Option<Decimal>,
    /// The share at the start, in percent. Unset: 10.
    pub min_weight_percent: Option<Decimal>,
}

/// A finite number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decimal(f64);

pub(super) static LOAD_BALANCER_CONFIG: Message = Message {
    name: "LoadBalancerConfig",
    doc: "Which host gets which request. At most one of roundRobin, leastRequest, random, ringHash and maglev; \
          roundRobin is the default.",
    fields: &[
        Field::new(
            "healthyPanicThreshold",
            Type::Number,
            "When the share of healthy hosts falls below this, in percent, all hosts get requests, as it is \
             more likely then that the health checks are wrong. 0 to 100, 0 for never. Default 50.",
        ),
        Field::new(
            "updateMergeWindow",
            Type::Duration,
            "Changes of health, weight and metadata of hosts within this time are taken together. 0s for none. \
             Default 1s.",
        ),
        Field::new("roundRobin", Type::Object(&ROUND_ROBIN), "One host after the other."),
        Field::new(
            "leastRequest",
            Type::Object(&LEAST_REQUEST),
            "The host with the fewest requests under way among a few that are picked at random.",
        ),
        Field::new("random", Type::Object(&RANDOM), "Any host."),
        Field::new(
            "ringHash",
            Type::Object(&RING_HASH),
            "A host by the hash of what `lbHash` of the route names, so that equal requests go to the same \
             host; few move when hosts come and go.",
        ),
        Field::new(
            "maglev",
            Type::Object(&MAGLEV),
            "As ringHash, with a table: faster and more even, but more requests move.",
        ),
        Field::new(
            "useHostnameForHashing",
            Type::Boolean,
            "Whether ringHash and maglev hash the names of hosts instead of their addresses. Default false.",
        ),
        Field::new(
            "closeConnectionsOnHostSetChange",
            Type::Boolean,
            "Whether all connections to the upstream are closed when its set of hosts changes. Default false.",
        ),
    ],
    unsupported: &["localityWeightedLbConfig"],
};

static ROUND_ROBIN: Message = Message {
    name: "RoundRobin",
    doc: "One host after the other.",
    fields: &[SLOW_START_FIELD],
    unsupported: &[],
};

static LEAST_REQUEST: Message = Message {
    name: "LeastRequest",
    doc: "The host with the fewest requests under way.",
    fields: &[
        Field::new(
            "choiceCount",
            Type::COUNT,
            "So many hosts are picked at random and compared. At least 2; 0 means the default. Default 2.",
        ),
        SLOW_START_FIELD,
    ],
    unsupported: &[],
};

static RANDOM: Message = Message { name: "Random", doc: "Any host.", fields: &[], unsupported: &[] };

static RING_HASH: Message = Message {
    name: "RingHash",
    doc: "A host by hash, on a ring.",
    fields: &[Field::new("ringHashConfig", Type::Object(&RING_HASH_CONFIG), "The size of the ring.")],
    unsupported: &[],
};

static RING_HASH_CONFIG: Message = Message {
    name: "RingHashConfig",
    doc: "The size of the ring. A larger one spreads requests more evenly and takes more memory.",
    fields: &[
        Field::new(
            "minimumRingSize",
            Type::Long(0, MAX_RING as i64),
            "The least number of points; 0 means the default. Default 1024.",
        ),
        Field::new(
            "maximumRingSize",
            Type::Long(0, MAX_RING as i64),
            "The greatest number of points, not below the least; 0 means the default. Default 8388608.",
        ),
    ],
    unsupported: &[],
};

static MAGLEV: Message =
    Message { name: "Maglev", doc: "A host by hash, in a table.", fields: &[], unsupported: &[] };

const SLOW_START_FIELD: Field = Field::new(
    "slowStartConfig",
    Type::Object(&SLOW_START_CONFIG),
    "New hosts get their share of requests by and by. Without it they get it at once.",
);

static SLOW_START_CONFIG: Message = Message {
    name: "SlowStartConfig",
    doc: "How the share of a new host grows.",
    fields: &[
        Field::required("slowStartWindow", Type::Duration, "How long a host counts as new. More than 0s."),
        Field::new(
            "aggression",
            Type::Number,
            "How the share grows: 1 for evenly, more for faster at the start. 0.01 to 1000. \
             Default 1.",
        ),
        Field::new(
            "minWeightPercent",
            Type::Number,
            "The least share of a new host, in percent of its full share. 0 to 100. Default 10.",
        ),
    ],
    unsupported: &[],
};

/// The largest ring that the proxy takes.
const MAX_RING: u64 = 8_388_608;
/// The ring of the proxy when none is said.
const DEFAULT_MIN_RING: u64 = 1024;

/// Reads `loadBalancerConfig`.
pub(super) fn read(node: Node<'_>) -> Option<LoadBalancer> {
    let fields = node.object(&LOAD_BALANCER_CONFIG)?;
    let healthy_panic_threshold = fields.maybe("healthyPanicThreshold", |node| decimal(&node, 0.0, 100.0));
    let update_merge_window = fields.maybe("updateMergeWindow", |node| node.duration());
    let use_hostname_for_hashing = fields.flag("useHostnameForHashing", false);
    let close_connections = fields.flag("closeConnectionsOnHostSetChange", false);
    let policy = policy(&fields);
    Some(LoadBalancer {
        policy: policy?,
        healthy_panic_threshold: healthy_panic_threshold?,
        update_merge_window: update_merge_window?,
        use_hostname_for_hashing: use_hostname_for_hashing?,
        close_connections_on_host_set_change: close_connections?,
    })
}

fn policy(fields: &Object<'_>) -> Option<LbPolicy> {
    let found = [
        fields.maybe("roundRobin", round_robin),
        fields.maybe("leastRequest", least_request),
        fields.maybe("random", |node| node.object(&RANDOM).map(|_| LbPolicy::Random)),
        fields.maybe("ringHash", ring_hash),
        fields.maybe("maglev", |node| node.object(&MAGLEV).map(|_| LbPolicy::Maglev)),
    ];
    let mut policies = found.into_iter().collect::<Option<Vec<_>>>()?.into_iter().flatten();
    let policy = policies.next().unwrap_or_default();
    if policies.next().is_some() {
        fields.node().invalid("roundRobin, leastRequest, random, ringHash and maglev exclude each other");
        return None;
    }
    Some(policy)
}

fn round_robin(node: Node<'_>) -> Option<LbPolicy> {
    let fields = node.object(&ROUND_ROBIN)?;
    let slow_start = fields.maybe("slowStartConfig", slow_start)?;
    Some(LbPolicy::RoundRobin { slow_start })
}

fn least_request(node: Node<'_>) -> Option<LbPolicy> {
    let fields = node.object(&LEAST_REQUEST)?;
    let choice_count = fields.or("choiceCount", None, |node| {
        let count = node.unsigned(0..=u32::MAX)?;
        if count == 1 {
            node.invalid("must be 2 or more, or 0 for the default");
            return None;
        }
        Some(Some(count).filter(|count| *count != 0))
    });
    let slow_start = fields.maybe("slowStartConfig", slow_start);
    Some(LbPolicy::LeastRequest { choice_count: choice_count?, slow_start: slow_start? })
}

fn ring_hash(node: Node<'_>) -> Option<LbPolicy> {
    let fields = node.object(&RING_HASH)?;
    let (minimum_ring_size, maximum_ring_size) =
        fields.or("ringHashConfig", (None, None), |node| ring(&node.object(&RING_HASH_CONFIG)?))?;
    Some(LbPolicy::RingHash { minimum_ring_size, maximum_ring_size })
}

fn ring(fields: &Object<'_>) -> Option<(Option<u64>, Option<u64>)> {
    let size = |key: &'static str| {
        fields.or(key, None, |node| {
            let size = u64::try_from(node.long(0..=i64::try_from(MAX_RING).ok()?)?).ok()?;
            Some(Some(size).filter(|size| *size != 0))
        })
    };
    let (minimum, maximum) = (size("minimumRingSize"), size("maximumRingSize"));
    let (minimum, maximum) = (minimum?, maximum?);
    if minimum.unwrap_or(DEFAULT_MIN_RING) > maximum.unwrap_or(MAX_RING) {
        fields.node().invalid("minimumRingSize (default 1024) is above maximumRingSize");
        return None;
    }
    Some((minimum, maximum))
}

fn slow_start(node: Node<'_>) -> Option<SlowStart> {
    let fields = node.object(&SLOW_START_CONFIG)?;
    let window = fields.required("slowStartWindow", "slow start needs its window");
    let window = window.and_then(|node| node.positive_duration());
    let aggression = fields.maybe("aggression", |node| decimal(&node, 0.01, 1000.0));
    let min_weight_percent = fields.maybe("minWeightPercent", |node| decimal(&node, 0.0, 100.0));
    Some(SlowStart { window: window?, aggression: aggression?, min_weight_percent: min_weight_percent? })
}

/// Reads a number in these bounds.
pub(super) fn decimal(node: &Node<'_>, min: f64, max: f64) -> Option<Decimal> {
    node.number(min..=max).map(Decimal)
}

// === impl Decimal ===

impl Decimal {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A number read from JSON is never NaN.
impl Eq for Decimal {}

// === impl LbPolicy ===

impl Default for LbPolicy {
    fn default() -> Self {
        Self::RoundRobin { slow_start: None }
    }
}
