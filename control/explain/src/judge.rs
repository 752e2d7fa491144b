//! The filter's own decision on a request, and what it sees of keys.

use jiff::Timestamp;
use keyward_filter_core::config::{FilterConfig, Policy, Step};
use keyward_filter_core::decide::{Denial, Facts, Tables, find};
use keyward_filter_core::decisions::Row;
use keyward_filter_core::generated::{Shape, shape};
use keyward_filter_core::host::{HostError, Note, Reply, RequestHost};
use keyward_filter_core::key;
use keyward_filter_core::life::{Lapse, Life};
use keyward_filter_core::metric::Metric;
use keyward_filter_core::place::PlaceRef;
use keyward_filter_core::request::{NO_KEYS, Outcome, UNAVAILABLE, on_request_headers};

use crate::explanation::KeySeen;
use crate::headers::Headers;
use crate::keys::{Keys, Lookups, hex};

/// So many digits of a digest name a key.
const ID_LEN: usize = 8;

/// A proxy around one request: it does what the filter says, to the headers that it holds.
pub(crate) struct Scene {
    pub(crate) headers: Headers,
    /// The name of the route that was selected.
    pub(crate) route: String,
    /// In milliseconds since 1970.
    pub(crate) now: u64,
    /// The filter lets it pass without an identity.
    pub(crate) anonymous: bool,
    reply: Option<(u16, &'static str)>,
}

/// What the filter does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judged {
    /// It goes on.
    Forwarded,
    /// It is answered with this status, for this reason.
    Answered(u16, &'static str),
}

/// What there is to know of a request before it is decided on.
struct Look<'a> {
    headers: &'a Headers,
    now: u64,
}

/// Has the filter decide.
pub(crate) fn judge(config: &FilterConfig, keys: &Keys, scene: &mut Scene) -> Judged {
    match (on_request_headers(config, keys, scene), scene.reply) {
        (Outcome::Forward(_), None) => Judged::Forwarded,
        (Outcome::Answered, Some((status, why))) => Judged::Answered(status, why),
        // It waits for its keys, in vain as long as there are none.
        _ => Judged::Answered(UNAVAILABLE.status, NO_KEYS),
    }
}

/// The keys that a policy would look for in a request, by the tables that decide about them.
pub(crate) fn lookups(policy: &Policy, headers: &Headers) -> Lookups {
    let mut lookups: Lookups = policy.tables().map(|table| (table.to_owned(), Default::default())).collect();
    for step in &policy.steps {
        let Ok((key, _)) = find(step, &mut Look { headers, now: 0 }) else { continue };
        let digest = key::digest(&key);
        for table in [Some(&step.table), step.allowed.as_ref()].into_iter().flatten() {
            lookups.entry(table.clone()).or_default().insert(digest);
        }
    }
    lookups
}

/// What a policy sees of keys, step by step.
pub(crate) fn seen(policy: &Policy, keys: &Keys, headers: &Headers, now: u64) -> Vec<KeySeen> {
    policy.steps.iter().map(|step| seen_by(step, keys, &mut Look { headers, now })).collect()
}

fn seen_by(step: &Step, keys: &Keys, look: &mut Look<'_>) -> KeySeen {
    let looked_in = step.places().map(place).collect();
    let nothing =
        |state| KeySeen { looked_in, found_in: None, key_id: None, identity: None, state, detail: None };
    let (key, found) = match find(step, look) {
        Ok(found) => found,
        Err(denial) => return nothing(denial.word()),
    };
    let digest = key::digest(&key);
    let id = hex(&digest).chars().take(ID_LEN).collect();
    let seen = KeySeen { found_in: Some(place(found)), key_id: Some(id), ..nothing(Denial::Unknown.word()) };
    let Some(table) = keys.table(&step.table) else { return KeySeen { state: NO_KEYS, ..seen } };
    let Some(record) = table.get(&digest) else {
        let damaged = shape(&key) == Shape::Damaged;
        let note = damaged.then(|| "it begins like a key of Keyward's, and its checksum is wrong".to_owned());
        return KeySeen { detail: note, ..seen };
    };
    let life = record.life();
    let (state, detail) = match life.check(|| look.now()) {
        Ok(()) => ("valid", until(life)),
        Err(lapse) => (Denial::Lapsed(lapse).word(), since(lapse, life)),
    };
    let identity = String::from_utf8_lossy(record.identity()).into_owned();
    KeySeen { identity: Some(identity), state, detail, ..seen }
}

fn until(life: Life) -> Option<String> {
    Some(format!("until {}", time(life.expires_at?)?))
}

fn since(lapse: Lapse, life: Life) -> Option<String> {
    match lapse {
        Lapse::Disabled => None,
        Lapse::Expired => Some(format!("since {}", time(life.expires_at?)?)),
        Lapse::NotYetValid => Some(format!("until {}", time(life.not_before?)?)),
    }
}

fn time(milliseconds: u64) -> Option<String> {
    let time = Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()?;
    Some(format!("{time:.0}"))
}

fn place(place: PlaceRef<'_>) -> String {
    match place {
        PlaceRef::Header(name, None) => format!("header {name}"),
        PlaceRef::Header(name, Some(prefix)) => format!("header {name} behind {prefix}"),
        PlaceRef::Query(name) => format!("query parameter {name}"),
        PlaceRef::Cookie(name) => format!("cookie {name}"),
    }
}

// === impl Scene ===

impl Scene {
    pub(crate) fn new(headers: Headers, route: &str, now: u64) -> Self {
        Self { headers, route: route.to_owned(), now, anonymous: false, reply: None }
    }
}

impl RequestHost for Scene {
    fn route_name(&mut self) -> Option<Vec<u8>> {
        Some(self.route.clone().into_bytes())
    }

    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.headers.first(name)
    }

    fn request_values(&mut self, name: &str) -> Vec<Vec<u8>> {
        self.headers.each(name)
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError> {
        self.headers.set(name, value);
        Ok(())
    }

    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError> {
        self.headers.remove(|other| other == name);
        Ok(())
    }

    fn remove_response_header(&mut self, _: &str) -> Result<(), HostError> {
        Ok(())
    }

    fn wall_clock(&mut self) -> Option<u64> {
        Some(self.now)
    }

    fn pass_anonymously(&mut self) -> Result<(), HostError> {
        self.anonymous = true;
        Ok(())
    }

    fn reply(&mut self, reply: &Reply, why: &'static str) -> Result<(), HostError> {
        self.reply = Some((reply.status, why));
        Ok(())
    }

    fn note(&mut self, _: Note, _: &[u8]) {}

    fn row(&mut self, _: &str) -> Row {
        Row::default()
    }

    fn count(&mut self, _: Row, _: Metric) {}

    fn add(&mut self, _: Metric, _: i64) {}
}

// === impl Look ===

impl Facts for Look<'_> {
    fn values(&mut self, header: &str) -> Vec<Vec<u8>> {
        self.headers.each(header)
    }

    fn now(&mut self) -> Option<u64> {
        Some(self.now)
    }
}
