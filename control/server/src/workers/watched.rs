//! Who was there while somebody waited: a worker that is lost meanwhile has confirmed nothing, and may serve on.

use std::collections::BTreeSet;
use std::time::Duration;

use keyward_keys::{Worker, Workers};

/// Names a worker: node, role and worker.
type Name = (String, String, String);

/// The workers that were seen during a wait.
#[derive(Debug, Default)]
pub(super) struct Watched {
    seen: BTreeSet<Name>,
}

/// How many workers are lost, and how they are called, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(super) names: Vec<String>,
}

// === impl Lost ===

impl Lost {
    /// What each of them lacks, in words.
    pub(crate) fn lacks(&self) -> impl Iterator<Item = String> + '_ {
        self.names
            .iter()
            .map(|name| format!("{name} was lost meanwhile, and may serve on with the keys that it holds"))
    }
}

// === impl Watched ===

impl Watched {
    /// Looks who is there, and says who was there before and is not any more.
    pub(super) fn look(&mut self, workers: &Workers, now: Duration) -> Lost {
        let present: BTreeSet<Name> = workers.standings(now).map(|standing| name(standing.worker)).collect();
        let lost = self.seen.difference(&present);
        let names = lost.map(|(node, _, worker)| format!("{node}/{worker}")).collect();
        self.seen.extend(present);
        Lost { names }
    }
}

fn name(worker: &Worker) -> Name {
    (worker.node.clone(), worker.role.clone(), worker.worker.clone())
}
