//! The key index: which Secret's key opens which `AuthConfig`, kept up to date change by change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use keyward_filter_core::config::table_name;
use keyward_filter_core::wire::Digest;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::auth_config::AuthConfig;
use keyward_resource::kinds::secret::ApiKeySecret;

use crate::secrets::{Secret, Secrets};
use crate::selection::Selection;
use crate::table::Table;
use crate::view::{KeyView, Wanted};

mod report;
#[cfg(test)]
mod tests;

/// How many changes of each table are kept for workers that come back.
const LOG_LIMIT: usize = 65_536;

/// A change of the objects that the index is made of.
#[derive(Debug, Clone)]
pub enum Change {
    /// A Secret of the key type was created or replaced.
    PutSecret(ApiKeySecret),
    /// A Secret was deleted, or is of another type now.
    DeleteSecret(ObjectRef),
    /// An `AuthConfig` was created or replaced.
    PutAuthConfig(AuthConfig),
    /// An `AuthConfig` was deleted.
    DeleteAuthConfig(ObjectRef),
    /// From now on only the Secrets and `AuthConfig`s of these namespaces count; `None` means all.
    /// Those of others are kept, and count again when their namespace is watched again.
    Watch(Option<BTreeSet<String>>),
}

/// All Secrets, all `AuthConfig`s, and the key table of each of these.
///
/// Each step of an `AuthConfig` has a table, called as [`table_name`] says. A changed Secret costs time in the
/// number of `AuthConfig`s, whatever the number of Secrets; an `AuthConfig` with a changed
/// selection, or another choice of namespaces that are watched, costs time in the number of Secrets.
#[derive(Debug)]
pub struct KeyIndex {
    revision: u64,
    secrets: Secrets,
    configs: BTreeMap<StepId, Config>,
    tables: OrdMap<Arc<str>, Arc<Table>>,
    log_limit: usize,
}

/// A step of an `AuthConfig`: its place among them, from 0.
type StepId = (ObjectRef, usize);

/// What the index knows of a step of an `AuthConfig` beside its table.
#[derive(Debug)]
struct Config {
    table: Arc<str>,
    /// The name of the step, where there are several.
    name: Option<String>,
    /// `None` when it could never select anything: it is rejected and has no table.
    selection: Option<Selection>,
    /// How many Secrets are selected, usable or not.
    selected: usize,
    /// How many of them lack metadata that are required.
    incomplete: usize,
    /// Those whose keys cannot be served because of what was stored with them.
    unreadable: BTreeSet<ObjectRef>,
    /// Secrets that are named and do not exist.
    missing: BTreeSet<ObjectRef>,
    /// Keys that more than one of the selected Secrets hold.
    shared: BTreeSet<Digest>,
}

/// What a batch of changes has touched and must be looked at once the batch is in.
#[derive(Debug, Default)]
struct Touched {
    digests: BTreeSet<Digest>,
    configs: BTreeSet<StepId>,
}

// === impl KeyIndex ===

