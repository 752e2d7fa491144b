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

use crate::placed::Placed;
use crate::secrets::{Secret, Secrets};
use crate::selection::Selection;
use crate::table::Span;
use crate::view::{KeyView, Wanted};

mod budget;
mod group;
mod holders;
mod report;
#[cfg(test)]
mod tests;
mod usage;

pub use budget::LogLimits;
use group::{Group, Tables};
pub use holders::Holder;
use usage::Former;
pub use usage::Users;

/// A change of the objects that the index is made of.
#[derive(Debug, Clone)]
pub enum Change {
    /// A Secret of the key type was created or replaced.
    PutSecret(ApiKeySecret),
    /// A Secret was deleted, if only finalizers keep it, or is of another type now.
    DeleteSecret(ObjectRef),
    /// An `AuthConfig` was created or replaced.
    PutAuthConfig(AuthConfig),
    /// An `AuthConfig` was deleted.
    DeleteAuthConfig(ObjectRef),
    /// From now on only the Secrets and `AuthConfig`s of these namespaces count; `None` means all.
    /// Those of others are kept, and count again when their namespace is watched again.
    Watch(Option<BTreeSet<String>>),
    /// It is as late as this, in milliseconds since 1970: a previous key that has ended is free for others.
    Time(u64),
    /// From now on these lists of who is allowed are in use, and no others.
    Allow(AllowLists),
}

/// Who is allowed on routes of `AuthConfig`s, each list by the auth id of those routes.
pub type AllowLists = BTreeMap<ObjectRef, BTreeMap<String, AllowList>>;

/// All Secrets, all `AuthConfig`s, and their key tables.
///
/// Each step of an `AuthConfig` has a table, called as [`table_name`] says, and one more for each list of who is
/// allowed: those keys of its own whose owners are, each with the owner's name alone. Steps that select the same
/// have the same tables under different names. A changed Secret costs time in the number of selections, whatever
/// the number of Secrets; a selection that is new, or another choice of namespaces that are watched, costs time
/// in the number of Secrets.
///
/// A step that selects something else goes on with a copy of the table that it had, so that it is told what
/// changes and no more. Where others select that already it has theirs from now on, and its old one leads there.
#[derive(Debug)]
pub struct KeyIndex {
    revision: u64,
    secrets: Secrets,
    configs: BTreeMap<StepId, Config>,
    groups: BTreeMap<Arc<Selection>, Group>,
    lists: AllowLists,
    /// The tables by name, as they were placed last.
    tables: OrdMap<Arc<str>, Placed>,
    log_limits: LogLimits,
    /// Keys that were used by those who hold them no more.
    former: Former,
}

/// A step of an `AuthConfig`: its place among them, from 0.
type StepId = (ObjectRef, usize);

