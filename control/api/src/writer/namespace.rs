//! Namespaces: made when something is created in them, and emptied before they go.
//!
//! ```text
//! create: is it open? (or open it) ─▶ write ─▶ is it still open? ─no▶ open it again, or take the
//!                                                                     object back
//! delete: mark it Terminating ─▶ not open any more ─▶ delete what is in it ─▶ delete it
//! ```
//!
//! An object that was written while its namespace was open is seen by the deletion, which looks
//! after it has closed the namespace; any other one is taken back by its own writer. So nothing
//! outlives its namespace.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use futures::future::BoxFuture;
use keyward_resource::{ApiStatus, Cause, KINDS, Kind, kind};
use keyward_store::{Key, Revision, Selector, StoreError};
use serde_json::json;

use super::{Current, Effect, Preconditions, WriteOptions, Writer, Written};
use crate::access::{Identity, Verb};
use crate::reply::store_error;
use crate::stored::{Stored, metadata_mut};
use crate::target::{NAME_LABEL, NAMESPACE, Part, Target};

/// The namespaces that are known to be open, so that not every write must look.
#[derive(Debug, Default)]
pub(super) struct Live {
    names: BTreeSet<String>,
    /// Rises when one is closed: whoever looked before may not say that it is open.
    closed: u64,
}

/// How an object stands to its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Terminating,
    Missing,
}

/// The namespace of whoever names none.
const DEFAULT: &str = "default";
/// How many objects are deleted before the next are listed.
const PAGE: usize = 500;

fn namespace_kind() -> &'static Kind {
    kind::by_name(NAMESPACE).unwrap_or_else(|| unreachable!("the table of kinds has namespaces"))
}

fn key(name: &str) -> Key {
    Key::new(NAMESPACE, "", name)
}

fn terminating(target: &Target, name: &str) -> ApiStatus {
    let namespace = target.place();
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    };
    ApiStatus::forbidden_object(target.kind, name, &why, Some(cause))
}

// === impl Writer ===

