//! Who is connected and what they hold: the proof that a change has arrived.
//!
//! A worker is known from its subscription on. When its stream ends it may come back in a moment
//! with what it held, as it does after every change of its proxy's configuration; until then it
//! serves on, so it counts on with what it had. After [`GRACE`] it is taken for gone.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keyward_filter_core::wire::{ServerMessage, Version, server_message};

use crate::session::SessionEvent;
use crate::view::KeyView;

mod standing;
#[cfg(test)]
mod tests;

pub use standing::{Confirmed, Goal, Missing, Standing};

/// How long a worker whose stream has ended is waited for. It tries again within two seconds.
pub const GRACE: Duration = Duration::from_secs(4);
/// Of how many publications it is remembered when they were.
const PUBLICATIONS: usize = 4_096;

/// Names a stream for as long as the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(u64);

/// All workers that have subscribed, and what they should hold. Times are since the start of the
/// server.
#[derive(Debug, Default)]
pub struct Workers {
    connections: u64,
    workers: BTreeMap<Connection, Worker>,
    /// Whoever was there before the server has come back by then.
    settled: Duration,
    /// The keys that were published last.
    view: KeyView,
    /// The revision up to which whatever there was to publish is.
    reached: u64,
    /// When keys were published, by revision, oldest first.
    publications: VecDeque<(u64, Duration)>,
    /// The plugin configuration that each role was told last, and of which revision that is.
    configs: BTreeMap<String, u64>,
    configs_revision: u64,
    /// The revision of which every proxy has accepted routes and whatever else xDS tells.
    routes_revision: u64,
}

/// A worker that is connected, or was a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The Envoy node id.
    pub node: String,
    /// The node role.
    pub role: String,
    /// Names the VM instance, and no other: it is drawn from 64 random bits.
    pub worker: String,
    /// Version of the filter.
    pub build: String,
    /// Version of the plugin configuration in force.
    pub config_version: u64,
    /// What it holds, by table.
    pub held: BTreeMap<String, Held>,
    /// What it refused and has not taken since, by table.
    pub refused: BTreeMap<String, Refusal>,
    /// When it acknowledged something last, on this stream or on one before.
    pub acknowledged_at: Option<Duration>,
    /// When its stream ended, if it has.
    pub away_since: Option<Duration>,
}

/// What a worker says that it holds of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// The version.
    pub version: Version,
    /// The checksum of what is there where that is less than the version: keys are missing that were revoked or
    /// narrowed by changes for which there was no room.
    pub less: Option<u64>,
}

/// What a worker holds of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The version.
    pub version: Version,
    /// See [`Holds::less`].
    pub less: Option<u64>,
    /// The worker acknowledged it on this stream. What it said when it subscribed counts only where
    /// the content is known: it may be from another life of the store.
    pub acknowledged: bool,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the worker said.
    pub reason: String,
    /// How often in a row.
    pub times: u32,
}

// === impl Workers ===

impl Workers {
    /// A registry whose server has just started: those who were there before are still coming back.
    #[must_use]
    pub fn starting(now: Duration) -> Self {
        Self { settled: now.saturating_add(GRACE), ..Self::default() }
    }

    /// A new stream. It counts as a worker when it has subscribed.
    pub fn connect(&mut self) -> Connection {
        self.connections += 1;
        Connection(self.connections)
    }

    /// The stream is closed. Its worker may be back already, on another one: then that one counts.
    pub fn disconnect(&mut self, connection: Connection, now: Duration) {
        if let Some(gone) = self.workers.get_mut(&connection) {
            gone.away_since = Some(now);
        }
        self.forget(now);
    }