/// What the index knows of a step of an `AuthConfig` beside its group.
#[derive(Debug)]
struct Config {
    table: Arc<str>,
    /// The name of the step, where there are several.
    name: Option<String>,
    /// `None` when it could never select anything: it is rejected and has no table.
    selection: Option<Arc<Selection>>,
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
    /// Steps that are put, each as it was put last: its name and what it selects.
    puts: BTreeMap<StepId, (Option<String>, Option<Arc<Selection>>)>,
    digests: BTreeSet<Digest>,
    /// Every Secret has to be looked at.
    anew: BTreeSet<Arc<Selection>>,
    /// Their steps, or the lists of these, are other ones.
    steps: BTreeSet<Arc<Selection>>,
    /// Tables that lead into others.
    entering: Vec<(Tables, Arc<Selection>)>,
    /// Names that stand for other tables than before.
    moved: BTreeSet<Arc<str>>,
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
            groups: BTreeMap::new(),
            lists: AllowLists::new(),
            tables: OrdMap::new(),
            log_limits,
            former: Former::default(),
        }
    }

    /// Takes over a batch of changes: all that were made since the last batch. `revision` is that of the
    /// last of them, and rises from batch to batch.
    pub fn apply(&mut self, revision: u64, changes: impl IntoIterator<Item = Change>) {
        let span = Span { after: self.revision, to: self.revision.max(revision) };
        self.take_over(span, changes);
        self.forget_beyond_limit();
    }

    /// Up to this revision there are no changes more: who holds what the tables are now has everything up to
    /// there.
    pub fn pass(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    fn take_over(&mut self, span: Span, changes: impl IntoIterator<Item = Change>) {
        self.revision = span.to;
        let mut touched = Touched::default();
        for change in changes {
            match change {
                Change::PutSecret(secret) => self.put_secret(secret.into(), &mut touched),
                Change::DeleteSecret(id) => self.delete_secret(&id, &mut touched),
                Change::PutAuthConfig(config) => self.put_config(config, &mut touched),
                Change::DeleteAuthConfig(id) => self.delete_config(&id, &mut touched),
                Change::Watch(namespaces) => {
                    if self.secrets.watch(namespaces) {
                        touched.anew.extend(self.groups.keys().cloned());
                    }
                }
                Change::Time(now) => touched.digests.extend(self.secrets.pass(now)),
                Change::Allow(lists) => self.allow(lists, &mut touched),
            }
        }
        for (id, (name, selection)) in std::mem::take(&mut touched.puts) {
            match self.configs.get_mut(&id) {
                Some(config) if config.selection == selection => config.name = name,
                _ => self.put_step(id, name, selection, &mut touched),
            }
        }
        self.look_again(span, &touched);
    }

    /// Brings the tables up to date. Each changes once with a batch: nobody is to see it half changed.
    fn look_again(&mut self, span: Span, touched: &Touched) {
        let mut changed: BTreeSet<Arc<Selection>> = &touched.anew | &touched.steps;
        if changed.is_empty() && touched.digests.is_empty() {
            return;
        }
        let Self { secrets, groups, configs, log_limits, .. } = self;
        for (selection, group) in groups.iter_mut() {
            let lists_of = |step: &StepId| configs.get(step).into_iter().flat_map(|config| &config.lists);
            let has_new_list = changed.contains(selection) && {
                let lists = group.steps.iter().flat_map(lists_of).map(|list| list.list.clone()).collect();
                group.tables.keep_lists(&lists, span.to, log_limits.changes)
            };
            if touched.anew.contains(selection) {
                group.select_anew(selection, secrets, span);
            } else if has_new_list {
                let all = Arc::clone(&group.tables.all);
                let held = all.iter().map(|(digest, _)| digest).filter(|it| !touched.digests.contains(*it));
                group.look_again(selection, secrets, span, held.chain(&touched.digests));
            } else if group.look_again(selection, secrets, span, &touched.digests) {
                changed.insert(Arc::clone(selection));
            }
        }
        for (before, selection) in &touched.entering {
            let Some(group) = groups.get_mut(selection) else { continue };
            for (list, table) in group.tables.iter_mut() {
                if let Some(before) = before.get(list) {
                    Arc::make_mut(table).enter_from(before);
                }
            }
        }
        for selection in &changed {
            self.place(selection, &touched.moved);
        }
    }

    /// Puts the tables of a group under the names of those who are in it.
    fn place(&mut self, selection: &Arc<Selection>, moved: &BTreeSet<Arc<str>>) {
        let Some(group) = self.groups.get(selection) else { return };
        for config in group.steps.iter().filter_map(|step| self.configs.get(step)) {
            let lists = config.lists.iter().map(|list| (&list.table, Some(&list.list)));
            for (name, list) in lists.chain([(&config.table, None)]) {
                let Some(table) = group.tables.get(list).map(Arc::clone) else { continue };
                let before = self.tables.get(name).filter(|_| !moved.contains(name));
                let since = before.map_or(self.revision, |before| before.since);
                self.tables.insert(Arc::clone(name), Placed { table, since, retired: None });
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

    /// Brings the counts of all groups up to date with the change of one Secret.
    fn count(&mut self, before: Option<&Secret>, after: Option<&Secret>, touched: &mut Touched) {
        let Some(id) = after.or(before).map(|secret| &secret.id) else { return };
        for (selection, group) in &mut self.groups {
            // A selection that is new in this batch is counted from all Secrets.
            if !touched.anew.contains(selection) {
                group.count(selection, id, before, after);
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
        touched.puts.retain(|(other, _), _| *other != id);
        let surplus = self.steps_of(&id).filter(|(_, at)| *at >= config.steps.len()).cloned();
        for step in surplus.collect::<Vec<_>>() {
            self.delete_step(&step, touched);
        }
        for (at, step) in config.steps.into_iter().enumerate() {
            let selection = Selection::new(step.api_key_auth).map(Arc::new);
            let name = several.then_some(step.name);
            touched.puts.insert((id.clone(), at), (name, selection));
        }
    }

    /// A step selects something else than before.
    fn put_step(
        &mut self,
        id: StepId,
        name: Option<String>,
        selection: Option<Arc<Selection>>,
        touched: &mut Touched,
    ) {
        let before = self.leave(&id, touched);
        let table = Arc::from(table_name(&id.0.to_string(), id.1));
        let config = Config { table, name, selection: selection.clone(), lists: lists(&self.lists, &id) };
        match selection {
            Some(selection) => self.enter(&id, &config, selection, before, touched),
            None => config.tables().for_each(|table| drop(self.tables.remove(table))),
        }
        self.configs.insert(id, config);
    }

    /// Takes a step out of its group. The tables that it had there.
    fn leave(&mut self, id: &StepId, touched: &mut Touched) -> Option<Tables> {
        let selection = self.configs.get(id)?.selection.clone()?;
        let group = self.groups.get_mut(&selection)?;
        group.steps.remove(id);
        let tables = group.tables.clone();
        if group.steps.is_empty() {
            self.groups.remove(&selection);
            touched.anew.remove(&selection);
            touched.steps.remove(&selection);
        } else {
            touched.steps.insert(selection);
        }
        Some(tables)
    }

    fn enter(
        &mut self,
        id: &StepId,
        config: &Config,
        selection: Arc<Selection>,
        before: Option<Tables>,
        touched: &mut Touched,
    ) {
        if let Some(group) = self.groups.get_mut(&selection) {
            group.steps.insert(id.clone());
            touched.moved.extend(config.tables().cloned());
            touched.entering.extend(before.map(|before| (before, Arc::clone(&selection))));
            touched.steps.insert(selection);
            return;
        }
        let tables = before.unwrap_or_else(|| Tables::new(self.revision, self.log_limits.changes));
        let mut group = Group::new(tables);
        group.steps.insert(id.clone());
        touched.anew.insert(Arc::clone(&selection));
        self.groups.insert(selection, group);
    }

    fn delete_config(&mut self, id: &ObjectRef, touched: &mut Touched) {
        touched.puts.retain(|(other, _), _| other != id);
        for step in self.steps_of(id).cloned().collect::<Vec<_>>() {
            self.delete_step(&step, touched);
        }
    }

    fn delete_step(&mut self, id: &StepId, touched: &mut Touched) {
        self.leave(id, touched);
        if let Some(config) = self.configs.remove(id) {
            config.tables().for_each(|table| drop(self.tables.remove(table)));
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
            touched.steps.extend(config.selection.clone());
        }
    }

    /// When there is something to be done although nothing changes: so late a previous key ends that somebody
    /// else holds too. In milliseconds since 1970, to be told as [`Change::Time`].
    #[must_use]
    pub fn next_end(&self) -> Option<u64> {
        self.secrets.next_end()
    }

    fn group(&self, config: &Config) -> Option<&Group> {
        self.groups.get(config.selection.as_ref()?)
    }

    /// The steps of an `AuthConfig`, in order.
    fn steps_of(&self, id: &ObjectRef) -> impl Iterator<Item = &StepId> {
        self.configs.range((id.clone(), 0)..=(id.clone(), usize::MAX)).map(|(id, _)| id)
    }
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Config ===

impl Config {
    /// The names of its tables.
    fn tables(&self) -> impl Iterator<Item = &Arc<str>> {
        self.lists.iter().map(|list| &list.table).chain([&self.table])
    }

    /// The accepted Secrets that hold a key, who held it first in front: that one is the identity.
    fn holders<'a>(&self, secrets: &'a Secrets, digest: &Digest) -> impl Iterator<Item = &'a Arc<Secret>> {
        let selection = self.selection.as_ref();
        secrets.holders(digest).filter(move |secret| selection.is_some_and(|it| it.accepts(secret)))
    }
}

fn lists(all: &AllowLists, (id, at): &StepId) -> Vec<List> {
    let of_config = all.get(id).into_iter().flatten();
    let table = |auth_id: &String| Arc::from(table_name(auth_id, *at));
    of_config.map(|(auth_id, list)| List { table: table(auth_id), list: list.clone() }).collect()
}