impl Writer {
    /// Makes the namespaces that always exist and those that objects are in, and goes on with
    /// deletions that were under way. To be called once, before anybody writes.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn prepare(&self) -> Result<(), ApiStatus> {
        let options = WriteOptions::internal("namespaces");
        let mut names = self.inhabited().await?;
        names.extend([DEFAULT.to_owned(), self.inner.system_namespace.clone()]);
        for name in names {
            if self.look(&name).await? == State::Missing {
                self.make_namespace(&name, &options).await?;
            }
        }
        let page = self.store().list(Selector::kind(NAMESPACE), None, None).await;
        let page = page.map_err(|error| store_error(namespace_kind(), "", error))?;
        for record in page.records {
            let current = Current::read(record)?;
            if current.stored.is_terminating() {
                self.finish_namespace(&current.record.key.name, &options).await?;
            }
        }
        Ok(())
    }

    /// The namespaces that objects are in, found with one look at each.
    async fn inhabited(&self) -> Result<BTreeSet<String>, ApiStatus> {
        let mut names = BTreeSet::new();
        for kind in KINDS.iter().filter(|kind| kind.is_namespaced()) {
            let mut after: Option<Key> = None;
            loop {
                let page = self.store().list(Selector::kind(kind.name), after.take(), Some(1)).await;
                let page = page.map_err(|error| store_error(kind, "", error))?;
                let Some(record) = page.records.into_iter().next() else { break };
                // No name sorts behind this one.
                after = Some(Key::new(kind.name, record.key.namespace.clone(), "\u{10ffff}"));
                names.insert(record.key.namespace);
            }
        }
        Ok(names)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look(&self, name: &str) -> Result<State, ApiStatus> {
        let before = self.live().closed;
        let state = match self.find(namespace_kind(), key(name)).await? {
            None => State::Missing,
            Some(current) if current.stored.is_terminating() => State::Terminating,
            Some(_) => State::Open,
        };
        let mut live = self.live();
        if state == State::Open && live.closed == before {
            live.names.insert(name.to_owned());
        }
        Ok(state)
    }

    /// Refuses objects of a namespace that is going.
    pub(super) async fn check_namespace(&self, target: &Target, object: &str) -> Result<(), ApiStatus> {
        if !target.kind.is_namespaced() || self.look(target.place()).await? != State::Terminating {
            return Ok(());
        }
        Err(terminating(target, object))
    }

    /// Sees to it that the namespace of a new object exists.
    pub(super) async fn open_namespace(
        &self,
        target: &Target,
        object: &str,
        options: &WriteOptions,
    ) -> Result<(), ApiStatus> {
        let name = target.place();
        if !target.kind.is_namespaced() || self.live().names.contains(name) {
            return Ok(());
        }
        match self.look(name).await? {
            State::Open => Ok(()),
            State::Terminating => Err(terminating(target, object)),
            State::Missing => self.make_namespace(name, options).await,
        }
    }

    /// Takes an object back that was created while its namespace was being deleted.
    pub(super) async fn confirm_namespace(
        &self,
        target: &Target,
        written: &Written,
        options: &WriteOptions,
    ) -> Result<(), ApiStatus> {
        let name = target.place();
        if !target.kind.is_namespaced() || self.live().names.contains(name) {
            return Ok(());
        }
        match self.look(name).await? {
            State::Open => Ok(()),
            // It went and this object came: as if in this order.
            State::Missing => self.make_namespace(name, options).await,
            State::Terminating => match self.store().delete(written.key.clone(), written.revision).await {
                Ok(_) | Err(StoreError::NotFound { .. } | StoreError::Conflict { .. }) => {
                    Err(terminating(target, &written.key.name))
                }
                Err(error) => Err(store_error(target.kind, &written.key.name, error)),
            },
        }
    }

    async fn make_namespace(&self, name: &str, options: &WriteOptions) -> Result<(), ApiStatus> {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": NAMESPACE,
            "metadata": {
                "name": name,
                "labels": { NAME_LABEL: name },
                "uid": (self.inner.origin.uid)().to_string(),
                "generation": 1,
            },
        });
        metadata_mut(&mut object)
            .insert("creationTimestamp".to_owned(), self.inner.origin.timestamp().into());
        let stored = Stored::new(object, Some(json!({ "phase": "Active" })));
        match self.store().create(key(name), stored.body()).await {
            Ok(record) => {
                self.audit(&options.identity, Verb::Create, &record.key, record.revision);
                Ok(())
            }
            Err(StoreError::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(store_error(namespace_kind(), name, error)),
        }
    }

    /// Deletes a namespace and everything in it.
    pub(super) async fn delete_namespace(
        &self,
        target: &Target,
        preconditions: &Preconditions,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        let name = target.name.clone().unwrap_or_default();
        let mut marked = loop {
            let current = self.current(target).await?;
            preconditions.check(target, &current)?;
            if name == DEFAULT || name == self.inner.system_namespace {
                let why = "this namespace may not be deleted";
                return Err(ApiStatus::forbidden_object(target.kind, &name, why, None));
            }
            if current.stored.is_terminating() {
                break current.written(Effect::Unchanged, Vec::new());
            }
            self.review_next(target.kind, &current, None).await?;
            let mut next = self.marked(&current);
            next.status = Some(json!({ "phase": "Terminating" }));
            if options.dry_run {
                return Ok(Current { stored: next, ..current }.written(Effect::Changed, Vec::new()));
            }
            if let Some(written) = self.put(target, &current, next, options, Verb::Delete).await? {
                break written;
            }
        };
        // In a task of its own: whoever asked may go away, and what was begun is to be finished.
        let (writer, options) = (self.clone(), options.clone());
        let finish = tokio::spawn(async move {
            match writer.finish_namespace(&name, &options).await? {
                Some(removed) => Ok::<_, ApiStatus>((Some(removed), removed)),
                // It stays, or goes by another's doing: whoever deleted what was in it had done so by now.
                None => Ok((None, writer.newest(&name).await?)),
            }
        });
        match finish.await {
            Ok(Ok((removed, settled))) => {
                marked.revision = removed.or(marked.revision);
                marked.settled = Some(settled);
                Ok(marked)
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(ApiStatus::internal("the deletion of a namespace failed")),
        }
    }

    /// The newest revision.
    async fn newest(&self, name: &str) -> Result<Revision, ApiStatus> {
        self.store().revision().await.map_err(|error| store_error(namespace_kind(), name, error))
    }

    /// Deletes what is in a namespace, and then the namespace if nothing is left: answers with the
    /// change that did.
    async fn finish_namespace(
        &self,
        name: &str,
        options: &WriteOptions,
    ) -> Result<Option<Revision>, ApiStatus> {
        {
            let mut live = self.live();
            live.names.remove(name);
            live.closed += 1;
        }
        let mut left = false;
        for kind in KINDS.iter().filter(|kind| kind.is_namespaced()) {
            left |= self.unreviewed().empty(kind, name, options).await?;
        }
        if left {
            return Ok(None);
        }
        let Some(current) = self.find(namespace_kind(), key(name)).await? else { return Ok(None) };
        if !current.stored.is_terminating() || !current.stored.finalizers().is_empty() {
            return Ok(None);
        }
        match self.store().delete(key(name), Some(current.record.revision)).await {
            Ok((revision, _)) => {
                self.audit(&options.identity, Verb::Delete, &key(name), revision);
                Ok(Some(revision))
            }
            // Somebody else has finished it, or changed it and will finish it.
            Err(StoreError::NotFound { .. } | StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(store_error(namespace_kind(), name, error)),
        }
    }

    /// Deletes the objects of a kind in a namespace; whether any are left that wait for finalizers.
    async fn empty(
        &self,
        kind: &'static Kind,
        namespace: &str,
        options: &WriteOptions,
    ) -> Result<bool, ApiStatus> {
        let mut left = false;
        let mut after = None;
        loop {
            let selector = Selector::namespaced(kind.name, namespace);
            let page = self.store().list(selector, after.take(), Some(PAGE)).await;
            let page = page.map_err(|error| store_error(kind, "", error))?;
            for record in &page.records {
                let target = Target {
                    kind,
                    asked: kind.group_version,
                    namespace: Some(namespace.to_owned()),
                    name: Some(record.key.name.clone()),
                    part: Part::Main,
                };
                let any = Preconditions::default();
                match self.delete_object(&target, &any, options, Verb::Delete).await {
                    Ok(written) => left |= written.effect != Effect::Deleted,
                    Err(gone) if gone.code == 404 => {}
                    Err(failure) => return Err(failure),
                }
            }
            if !page.more {
                return Ok(left);
            }
            after = page.records.last().map(|record| record.key.clone());
        }
    }

    /// An object is gone whose deletion waited: its namespace may wait for it.
    pub(super) fn on_freed(&self, target: &Target, options: &WriteOptions) {
        let name = target.place().to_owned();
        if !target.kind.is_namespaced() || self.live().names.contains(&name) {
            return;
        }
        let (writer, options) = (self.clone(), options.clone());
        // Boxed: a deletion may start this, and this starts deletions.
        let finish: BoxFuture<'static, ()> = Box::pin(async move {
            if let Ok(State::Terminating) = writer.look(&name).await
                && let Err(failure) = writer.finish_namespace(&name, &options).await
            {
                tracing::error!(namespace = %name, "its deletion cannot be finished: {}", failure.message);
            }
        });
        tokio::spawn(finish);
    }
}

// === impl WriteOptions ===

impl WriteOptions {
    /// How a part of this process writes.
    #[must_use]
    pub fn internal(name: &str) -> Self {
        Self {
            identity: Identity::internal(name),
            manager: name.to_owned(),
            dry_run: false,
            field_validation: super::FieldValidation::Strict,
        }
    }
}
