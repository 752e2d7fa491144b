//! What was reported and is not saved yet. Pure.

use std::collections::{BTreeMap, HashMap};

use keyward_resource::ObjectRef;
use keyward_store::{Counted, SecretUses, WorkerName};

/// Uses of a key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) id: ObjectRef,
    /// The revision that created the Secret.
    pub(super) created: u64,
    pub(super) uses: u64,
    /// Seconds since 1970.
    pub(super) last_used: u64,
}

/// What was reported and is not saved yet, and how far each worker's reports are.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// By Secret and the revision that created it: how often, and when last.
    pending: BTreeMap<(ObjectRef, u64), (u64, u64)>,
    workers: HashMap<WorkerName, Numbers>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    /// The last report that was counted.
    taken: u64,
    /// The last report that is on the disk.
    stored: u64,
    /// When a report came last, in seconds since 1970.
    seen: u64,
}

/// What is to be saved together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) uses: Vec<SecretUses>,
    pub(super) workers: Vec<Counted>,
}

// === impl Ledger ===

impl Ledger {
    pub(super) fn new(workers: Vec<Counted>) -> Self {
        let numbers = |counted: Counted| {
            let Counted { worker, seq, seen } = counted;
            (worker, Numbers { taken: seq, stored: seq, seen })
        };
        Self { pending: BTreeMap::new(), workers: workers.into_iter().map(numbers).collect() }
    }

    /// Counts a report, unless it was counted before. Whether it was not.
    pub(super) fn take(
        &mut self,
        worker: &WorkerName,
        seq: u64,
        uses: impl IntoIterator<Item = Use>,
        now: u64,
    ) -> bool {
        let numbers = self.workers.entry(worker.clone()).or_default();
        if seq <= numbers.taken {
            return false;
        }
        (numbers.taken, numbers.seen) = (seq, now);
        for Use { id, created, uses, last_used } in uses {
            self.add((id, created), uses, last_used);
        }
        true
    }

    /// The last report of a worker that is on the disk.
    pub(super) fn stored(&self, worker: &WorkerName) -> u64 {
        self.workers.get(worker).map_or(0, |numbers| numbers.stored)
    }

    /// Takes out what is to be saved next, if there is anything.
    pub(super) fn batch(&mut self) -> Option<Batch> {
        let unsaved = self.workers.iter().filter(|(_, numbers)| numbers.taken > numbers.stored);
        let counted = |(worker, numbers): (&WorkerName, &Numbers)| Counted {
            worker: worker.clone(),
            seq: numbers.taken,
            seen: numbers.seen,
        };
        let workers: Vec<Counted> = unsaved.map(counted).collect();
        let uses = std::mem::take(&mut self.pending).into_iter();
        let uses: Vec<SecretUses> = uses
            .map(|((id, created), (uses, last_used))| SecretUses {
                namespace: id.namespace,
                name: id.name,
                created,
                uses,
                last_used,
            })
            .collect();
        (!workers.is_empty()).then_some(Batch { uses, workers })
    }

    /// A batch is on the disk. Workers that were last heard of before `forget_before` are forgotten.
    pub(super) fn saved(&mut self, batch: Batch, forget_before: u64) {
        for Counted { worker, seq, .. } in batch.workers {
            if let Some(numbers) = self.workers.get_mut(&worker) {
                numbers.stored = numbers.stored.max(seq);
            }
        }
        self.workers.retain(|_, numbers| numbers.seen >= forget_before || numbers.taken > numbers.stored);
    }

    /// A batch could not be saved: it is part of the next one.
    pub(super) fn not_saved(&mut self, batch: Batch) {
        for SecretUses { namespace, name, created, uses, last_used } in batch.uses {
            self.add((ObjectRef { namespace, name }, created), uses, last_used);
        }
    }

    fn add(&mut self, secret: (ObjectRef, u64), uses: u64, last_used: u64) {
        let sum = self.pending.entry(secret).or_default();
        *sum = (sum.0.saturating_add(uses), sum.1.max(last_used));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> WorkerName {
        WorkerName { node: "n".to_owned(), role: "r".to_owned(), worker: name.to_owned() }
    }

    fn used(name: &str, uses: u64, last_used: u64) -> Use {
        Use { id: ObjectRef::new("a", name), created: 1, uses, last_used }
    }

    fn rows(batch: &Batch) -> Vec<(&str, u64, u64)> {
        batch.uses.iter().map(|row| (row.name.as_str(), row.uses, row.last_used)).collect()
    }

    #[test]
    fn each_report_counts_once_and_is_stored_when_it_is_saved() {
        let mut ledger = Ledger::default();
        assert!(ledger.take(&worker("w"), 1, [used("ann", 3, 50)], 60));
        assert!(!ledger.take(&worker("w"), 1, [used("ann", 3, 50)], 61));
        assert!(ledger.take(&worker("w"), 2, [used("ann", 1, 40), used("bob", 1, 45)], 70));
        assert!(ledger.take(&worker("x"), 1, [used("ann", 1, 55)], 70));
        let batch = ledger.batch().expect("something to save");
        assert_eq!(rows(&batch), [("ann", 5, 55), ("bob", 1, 45)]);
        assert_eq!(ledger.stored(&worker("w")), 0);
        // What comes while it is being saved is for the next time.
        assert!(ledger.take(&worker("w"), 3, [used("ann", 1, 71)], 71));
        ledger.saved(batch, 0);
        assert_eq!((ledger.stored(&worker("w")), ledger.stored(&worker("x"))), (2, 1));
        let batch = ledger.batch().expect("something to save");
        assert_eq!(rows(&batch), [("ann", 1, 71)]);
        ledger.saved(batch, 0);
        assert_eq!(ledger.batch(), None);
    }

    #[test]
    fn what_could_not_be_saved_is_saved_later_and_once() {
        let mut ledger = Ledger::default();
        ledger.take(&worker("w"), 1, [used("ann", 3, 50)], 60);
        let batch = ledger.batch().expect("something to save");
        ledger.take(&worker("w"), 2, [used("ann", 1, 70)], 70);
        ledger.not_saved(batch);
        assert_eq!(ledger.stored(&worker("w")), 0);
        let batch = ledger.batch().expect("something to save");
        assert_eq!(rows(&batch), [("ann", 4, 70)]);
        assert_eq!(batch.workers, [Counted { worker: worker("w"), seq: 2, seen: 70 }]);
    }

    #[test]
    fn a_report_of_nobodys_keys_is_stored_all_the_same() {
        let mut ledger = Ledger::default();
        ledger.take(&worker("w"), 1, [], 60);
        let batch = ledger.batch().expect("its number");
        ledger.saved(batch, 0);
        assert_eq!(ledger.stored(&worker("w")), 1);
    }

    #[test]
    fn a_server_that_comes_back_counts_nothing_twice() {
        let mut ledger = Ledger::new(vec![Counted { worker: worker("w"), seq: 4, seen: 60 }]);
        assert_eq!(ledger.stored(&worker("w")), 4);
        assert!(!ledger.take(&worker("w"), 4, [used("ann", 1, 50)], 70));
        assert!(ledger.take(&worker("w"), 5, [used("ann", 1, 50)], 70));
    }

    #[test]
    fn workers_that_say_nothing_any_more_are_forgotten() {
        let mut ledger = Ledger::new(vec![Counted { worker: worker("old"), seq: 4, seen: 10 }]);
        ledger.take(&worker("w"), 1, [], 60);
        let batch = ledger.batch().expect("its number");
        ledger.saved(batch, 20);
        assert_eq!((ledger.stored(&worker("old")), ledger.stored(&worker("w"))), (0, 1));
    }
}