impl KeyIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::with_log_limit(LOG_LIMIT)
    }

    /// An empty index that keeps at most `log_limit` changes of each table for workers that come
    /// back.
    #[must_use]
    pub fn with_log_limit(log_limit: usize) -> Self {
        Self {
            revision: 0,
            secrets: Secrets::default(),
            configs: BTreeMap::new(),
            tables: OrdMap::new(),
            log_limit,
        }
    }

    /// Takes over a batch of changes; `revision` is that of the last of them, and rises from batch
    /// to batch.
    pub fn apply(&mut self, revision: u64, changes: impl IntoIterator<Item = Change>) {
        self.revision = self.revision.max(revision);
        let mut touched = Touched::default();
        for change in changes {
            match change {
                Change::PutSecret(secret) => self.put_secret(secret.into(), &mut touched),
                Change::DeleteSecret(id) => self.delete_secret(&id, &mut touched),
                Change::PutAuthConfig(config) => self.put_config(config, &mut touched),
                Change::DeleteAuthConfig(id) => self.delete_config(&id, &mut touched),
                Change::Watch(namespaces) => {
                    if self.secrets.watch(namespaces) {
                        touched.configs.extend(self.configs.keys().cloned());
                    }
                }
            }
        }
        for id in &touched.configs {
            self.select_anew(id);
        }
        if touched.digests.is_empty() {
            return;
        }
        for (id, config) in &mut self.configs {
            if !touched.configs.contains(id) {
                config.look_again(&self.secrets, &mut self.tables, self.revision, touched.digests.iter());
            }
        }
    }

    /// The tables as they are, and who wants which.
    #[must_use]
    pub fn view(&self, wanted: impl Into<Arc<Wanted>>) -> KeyView {
        KeyView::new(self.revision, self.tables.clone(), wanted.into())
    }

    fn put_secret(&mut self, secret: Secret, touched: &mut Touched) {
        let secret = Arc::new(secret);
        let before = self.secrets.put(Arc::clone(&secret));
        let after = self.secrets.watches(&secret.id.namespace).then_some(&*secret);
        self.count(before.as_deref(), after, touched);
    }

    fn delete_secret(&mut self, id: &ObjectRef, touched: &mut Touched) {
        if let Some(before) = self.secrets.remove(id) {
            self.count(Some(&before), None, touched);
        }
    }

    /// Brings the counts of all `AuthConfig`s up to date with the change of one Secret.
    fn count(&mut self, before: Option<&Secret>, after: Option<&Secret>, touched: &mut Touched) {
        let Some(id) = after.or(before).map(|secret| &secret.id) else { return };
        for (config_id, config) in &mut self.configs {
            // A selection that changed in the same batch is counted anew, from all Secrets.
            if touched.configs.contains(config_id) {
                continue;
            }
            let Some(selection) = &config.selection else { continue };
            let counts =
                |secret: Option<&Secret>| usize::from(secret.is_some_and(|it| selection.selects(it)));
            let lacks = |secret: Option<&Secret>| {
                usize::from(secret.is_some_and(|it| selection.selects(it) && !selection.accepts(it)))
            };
            config.selected = config.selected + counts(after) - counts(before);
            config.incomplete = config.incomplete + lacks(after) - lacks(before);
            if after.is_some_and(|secret| secret.is_unreadable() && selection.selects(secret)) {
                config.unreadable.insert(id.clone());
            } else {
                config.unreadable.remove(id);
            }
            if selection.refs.contains(id) {
                if after.is_some() {
                    config.missing.remove(id);
                } else {
                    config.missing.insert(id.clone());
                }
            }
        }
        touched.digests.extend([before, after].into_iter().flatten().filter_map(|secret| secret.key.ok()));
    }

    fn put_config(&mut self, config: AuthConfig, touched: &mut Touched) {
        let id = config.meta.object_ref();
        let several = config.steps.len() > 1;
        let surplus = self.steps_of(&id).filter(|(_, at)| *at >= config.steps.len()).cloned();
        for step in surplus.collect::<Vec<_>>() {
            self.delete_step(&step, touched);
        }
        for (at, step) in config.steps.into_iter().enumerate() {
            let selection = Selection::new(step.api_key_auth);
            let name = several.then_some(step.name);
            let id = (id.clone(), at);
            match self.configs.get_mut(&id) {
                Some(config) if config.selection == selection => config.name = name,
                _ => {
                    let table = table_name(&id.0.to_string(), at);
                    touched.configs.insert(id.clone());
                    self.configs.insert(id, Config::new(&table, name, selection));
                }
            }
        }
    }

    fn delete_config(&mut self, id: &ObjectRef, touched: &mut Touched) {
        for step in self.steps_of(id).cloned().collect::<Vec<_>>() {
            self.delete_step(&step, touched);
        }
    }

    fn delete_step(&mut self, id: &StepId, touched: &mut Touched) {
        touched.configs.remove(id);
        if let Some(config) = self.configs.remove(id) {
            self.tables.remove(&config.table);
        }
    }

    /// The steps of an `AuthConfig`, in order.
    fn steps_of(&self, id: &ObjectRef) -> impl Iterator<Item = &StepId> {
        self.configs.range((id.clone(), 0)..=(id.clone(), usize::MAX)).map(|(id, _)| id)
    }

    /// Looks at every Secret, for a step whose selection is another one.
    fn select_anew(&mut self, id: &StepId) {
        let Some(config) = self.configs.get_mut(id) else { return };
        let Some(selection) = &config.selection else {
            self.tables.remove(&config.table);
            return;
        };
        config.selected = 0;
        config.incomplete = 0;
        config.unreadable.clear();
        config.missing = selection.refs.iter().filter(|id| self.secrets.get(id).is_none()).cloned().collect();
        // Keys that it accepts and that it selects no more are gone with this too.
        let held = self.tables.get(&config.table).map(Arc::clone);
        let mut digests: Vec<Digest> =
            held.iter().flat_map(|table| table.iter().map(|(digest, _)| *digest)).collect();
        for secret in self.secrets.iter().filter(|secret| selection.selects(secret)) {
            config.selected += 1;
            config.incomplete += usize::from(!selection.accepts(secret));
            if secret.is_unreadable() {
                config.unreadable.insert(secret.id.clone());
            }
            digests.extend(secret.key.ok());
        }
        digests.sort_unstable();
        digests.dedup();
        self.tables
            .entry(Arc::clone(&config.table))
            .or_insert_with(|| Arc::new(Table::new(self.revision, self.log_limit)));
        config.look_again(&self.secrets, &mut self.tables, self.revision, &digests);
    }
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Config ===

impl Config {
    fn new(table: &str, name: Option<String>, selection: Option<Selection>) -> Self {
        Self {
            table: Arc::from(table),
            name,
            selection,
            selected: 0,
            incomplete: 0,
            unreadable: BTreeSet::new(),
            missing: BTreeSet::new(),
            shared: BTreeSet::new(),
        }
    }

    /// The accepted Secrets that hold a key. The first one is the identity.
    fn holders<'a>(&self, secrets: &'a Secrets, digest: &Digest) -> impl Iterator<Item = &'a Arc<Secret>> {
        let selection = self.selection.as_ref();
        secrets.holders(digest).filter(move |secret| selection.is_some_and(|it| it.accepts(secret)))
    }

    /// Finds out anew whom these keys belong to.
    fn look_again<'a>(
        &mut self,
        secrets: &Secrets,
        tables: &mut OrdMap<Arc<str>, Arc<Table>>,
        revision: u64,
        digests: impl IntoIterator<Item = &'a Digest>,
    ) {
        let Some(table) = tables.get(&self.table) else { return };
        let mut changes = Vec::new();
        for digest in digests {
            let mut holders = self.holders(secrets, digest);
            let owner = holders.next();
            let shared = holders.next().is_some();
            drop(holders);
            if shared {
                self.shared.insert(*digest);
            } else {
                self.shared.remove(digest);
            }
            let selection = self.selection.as_ref();
            let record = owner.zip(selection).and_then(|(secret, selection)| selection.record(secret));
            if table.get(digest) != record.as_deref() {
                changes.push((*digest, record));
            }
        }
        if !changes.is_empty()
            && let Some(table) = tables.get_mut(&self.table)
        {
            Arc::make_mut(table).update(revision, changes);
        }
    }
}