    /// Notes what a worker has said.
    pub fn on_event(&mut self, connection: Connection, event: &SessionEvent, now: Duration) {
        if let SessionEvent::Subscribed { node, role, worker, build, config_version, held } = event {
            let held = held.iter().map(|(table, holds)| (table.clone(), Held::of(*holds, false)));
            let mut subscribed = Worker {
                node: node.clone(),
                role: role.clone(),
                worker: worker.clone(),
                build: build.clone(),
                config_version: *config_version,
                held: held.collect(),
                refused: BTreeMap::new(),
                acknowledged_at: None,
                away_since: None,
            };
            let same = self.workers.values().filter(|other| other.is_the_same_as(&subscribed));
            subscribed.acknowledged_at = same.filter_map(|other| other.acknowledged_at).max();
            // Who comes back takes the place of who went. Who moves to another stream listens no more on
            // the one before, which may end later; what is still said there is of no account.
            self.workers.retain(|_, other| !other.is_the_same_as(&subscribed));
            self.workers.insert(connection, subscribed);
            self.forget(now);
            return;
        }
        let Some(worker) = self.workers.get_mut(&connection) else { return };
        match event {
            SessionEvent::Subscribed { .. } | SessionEvent::Used { .. } => {}
            SessionEvent::Acked { table, version } => {
                worker.refused.remove(table);
                let holds = Holds { version: *version, less: None };
                worker.held.insert(table.clone(), Held::of(holds, true));
                worker.acknowledged_at = Some(now);
            }
            SessionEvent::TookAway { table, holds } => {
                worker.go_on_from(table, Some(*holds));
                worker.acknowledged_at = Some(now);
            }
            SessionEvent::Nacked { table, reason, holds } => {
                worker.go_on_from(table, *holds);
                let times = worker.refused.get(table).map_or(0, |refusal| refusal.times);
                let refusal = Refusal { reason: reason.clone(), times: times.saturating_add(1) };
                worker.refused.insert(table.clone(), refusal);
            }
            SessionEvent::ConfigApplied { version } => worker.config_version = *version,
        }
    }

    /// Notes what is sent to a worker: after a drop it does not hold that table any more.
    pub fn on_sent(&mut self, connection: Connection, message: &ServerMessage) {
        if let Some(server_message::Kind::Drop(drop)) = &message.kind
            && let Some(worker) = self.workers.get_mut(&connection)
        {
            worker.held.remove(&drop.table);
            worker.refused.remove(&drop.table);
        }
    }

    /// Keys are published.
    pub fn on_keys(&mut self, view: KeyView, now: Duration) {
        if self.publications.back().is_none_or(|(revision, _)| *revision < view.revision()) {
            self.publications.push_back((view.revision(), now));
        }
        if self.publications.len() > PUBLICATIONS {
            self.publications.pop_front();
        }
        self.reached = self.reached.max(view.revision());
        self.view = view;
    }

    /// Up to this revision there is nothing more to publish.
    pub fn on_reached(&mut self, revision: u64) {
        self.reached = self.reached.max(revision);
        self.configs_revision = self.configs_revision.max(revision);
    }

    /// Everything else that proxies are told is in force on all of them as at this revision.
    pub fn on_routes(&mut self, revision: u64) {
        self.routes_revision = self.routes_revision.max(revision);
    }

    /// The revision as at which routes are in force.
    #[must_use]
    pub fn routes_revision(&self) -> u64 {
        self.routes_revision
    }

    /// Proxies are told which plugin configuration each role runs with from this revision on.
    pub fn on_configs(&mut self, revision: u64, configs: BTreeMap<String, u64>) {
        self.configs_revision = revision;
        self.configs = configs;
    }

    /// The plugin configuration that each role was told last.
    #[must_use]
    pub fn configs(&self) -> &BTreeMap<String, u64> {
        &self.configs
    }

    /// All workers, those included that were there a moment ago.
    pub fn iter(&self) -> impl Iterator<Item = (Connection, &Worker)> {
        self.workers.iter().map(|(connection, worker)| (*connection, worker))
    }

    /// Takes for gone who has been away for too long.
    fn forget(&mut self, now: Duration) {
        self.workers.retain(|_, worker| !worker.is_gone(now));
    }
}

// === impl Held ===

impl Held {
    fn of(Holds { version, less }: Holds, acknowledged: bool) -> Self {
        Self { version, less, acknowledged }
    }
}

// === impl Worker ===

impl Worker {
    fn is_the_same_as(&self, other: &Self) -> bool {
        (&self.node, &self.role, &self.worker) == (&other.node, &other.role, &other.worker)
    }

    /// It holds this now, which need not be news.
    fn go_on_from(&mut self, table: &str, holds: Option<Holds>) {
        let before = self.held.get(table);
        let acknowledged = |holds: Holds| {
            before.is_some_and(|before| before.acknowledged && before.version == holds.version)
        };
        match holds.map(|holds| Held::of(holds, acknowledged(holds))) {
            Some(held) => self.held.insert(table.to_owned(), held),
            None => self.held.remove(table),
        };
    }

    fn is_gone(&self, now: Duration) -> bool {
        self.away_since.is_some_and(|since| now.saturating_sub(since) > GRACE)
    }
}
