//! The registry of workers, shared between the streams that fill it and whoever waits for all of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use keyward_api::{Confirm, Confirmation};
use keyward_keys::{Confirmed, Goal, Standing, Workers};
use keyward_resource::Kind;
use keyward_store::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

#[cfg(test)]
mod tests;
mod watched;

pub(crate) use self::watched::Lost;
use self::watched::Watched;

/// While nothing happens, somebody may still be given up, and a start-up ends.
const STEP: Duration = Duration::from_millis(200);
/// So many of those who lag are named.
const MAX_NAMED: usize = 3;

/// What every worker holds.
#[derive(Debug, Clone)]
pub(crate) struct WorkersHandle {
    workers: Arc<Mutex<Workers>>,
    started: Instant,
    changed: watch::Sender<()>,
}

/// How a worker is called.
fn name(standing: &Standing<'_>) -> String {
    format!("{}/{}", standing.worker.node, standing.worker.worker)
}

/// What a worker lacks of what it is to have, in words; nothing if it has it.
pub(crate) fn lack(standing: &Standing<'_>, goal: Goal) -> Option<String> {
    let short = |missing: &&keyward_keys::Missing<'_>| missing.complete_to < goal.revision;
    let away = if standing.worker.away_since.is_some() { ", and is away" } else { "" };
    if let Some(missing) = standing.missing.iter().find(short) {
        let table = missing.table;
        let holds = match missing.held {
            Some(_) if missing.retired => {
                format!("still holds the keys of {table}, which goes once no route asks for it{away}")
            }
            Some(_) if missing.is_less => {
                format!(
                    "holds some of the keys of {table} no more, as it had no room for changes of them{away}"
                )
            }
            Some(_) => format!("holds the keys of {table} as at revision {}{away}", missing.complete_to),
            None => format!("does not hold the keys of {table} yet{away}"),
        };
        let refused = missing.refused.map(|refusal| format!(" (it refused newer ones: {})", refusal.reason));
        return Some(format!("{} {holds}{}", name(standing), refused.unwrap_or_default()));
    }
    let old = goal.policies && standing.config_wanted.is_some();
    old.then(|| format!("{} runs with older policies{away}", name(standing)))
}

// === impl WorkersHandle ===

impl WorkersHandle {
    /// The registry of a server that starts now.
    pub(crate) fn new() -> Self {
        Self::of(Workers::starting(Duration::ZERO))
    }

    fn of(workers: Workers) -> Self {
        let workers = Arc::new(Mutex::new(workers));
        Self { workers, started: Instant::now(), changed: watch::Sender::new(()) }
    }

    /// The registry of a server that started long ago.
    #[cfg(test)]
    pub(crate) fn settled() -> Self {
        Self::of(Workers::default())
    }

    /// Looks at the registry. Never held across an await.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Workers, Duration) -> T) -> T {
        look(&self.workers.lock().unwrap_or_else(PoisonError::into_inner), self.started.elapsed())
    }

    /// Changes the registry, and wakes whoever waits. Never held across an await.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Workers, Duration) -> T) -> T {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = change(&mut workers, self.started.elapsed());
        drop(workers);
        self.changed.send_replace(());
        outcome
    }

    /// Tells of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until all workers have what is asked for, but no longer than told. Says who was lost meanwhile.
    pub(crate) async fn confirmed(&self, goal: Goal, wait: Duration) -> Lost {
        let until = Instant::now() + wait;
        let mut changed = self.changed.subscribe();
        let mut watched = Watched::default();
        loop {
            let (confirmed, lost) =
                self.read(|workers, now| (workers.confirmed(goal, now), watched.look(workers, now)));
            if confirmed.by_all() || Instant::now() >= until {
                return lost;
            }
            tokio::select! {
                // The sender is in this handle.
                _ = changed.changed() => {}
                () = sleep_until(until.min(Instant::now() + STEP)) => {}
            }
        }
    }

    /// How many have what is asked for, and who lacks what, in a sentence; nothing when nobody does. Who was lost
    /// during the wait counts as a worker that has not confirmed.
    pub(crate) fn lagging(&self, goal: Goal, wait: Duration, lost: &Lost) -> (Confirmed, Option<String>) {
        self.read(|workers, now| {
            let present = workers.confirmed(goal, now);
            let confirmed = Confirmed { workers: present.workers + lost.names.len(), ..present };
            let revision = goal.revision;
            if confirmed.by_all() {
                return (confirmed, None);
            }
            if workers.revision() < revision {
                return (confirmed, Some(format!("revision {revision} is not published within {wait:?}")));
            }
            if goal.policies && workers.routes_revision() < revision && workers.is_settled(now) {
                let who = "not every proxy has accepted it, or routes still wait for their keys; the proxies' \
                           status says which";
                return (confirmed, Some(format!("revision {revision} is not in force within {wait:?}: {who}")));
            }
            if !confirmed.is_known {
                let why = "the server has just started, and workers may still come back";
                return (
                    confirmed,
                    Some(format!("revision {revision} is not confirmed within {wait:?}: {why}")),
                );
            }
            let mut lacks: Vec<_> = lost
                .lacks()
                .chain(workers.standings(now).filter_map(|standing| lack(&standing, goal)))
                .collect();
            let (behind, all) = (lacks.len(), confirmed.workers);
            lacks.truncate(MAX_NAMED);
            let more = behind - lacks.len();
            if more > 0 {
                lacks.push(format!("and {more} more"));
            }
            let who = lacks.join("; ");
            let sentence = format!(
                "{behind} of {all} workers have not confirmed revision {revision} within {wait:?}: {who}"
            );
            (confirmed, Some(sentence))
        })
    }
}

impl Confirm for WorkersHandle {
    fn confirm(
        &self,
        kind: &'static Kind,
        revision: Revision,
        wait: Duration,
    ) -> BoxFuture<'_, Confirmation> {
        async move {
            // A key is a matter of keys alone: nobody's policies hold up its revocation.
            let goal = Goal { revision: revision.0, policies: kind.name != "Secret" };
            let lost = self.confirmed(goal, wait).await;
            let (Confirmed { workers, confirmed, .. }, lagging) = self.lagging(goal, wait, &lost);
            Confirmation { workers, confirmed, lagging }
        }
        .boxed()
    }
}
