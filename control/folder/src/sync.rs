//! Carries a plan out, through the writer of the resource API.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use keyward_api::{Effect, Part, Preconditions, Stored, Target, WriteOptions, Writer};
use keyward_resource::{ApiStatus, KINDS, kind};
use keyward_store::{Key, Record, Revision, Selector, Store, StoreError};

use crate::mark::{self, MANAGER, Mark, Origin};
use crate::plan::{Files, Known, Wanted, plan, rank};
use crate::problem::Problem;

/// How many objects are read at once.
const PAGE: usize = 500;
/// How many objects are written at once. The store puts those that come together on the disk together,
/// and whoever follows it sees them together.
const AT_ONCE: usize = 256;

/// The objects of the folder in a store.
pub(crate) struct Synchronizer {
    writer: Writer,
    store: Arc<dyn Store>,
    options: WriteOptions,
    known: Known,
    applied: BTreeMap<Key, Applied>,
}

/// What a look at the folder has led to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
    /// So many objects stay although no file has them, because no file has any.
    pub(crate) kept: usize,
    /// Objects are in no file, and go if they are still in none soon.
    pub(crate) is_waiting: bool,
    /// Something did not work that may work later.
    pub(crate) has_failed: bool,
}

/// An object as it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Applied {
    file: String,
    digest: [u8; 32],
    /// The last change of the object, but for its status.
    content: Revision,
}

/// Why an object of the folder could not be written.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", .0.message)]
    Refused(ApiStatus),
    #[error("the store fails: {0}")]
    Store(#[from] StoreError),
    #[error("what the store holds of it cannot be read")]
    Unreadable,
    #[error("the namespace has left the folder and stays, because there are still objects in it")]
    Inhabited,
}

fn parse(record: &Record) -> Result<Stored, Failure> {
    Stored::read(record).map_err(|_| Failure::Unreadable)
}

fn target_of(key: &Key) -> Option<Target> {
    let kind = kind::by_name(&key.kind)?;
    Some(Target {
        kind,
        asked: kind.group_version,
        namespace: kind.is_namespaced().then(|| key.namespace.clone()),
        name: Some(key.name.clone()),
        part: Part::Main,
    })
}

// === impl Synchronizer ===

