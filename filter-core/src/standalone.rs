//! A plugin configuration without a control server: policies and digests of keys, written by people.
//!
//! ```text
//!  JSON ─json▶ values ─read, policies, keys▶ FilterConfig { policies, standalone: tables, routes }
//!                          └─▶ Problems: every mistake, and where it is
//! ```
//!
//! The rest of the filter is the same: the decision asks here which policy a route demands, and for
//! the tables of keys. Where the configuration names a key stream, what comes over it takes the place
//! of the keys that are written, table by table. `docs/filter-config.schema.json` is the form of all
//! this for machines.
//!
//! Nobody can be sure that the proxy around this filter takes off what clients send as identity, as
//! the one that a control server configures does. So it is taken off here, on open routes too.

use std::collections::BTreeMap;
use std::fmt;

use crate::config::{FilterConfig, Policy};
use crate::decide::Tables;
use crate::replica::Replica;
use crate::table::Table;
use crate::wire::Digest;

mod json;
mod keys;
mod policies;
mod problems;
mod read;
mod routes;
#[cfg(test)]
mod tests;
mod whole;

pub use self::keys::MAX_KEYS;
pub use self::problems::Problems;
pub use self::whole::{API_VERSION, from_json};

/// Separates the name of a policy from the number of a list of who is allowed. No name that people give has it.
const ALLOWING: char = ' ';

/// What a [`FilterConfig`] has besides when there is no control server.
#[derive(Clone)]
pub struct Standalone {
    default: Option<Target>,
    routes: Vec<(When, Target)>,
    tables: Written,
    /// All headers that nobody but the filter may set, with the spellings that upstreams may take for them.
    own_headers: Vec<String>,
    has_stream: bool,
}

/// What a route demands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// What this policy says.
    Policy(String),
    /// Nothing.
    Open,
}

/// Which routes are meant, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum When {
    Is(String),
    StartsWith(String),
}

/// The keys that are written.
#[derive(Clone)]
enum Written {
    /// None are: they come over the key stream.
    Nowhere,
    /// The same for all policies.
    Once(Table),
    /// For each config of each policy its own, by the names of tables.
    ByConfig(BTreeMap<String, Table>),
}

/// What a route demands of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand<'a> {
    /// A key that this policy accepts.
    Policy(&'a Policy),
    /// Nothing.
    Nothing,
    /// Nobody said, so nobody passes.
    Unsaid,
}

/// The tables of a worker, as one configuration sees them.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    replica: &'a Replica,
    standalone: Option<&'a Standalone>,
}

/// The name of a policy without what tells apart those of routes that allow only some.
pub(crate) fn without_list(name: &str) -> &str {
    name.split_once(ALLOWING).map_or(name, |(name, _)| name)
}

// === impl Standalone ===

impl Standalone {
    /// What a route demands, by its name; of several rules the first.
    #[must_use]
    pub fn demand<'a>(&'a self, route: Option<&[u8]>, policies: &'a BTreeMap<String, Policy>) -> Demand<'a> {
        let route = route.unwrap_or_default();
        let fits = |(when, _): &&(When, Target)| match when {
            When::Is(name) => name.as_bytes() == route,
            When::StartsWith(prefix) => route.starts_with(prefix.as_bytes()),
        };
        let target = self.routes.iter().find(fits).map(|(_, target)| target).or(self.default.as_ref());
        match target {
            Some(Target::Policy(name)) => policies.get(name).map_or(Demand::Unsaid, Demand::Policy),
            Some(Target::Open) => Demand::Nothing,
            None => Demand::Unsaid,
        }
    }

    /// The headers that no client may bring.
    pub fn own_headers(&self) -> impl Iterator<Item = &str> {
        self.own_headers.iter().map(String::as_str)
    }

    fn table(&self, name: &str) -> Option<&Table> {
        match &self.tables {
            Written::Nowhere => None,
            Written::Once(table) => Some(table),
            Written::ByConfig(tables) => tables.get(name),
        }
    }
}

impl PartialEq for Standalone {
    fn eq(&self, other: &Self) -> bool {
        let sums = |tables: &Written| match tables {
            Written::Nowhere => Vec::new(),
            Written::Once(table) => vec![(String::new(), table.checksum())],
            Written::ByConfig(tables) => {
                tables.iter().map(|(name, table)| (name.clone(), table.checksum())).collect()
            }
        };
        self.default == other.default
            && self.routes == other.routes
            && self.own_headers == other.own_headers
            && self.has_stream == other.has_stream
            && sums(&self.tables) == sums(&other.tables)
    }
}

impl Eq for Standalone {}

impl fmt::Debug for Standalone {
    /// Without the digests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standalone")
            .field("default", &self.default)
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}

// === impl Seen ===

impl<'a> Seen<'a> {
    /// The tables of the worker and those of its configuration.
    #[must_use]
    pub fn new(replica: &'a Replica, config: &'a FilterConfig) -> Self {
        Self { replica, standalone: config.standalone.as_deref() }
    }

    /// What came over the stream of an earlier configuration does not count without one.
    fn streamed(self, name: &str) -> Option<&'a Table> {
        let has_stream = self.standalone.is_none_or(|standalone| standalone.has_stream);
        if has_stream { self.replica.table(name) } else { None }
    }
}

impl Tables for Seen<'_> {
    fn table(&self, name: &str) -> Option<&Table> {
        self.streamed(name).or_else(|| {
            let standalone = self.standalone?;
            // For as long as the server has said nothing: what it took away is not given back.
            let is_told = standalone.has_stream && self.replica.was_here(name);
            if is_told { None } else { standalone.table(name) }
        })
    }

    fn used(&self, table: &str, digest: &Digest) {
        // Nobody is told of the uses of keys that are written.
        if self.streamed(table).is_some() {
            self.replica.used(table, digest);
        }
    }
}
