//! How far each worker is, and whether all are far enough.

use std::time::Duration;

use keyward_filter_core::wire::Version;

use super::{Connection, Held, Refusal, Worker, Workers};
use crate::placed::Placed;

/// What everybody is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// All keys as they are at this revision of the store, or later.
    pub revision: u64,
    /// Also what is not keys: the plugin configuration that was told last in each worker, and the routes in force
    /// in each proxy.
    pub policies: bool,
}

/// How many have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmed {
    /// How many workers there are.
    pub workers: usize,
    /// How many of them have confirmed it.
    pub confirmed: usize,
    /// What is asked for is published, and whoever was there before the server has come back.
    pub is_known: bool,
}

/// How far a worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The stream.
    pub connection: Connection,
    /// The worker.
    pub worker: &'a Worker,
    /// The newest revision of the store of which it has confirmed all keys that its role wants.
    pub revision: u64,
    /// The tables that it does not hold as they are.
    pub missing: Vec<Missing<'a>>,
    /// The plugin configuration that it should run with, where it runs with another.
    pub config_wanted: Option<u64>,
    /// Since when it lacks keys.
    pub behind_since: Option<Duration>,
}

/// A table that a worker does not hold as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing<'a> {
    /// The table.
    pub table: &'a str,
    /// What it holds of it.
    pub held: Option<Version>,
    /// Of that, keys are missing that were revoked or narrowed by changes for which there was no room.
    pub is_less: bool,
    /// What it should hold.
    pub wanted: Version,
    /// The revision up to which what it holds has everything.
    pub complete_to: u64,
    /// Nothing newer is to come: it goes as soon as no route asks for it.
    pub retired: bool,
    /// Why it refused it, if it did.
    pub refused: Option<&'a Refusal>,
}

// === impl Workers ===

impl Workers {
    /// How far everybody is.
    pub fn standings(&self, now: Duration) -> impl Iterator<Item = Standing<'_>> {
        self.present(now).map(|(connection, worker)| {
            let missing: Vec<_> = self.missing(worker).collect();
            let revision = missing.iter().map(|it| it.complete_to).min();
            Standing {
                connection,
                worker,
                revision: revision.unwrap_or(self.reached),
                config_wanted: self.config_wanted(worker),
                behind_since: revision.and_then(|revision| self.published_after(revision)),
                missing,
            }
        })
    }

    /// How many have what is asked for.
    #[must_use]
    pub fn confirmed(&self, goal: Goal, now: Duration) -> Confirmed {
        let mut confirmed = Confirmed { workers: 0, confirmed: 0, is_known: self.knows(goal, now) };
        for (_, worker) in self.present(now) {
            confirmed.workers += 1;
            let has_keys = self.missing(worker).all(|it| it.complete_to >= goal.revision);
            let has_policies = !goal.policies || self.config_wanted(worker).is_none();
            confirmed.confirmed += usize::from(has_keys && has_policies);
        }
        confirmed
    }

    /// The revision up to which all keys are published.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.reached
    }

    /// When the keys of a revision were published, as far as that is remembered.
    #[must_use]
    pub fn published_at(&self, revision: u64) -> Option<Duration> {
        self.published_after(revision.checked_sub(1)?)
    }

    /// Whether whoever was there before the server has had the time to come back.
    #[must_use]
    pub fn is_settled(&self, now: Duration) -> bool {
        now >= self.settled
    }

    fn knows(&self, goal: Goal, now: Duration) -> bool {
        let published = self.reached >= goal.revision;
        let told = !goal.policies || self.configs_revision.min(self.routes_revision) >= goal.revision;
        published && told && self.is_settled(now)
    }

    /// All workers that are connected, or away for no longer than they are waited for.
    pub fn present(&self, now: Duration) -> impl Iterator<Item = (Connection, &Worker)> {
        self.iter().filter(move |(_, worker)| !worker.is_gone(now))
    }

    /// A worker of a role of which nothing is known holds what it held. It has no route that asks for it: one of a
    /// role that is served no more is told of its tables until then.
    fn missing<'a>(&'a self, worker: &'a Worker) -> impl Iterator<Item = Missing<'a>> + 'a {
        self.view.wanted_tables(&worker.role).filter_map(|(name, table)| {
            let held = worker.held.get(name.as_ref());
            // Who waits to be told that it is the same as another table lacks it for the same reason.
            let of_same = || worker.refused.iter().find(|(other, _)| self.view.are_one(name, other));
            let is_less = held.is_some_and(|held| held.less.is_some());
            let is_present =
                held.is_some_and(|held| held.version.checksum == table.version().checksum) && !is_less;
            let complete_to = match table.retired {
                None if is_present => return None,
                // It is to go, and has what was there before that.
                Some(revision) if is_present => revision,
                retired => {
                    let complete = held.map_or(0, |held| complete_to(table, *held));
                    complete.min(retired.unwrap_or(u64::MAX))
                }
            };
            Some(Missing {
                table: name,
                held: held.map(|held| held.version),
                is_less,
                wanted: table.version(),
                complete_to,
                retired: table.retired.is_some(),
                refused: worker.refused.get(name.as_ref()).or_else(|| of_same().map(|(_, refusal)| refusal)),
            })
        })
    }

    fn config_wanted(&self, worker: &Worker) -> Option<u64> {
        let wanted = *self.configs.get(&worker.role)?;
        (wanted != worker.config_version).then_some(wanted)
    }

    /// When the first keys were published that somebody lacks who has everything up to a revision.
    fn published_after(&self, revision: u64) -> Option<Duration> {
        let next = self.publications.partition_point(|(published, _)| *published <= revision);
        self.publications.get(next).map(|(_, at)| *at)
    }
}

/// The revision up to which a state of a table that is not the present one has everything.
///
/// What a worker has acknowledged bears the revision that is complete with it. What it brought along
/// may bear one of another life of the store: there only the content counts, as far as it is known.
fn complete_to(table: &Placed, held: Held) -> u64 {
    let acknowledged = if held.acknowledged { held.version.revision } else { 0 };
    let reach = table.reach(held.version).unwrap_or(0);
    // What is missing may be missing since any change after the version, also where the table is now as it was.
    let reach = if held.less.is_some() && reach == u64::MAX { 0 } else { reach };
    acknowledged.max(reach)
}

// === impl Confirmed ===

impl Confirmed {
    /// Whether everybody has it. That is so where there is nobody.
    #[must_use]
    pub fn by_all(&self) -> bool {
        self.is_known && self.confirmed == self.workers
    }
}