impl Synchronizer {
    /// Finds the objects that came from the folder before. They all go when no file has any object, but
    /// only if the folder `may_be_empty`.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub(crate) async fn load(
        writer: Writer,
        store: Arc<dyn Store>,
        may_be_empty: bool,
    ) -> Result<Self, StoreError> {
        let mut known = Known { may_be_empty, ..Known::default() };
        for kind in KINDS {
            let mut after = None;
            loop {
                let page = store.list(Selector::kind(kind.name), after.take(), Some(PAGE)).await?;
                after = page.records.last().map(|record| record.key.clone()).filter(|_| page.more);
                let marked = page.records.into_iter().filter(|record| Mark::may_be_in(&record.body));
                for record in marked {
                    let mark = Stored::read(&record).ok().and_then(|stored| Mark::read(&stored));
                    known.files.extend(mark.map(|mark| (record.key, mark.file)));
                }
                if after.is_none() {
                    break;
                }
            }
        }
        let options = WriteOptions::internal(MANAGER);
        Ok(Self { writer, store, options, known, applied: BTreeMap::new() })
    }

    /// Makes the store say what the files say. A thorough look does not trust that nobody has changed
    /// objects of the folder since they were applied.
    pub(crate) async fn look(&mut self, files: &Files, thorough: bool, now: Instant) -> Outcome {
        let plan = plan(files, &mut self.known, now);
        let mut outcome = Outcome { problems: plan.problems, kept: plan.kept, ..Outcome::default() };
        let mut ranks: BTreeMap<usize, Vec<Wanted>> = BTreeMap::new();
        for wanted in plan.apply {
            if thorough || !self.is_applied(&wanted) {
                ranks.entry(rank(&wanted.manifest.key)).or_default().push(wanted);
            }
        }
        // Objects of one rank do not refer to each other.
        for same_rank in ranks.into_values() {
            for (wanted, failure) in self.apply(same_rank).await {
                outcome.has_failed = true;
                let Some(manifests) = files.get(&wanted.file) else { continue };
                let problem = manifests.problem(&wanted.file, &wanted.manifest, failure.to_string());
                outcome.problems.push(problem);
            }
        }
        for key in plan.remove {
            match self.remove(&key).await {
                Ok(()) => {
                    self.known.files.remove(&key);
                    self.known.missing.remove(&key);
                }
                Err(failure) => {
                    outcome.has_failed = true;
                    let file = self.known.files.get(&key).cloned().unwrap_or_default();
                    outcome.problems.push(Problem::of_file(&file, failure.to_string()).about(&key));
                }
            }
            self.applied.remove(&key);
        }
        outcome.is_waiting = !self.known.missing.is_empty();
        outcome
    }

    fn is_applied(&self, wanted: &Wanted) -> bool {
        let applied = self.applied.get(&wanted.manifest.key);
        applied.is_some_and(|applied| applied.is(wanted))
    }

    /// Applies objects, in no order; those that it did not work for come back.
    async fn apply(&mut self, all: Vec<Wanted>) -> Vec<(Wanted, Failure)> {
        let mut jobs: Vec<BoxFuture<'_, (Wanted, Result<Applied, Failure>)>> = Vec::with_capacity(all.len());
        let before: Vec<Option<Applied>> =
            all.iter().map(|wanted| self.applied.remove(&wanted.manifest.key)).collect();
        let this = &*self;
        for (wanted, before) in all.into_iter().zip(before) {
            let job = async move {
                let outcome = this.apply_one(&wanted, before).await;
                (wanted, outcome)
            };
            jobs.push(job.boxed());
        }
        let done: Vec<_> = stream::iter(jobs).buffered(AT_ONCE).collect().await;
        let mut failures = Vec::new();
        for (wanted, outcome) in done {
            match outcome {
                Ok(applied) => {
                    self.known.files.insert(wanted.manifest.key.clone(), wanted.file.clone());
                    self.applied.insert(wanted.manifest.key, applied);
                }
                Err(failure) => failures.push((wanted, failure)),
            }
        }
        failures
    }

    /// Applies an object, unless it is so.
    async fn apply_one(&self, wanted: &Wanted, before: Option<Applied>) -> Result<Applied, Failure> {
        let Wanted { file, manifest } = wanted;
        let record = self.store.get(manifest.key.clone()).await?;
        let mut origin = Origin::Created;
        let mut content = None;
        if let Some(record) = &record {
            let stored = parse(record)?;
            let revision = stored.content_revision(record);
            if let Some(before) = before.filter(|before| before.is(wanted) && before.content == revision) {
                return Ok(before);
            }
            origin = Mark::read(&stored).map_or(Origin::Adopted, |mark| mark.origin);
            content = Some(revision);
        }
        let mut effect = None;
        loop {
            let object = Mark { file: file.clone(), origin }.put_on(&manifest.object);
            let written = self.writer.apply(&manifest.target, object, true, &self.options).await;
            let written = written.map_err(Failure::Refused)?;
            if written.effect != Effect::Unchanged {
                content = written.revision.or(content);
            }
            let first = *effect.get_or_insert(written.effect);
            if origin == Origin::Created && record.is_none() && first != Effect::Created {
                // Somebody else was quicker, so it is theirs.
                origin = Origin::Adopted;
                continue;
            }
            break;
        }
        match effect {
            Some(Effect::Created) => tracing::info!(object = %manifest.key, %file, "created from its file"),
            Some(Effect::Changed) => {
                tracing::info!(object = %manifest.key, %file, "changed to what its file says")
            }
            _ => {}
        }
        let content = content.unwrap_or_default();
        Ok(Applied { file: file.clone(), digest: manifest.digest, content })
    }

    /// Takes an object out that is in no file any more.
    async fn remove(&self, key: &Key) -> Result<(), Failure> {
        let Some(record) = self.store.get(key.clone()).await? else { return Ok(()) };
        let stored = parse(&record)?;
        // Without a mark it is somebody else's by now.
        let (Some(mark), Some(target)) = (Mark::read(&stored), target_of(key)) else { return Ok(()) };
        let version = record.revision;
        let done = match mark.origin {
            Origin::Created if !target.kind.is_namespaced() && self.is_inhabited(&key.name).await? => {
                return Err(Failure::Inhabited);
            }
            Origin::Created => {
                let preconditions = Preconditions { uid: None, revision: Some(version) };
                self.writer.delete(&target, &preconditions, &self.options).await
            }
            Origin::Adopted => {
                let mut object = mark::released(&stored);
                object["metadata"]["resourceVersion"] = version.to_string().into();
                self.writer.update(&target, object, &self.options).await
            }
        };
        match done {
            Ok(_) if mark.origin == Origin::Created => {
                tracing::info!(object = %key, file = mark.file, "deleted, as no file has it any more");
                Ok(())
            }
            Ok(_) => {
                tracing::info!(
                    object = %key, file = mark.file,
                    "left as it is, as no file has it any more and it was there before the folder"
                );
                Ok(())
            }
            Err(status) if status.code == 404 => Ok(()),
            Err(status) => Err(Failure::Refused(status)),
        }
    }

    /// Whether anything is in a namespace: an object of somebody else must not go with it.
    async fn is_inhabited(&self, namespace: &str) -> Result<bool, StoreError> {
        for kind in KINDS.iter().filter(|kind| kind.is_namespaced()) {
            let page = self.store.list(Selector::namespaced(kind.name, namespace), None, Some(1)).await?;
            if !page.records.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

// === impl Applied ===

impl Applied {
    fn is(&self, wanted: &Wanted) -> bool {
        self.file == wanted.file && self.digest == wanted.manifest.digest
    }
}

#[cfg(test)]
mod tests;
