//! The key index: which Secret's key opens which `AuthConfig`, kept up to date change by change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use keyward_filter_core::config::table_name;
use keyward_filter_core::wire::Digest;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::auth_config::AuthConfig;
use keyward_resource::kinds::options::AllowList;
use keyward_resource::kinds::secret::ApiKeySecret;

use crate::secrets::{Secret, Secrets};
use crate::selection::Selection;
use crate::table::{Record, Table};
use crate::view::{KeyView, Wanted};

mod budget;
mod holders;
mod report;
#[cfg(test)]
mod tests;
mod usage;

pub use budget::LogLimits;
pub use holders::Holder;
use usage::Former;
pub use usage::Users;

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
    /// From now on these lists of who is allowed are in use, and no others.
    Allow(AllowLists),
}

/// Who is allowed on routes of `AuthConfig`s, each list by the auth id of those routes.
pub type AllowLists = BTreeMap<ObjectRef, BTreeMap<String, AllowList>>;

/// All Secrets, all `AuthConfig`s, and the key table of each of these.
///
/// Each step of an `AuthConfig` has a table, called as [`table_name`] says, and one more for each list of who is
/// allowed: those keys of its own whose owners are, each with the owner's name alone. A changed Secret costs time in the
/// number of `AuthConfig`s, whatever the number of Secrets; an `AuthConfig` with a changed
/// selection, or another choice of namespaces that are watched, costs time in the number of Secrets.
#[derive(Debug)]
pub struct KeyIndex {
    revision: u64,
    secrets: Secrets,
    configs: BTreeMap<StepId, Config>,
    lists: AllowLists,
    tables: OrdMap<Arc<str>, Arc<Table>>,
    log_limits: LogLimits,
    /// Keys that were used by those who hold them no more.
    former: Former,
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
    lists: Vec<List>,
}

/// Who is allowed, and the table that says so.
#[derive(Debug, PartialEq, Eq)]
struct List {
    table: Arc<str>,
    list: AllowList,
}

/// What a batch of changes has touched and must be looked at once the batch is in.
#[derive(Debug, Default)]
struct Touched {
    digests: BTreeSet<Digest>,
    configs: BTreeSet<StepId>,
    /// Only their lists are other ones.
    lists: BTreeSet<StepId>,
}

// === impl KeyIndex ===

impl KeyIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::with_log_limits(LogLimits::default())
    }

    /// An empty index that keeps so much of the last changes for workers that come back.
    #[must_use]
    pub fn with_log_limits(log_limits: LogLimits) -> Self {
        Self {
            revision: 0,
            secrets: Secrets::default(),
            configs: BTreeMap::new(),
            lists: AllowLists::new(),
            tables: OrdMap::new(),
            log_limits,
            former: Former::default(),
        }
    }

    /// Takes over a batch of changes; `revision` is that of the last of them, and rises from batch
    /// to batch.
    pub fn apply(&mut self, revision: u64, changes: impl IntoIterator<Item = Change>) {
        self.take_over(revision, changes);
        self.forget_beyond_limit();
    }

    fn take_over(&mut self, revision: u64, changes: impl IntoIterator<Item = Change>) {
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
                Change::Allow(lists) => self.allow(lists, &mut touched),
            }
        }
        for id in &touched.configs {
            self.select_anew(id);
        }
        for id in touched.lists.difference(&touched.configs) {
            self.list_anew(id, &touched.digests);
        }
        if touched.digests.is_empty() {
            return;
        }
        for (id, config) in &mut self.configs {
            // A table changes once with a batch: nobody is to see it half changed.
            if !touched.configs.contains(id) && !touched.lists.contains(id) {
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
        if let Some(before) = before {
            self.former.note(before, after, self.revision);
        }
        touched.digests.extend([before, after].into_iter().flatten().flat_map(Secret::keys));
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
                    let lists = lists(&self.lists, &id);
                    self.configs.insert(id, Config { lists, ..Config::new(&table, name, selection) });
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
            config.lists.iter().for_each(|list| drop(self.tables.remove(&list.table)));
        }
    }

    /// Has these lists and no others.
    fn allow(&mut self, now: AllowLists, touched: &mut Touched) {
        if self.lists == now {
            return;
        }
        self.lists = now;
        for (id, config) in &mut self.configs {
            let lists = lists(&self.lists, id);
            if config.lists == lists {
                continue;
            }
            let gone = config.lists.iter().filter(|list| !lists.contains(list));
            gone.for_each(|list| drop(self.tables.remove(&list.table)));
            config.lists = lists;
            touched.lists.insert(id.clone());
        }
    }

    /// Looks at every key of a step, for those of its lists that are new, and at those that have changed.
    fn list_anew(&mut self, id: &StepId, changed: &BTreeSet<Digest>) {
        let Some(config) = self.configs.get_mut(id) else { return };
        let Some(table) = self.tables.get(&config.table).map(Arc::clone) else { return };
        config.open_tables(&mut self.tables, self.revision, self.log_limits.changes);
        let held = table.iter().map(|(digest, _)| digest).filter(|digest| !changed.contains(*digest));
        let digests = held.chain(changed);
        config.look_again(&self.secrets, &mut self.tables, self.revision, digests);
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
            config.lists.iter().for_each(|list| drop(self.tables.remove(&list.table)));
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
            digests.extend(secret.keys());
        }
        digests.sort_unstable();
        digests.dedup();
        config.open_tables(&mut self.tables, self.revision, self.log_limits.changes);
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
            lists: Vec::new(),
        }
    }

    /// Makes the tables that are not there yet.
    fn open_tables(&self, tables: &mut OrdMap<Arc<str>, Arc<Table>>, revision: u64, log_limit: usize) {
        for name in self.lists.iter().map(|list| &list.table).chain([&self.table]) {
            tables.entry(Arc::clone(name)).or_insert_with(|| Arc::new(Table::new(revision, log_limit)));
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
        if !tables.contains_key(&self.table) {
            return;
        }
        let names = self.lists.iter().map(|list| &list.table).chain([&self.table]);
        // There is one for each: they come and go together.
        let found = names.filter_map(|name| tables.get_key_value(name));
        let mut found: Vec<_> =
            found.map(|(name, table)| (Arc::clone(name), Arc::clone(table), Vec::new())).collect();
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
            let record =
                owner.zip(selection).and_then(|(secret, selection)| selection.record(secret, digest));
            let owner = owner.filter(|_| record.is_some());
            let listed = self.lists.iter().map(|list| owner.and_then(|owner| list.record(owner, digest)));
            for ((_, table, changes), record) in found.iter_mut().zip(listed.chain([record.clone()])) {
                if table.get(digest) != record.as_deref() {
                    changes.push((*digest, record));
                }
            }
        }
        for (name, _, changes) in found.into_iter().filter(|(_, _, changes)| !changes.is_empty()) {
            if let Some(table) = tables.get_mut(&name) {
                Arc::make_mut(table).update(revision, changes);
            }
        }
    }
}

// === impl List ===

impl List {
    /// What its table says of a key: whose it is, if that one is allowed.
    fn record(&self, owner: &Secret, digest: &Digest) -> Option<Record> {
        self.list.allows(&owner.id.name, &owner.labels).then(|| owner.named(digest))
    }
}

fn lists(all: &AllowLists, (id, at): &StepId) -> Vec<List> {
    let of_config = all.get(id).into_iter().flatten();
    let table = |auth_id: &String| Arc::from(table_name(auth_id, *at));
    of_config.map(|(auth_id, list)| List { table: table(auth_id), list: list.clone() }).collect()
}
