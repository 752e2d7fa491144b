//! Who is connected and what they hold: the proof that a change has arrived.

use std::collections::BTreeMap;

use keyward_filter_core::wire::{ServerMessage, Version, server_message};

use crate::session::SessionEvent;
use crate::view::KeyView;

#[cfg(test)]
mod tests;

/// Names a stream for as long as the server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(u64);

/// All connected workers that have subscribed.
#[derive(Debug, Default)]
pub struct Workers {
    connections: u64,
    workers: BTreeMap<Connection, Worker>,
}

/// A connected worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// The Envoy node id.
    pub node: String,
    /// The node role.
    pub role: String,
    /// Names the VM instance.
    pub worker: String,
    /// Version of the filter.
    pub build: String,
    /// Version of the plugin configuration in force.
    pub config_version: u64,
    /// What it holds, by table.
    pub held: BTreeMap<String, Held>,
    /// What it refused and has not taken since, by table.
    pub refused: BTreeMap<String, Refusal>,
}

/// What a worker holds of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The version.
    pub version: Version,
    /// The worker acknowledged it on this stream. What it said when it subscribed counts only where
    /// it is exactly what is wanted: it may be from another life of the store.
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

/// A worker that does not hold a table as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The stream.
    pub connection: Connection,
    /// The Envoy node id.
    pub node: String,
    /// Names the VM instance.
    pub worker: String,
    /// The table.
    pub table: String,
    /// What it holds of it.
    pub held: Option<Version>,
    /// What it should hold.
    pub wanted: Version,
    /// Why it refused it, if it did.
    pub refused: Option<Refusal>,
}

// === impl Workers ===

impl Workers {
    /// A new stream. It counts as a worker when it has subscribed.
    pub fn connect(&mut self) -> Connection {
        self.connections += 1;
        Connection(self.connections)
    }

    /// The stream is closed.
    pub fn disconnect(&mut self, connection: Connection) {
        self.workers.remove(&connection);
    }

    /// Notes what a worker has said.
    pub fn on_event(&mut self, connection: Connection, event: &SessionEvent) {
        if let SessionEvent::Subscribed { node, role, worker, build, config_version, held } = event {
            let held = held
                .iter()
                .map(|(table, version)| (table.clone(), Held { version: *version, acknowledged: false }));
            let subscribed = Worker {
                node: node.clone(),
                role: role.clone(),
                worker: worker.clone(),
                build: build.clone(),
                config_version: *config_version,
                held: held.collect(),
                refused: BTreeMap::new(),
            };
            self.workers.insert(connection, subscribed);
            return;
        }
        let Some(worker) = self.workers.get_mut(&connection) else { return };
        match event {
            SessionEvent::Subscribed { .. } => {}
            SessionEvent::Acked { table, version } => {
                worker.refused.remove(table);
                worker.held.insert(table.clone(), Held { version: *version, acknowledged: true });
            }
            SessionEvent::Nacked { table, reason } => {
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

    /// All connected workers.
    pub fn iter(&self) -> impl Iterator<Item = (Connection, &Worker)> {
        self.workers.iter().map(|(connection, worker)| (*connection, worker))
    }

    /// Whether every connected worker holds every table that its role wants, as it is in `target`
    /// or later.
    #[must_use]
    pub fn is_synced(&self, target: &KeyView, now: &KeyView) -> bool {
        self.lags(target, now).next().is_none()
    }

    /// Who does not hold what its role wants, as it is in `target` or later. `now` is the view
    /// that is published at present, the same one when there is nothing to wait for: a worker that
    /// comes back with exactly that is not sent anything and so has nothing to acknowledge.
    #[must_use]
    pub fn lag(&self, target: &KeyView, now: &KeyView) -> Vec<Lag> {
        self.lags(target, now).collect()
    }

    fn lags<'a>(&'a self, target: &'a KeyView, now: &'a KeyView) -> impl Iterator<Item = Lag> + 'a {
        self.workers.iter().flat_map(move |(connection, worker)| {
            let wanted = target.wanted_tables(&worker.role).filter(|(name, _)| now.wants(&worker.role, name));
            wanted.filter_map(move |(name, table)| {
                let wanted = table.version();
                let held = worker.held.get(name.as_ref());
                let is_held = held.is_some_and(|held| {
                    held.version == wanted
                        || now.table(name).is_some_and(|now| held.version == now.version())
                        || held.acknowledged && held.version.revision >= wanted.revision
                });
                (!is_held).then(|| Lag {
                    connection: *connection,
                    node: worker.node.clone(),
                    worker: worker.worker.clone(),
                    table: name.to_string(),
                    held: held.map(|held| held.version),
                    wanted,
                    refused: worker.refused.get(name.as_ref()).cloned(),
                })
            })
        })
    }
}
