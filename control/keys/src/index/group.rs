//! The steps of `AuthConfig`s that select the same: one table for all of them, and one more for each list of
//! who is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::wire::Digest;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::options::AllowList;

use super::StepId;
use crate::secrets::{Secret, Secrets};
use crate::selection::Selection;
use crate::table::{Record, Span, Table};

/// What is known of a selection.
#[derive(Debug)]
pub(super) struct Group {
    /// Whose selection it is.
    pub(super) steps: BTreeSet<StepId>,
    pub(super) tables: Tables,
    /// How many Secrets are selected, usable or not.
    pub(super) selected: usize,
    /// How many of them lack metadata that are required.
    pub(super) incomplete: usize,
    /// Those whose keys cannot be served because of what was stored with them.
    pub(super) unreadable: BTreeSet<ObjectRef>,
    /// Secrets that are named and do not exist.
    pub(super) missing: BTreeSet<ObjectRef>,
    /// Keys that more than one of the selected Secrets hold.
    pub(super) shared: BTreeSet<Digest>,
}

/// The table of a selection, and those of its keys whose owners are on lists.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) all: Arc<Table>,
    pub(super) listed: BTreeMap<AllowList, Arc<Table>>,
}

// === impl Group ===

impl Group {
    /// A group that nobody is in yet, with tables that are to be looked through.
    pub(super) fn new(tables: Tables) -> Self {
        Self {
            steps: BTreeSet::new(),
            tables,
            selected: 0,
            incomplete: 0,
            unreadable: BTreeSet::new(),
            missing: BTreeSet::new(),
            shared: BTreeSet::new(),
        }
    }

    /// Brings the counts up to date with the change of one Secret.
    pub(super) fn count(
        &mut self,
        selection: &Selection,
        id: &ObjectRef,
        before: Option<&Secret>,
        after: Option<&Secret>,
    ) {
        let counts = |secret: Option<&Secret>| usize::from(secret.is_some_and(|it| selection.selects(it)));
        let lacks = |secret: Option<&Secret>| {
            usize::from(secret.is_some_and(|it| selection.selects(it) && !selection.accepts(it)))
        };
        self.selected = self.selected + counts(after) - counts(before);
        self.incomplete = self.incomplete + lacks(after) - lacks(before);
        if after.is_some_and(|secret| secret.is_unreadable() && selection.selects(secret)) {
            self.unreadable.insert(id.clone());
        } else {
            self.unreadable.remove(id);
        }
        if selection.refs.contains(id) {
            if after.is_some() {
                self.missing.remove(id);
            } else {
                self.missing.insert(id.clone());
            }
        }
    }

    /// Looks at every Secret. What the tables held before may be of another selection.
    pub(super) fn select_anew(&mut self, selection: &Selection, secrets: &Secrets, span: Span) {
        self.selected = 0;
        self.incomplete = 0;
        self.unreadable.clear();
        self.shared.clear();
        self.missing = selection.refs.iter().filter(|id| secrets.get(id).is_none()).cloned().collect();
        // Keys that are selected no more are gone with this too.
        let mut digests: Vec<Digest> = self.tables.all.iter().map(|(digest, _)| *digest).collect();
        for secret in secrets.iter().filter(|secret| selection.selects(secret)) {
            self.selected += 1;
            self.incomplete += usize::from(!selection.accepts(secret));
            if secret.is_unreadable() {
                self.unreadable.insert(secret.id.clone());
            }
            digests.extend(secret.keys());
        }
        digests.sort_unstable();
        digests.dedup();
        self.look_again(selection, secrets, span, &digests);
    }

    /// Finds out anew whom these keys belong to. Whether anything has changed.
    pub(super) fn look_again<'a>(
        &mut self,
        selection: &Selection,
        secrets: &Secrets,
        span: Span,
        digests: impl IntoIterator<Item = &'a Digest>,
    ) -> bool {
        let mut changes = Vec::new();
        let mut listed: Vec<_> =
            self.tables.listed.iter_mut().map(|(list, table)| (list, table, Vec::new())).collect();
        for digest in digests {
            let mut holders = secrets.holders(digest).filter(|secret| selection.accepts(secret));
            let owner = holders.next();
            if holders.next().is_some_and(|other| !secrets.is_over(other, digest)) {
                self.shared.insert(*digest);
            } else {
                self.shared.remove(digest);
            }
            let record = owner.and_then(|secret| selection.record(secret, digest));
            let owner = owner.filter(|_| record.is_some());
            for (list, table, changes) in &mut listed {
                let record = owner.and_then(|owner| listed_record(list, owner, digest));
                if table.get(digest) != record.as_deref() {
                    changes.push((*digest, record));
                }
            }
            if self.tables.all.get(digest) != record.as_deref() {
                changes.push((*digest, record));
            }
        }
        let listed = listed.into_iter().map(|(_, table, changes)| (table, changes));
        let mut changed = false;
        for (table, changes) in listed.chain([(&mut self.tables.all, changes)]) {
            if !changes.is_empty() {
                changed |= Arc::make_mut(table).update(span, changes);
            }
        }
        changed
    }
}

/// What the table of a list says of a key: whose it is, if that one is allowed.
fn listed_record(list: &AllowList, owner: &Secret, digest: &Digest) -> Option<Record> {
    list.allows(&owner.id.name, &owner.labels).then(|| owner.named(digest))
}

// === impl Tables ===

impl Tables {
    pub(super) fn new(revision: u64, log_limit: usize) -> Self {
        Self { all: Arc::new(Table::new(revision, log_limit)), listed: BTreeMap::new() }
    }

    /// All of them by the lists that they are of; the table without is of none.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Option<&AllowList>, &mut Arc<Table>)> {
        let listed = self.listed.iter_mut().map(|(list, table)| (Some(list), table));
        listed.chain([(None, &mut self.all)])
    }

    pub(super) fn get(&self, list: Option<&AllowList>) -> Option<&Arc<Table>> {
        match list {
            Some(list) => self.listed.get(list),
            None => Some(&self.all),
        }
    }

    pub(super) fn get_mut(&mut self, list: Option<&AllowList>) -> Option<&mut Arc<Table>> {
        match list {
            Some(list) => self.listed.get_mut(list),
            None => Some(&mut self.all),
        }
    }

    /// Has a table for each of these lists and for no other. Whether there is any new one.
    pub(super) fn keep_lists(
        &mut self,
        lists: &BTreeSet<AllowList>,
        revision: u64,
        log_limit: usize,
    ) -> bool {
        self.listed.retain(|list, _| lists.contains(list));
        let before = self.listed.len();
        for list in lists {
            let new = || Arc::new(Table::new(revision, log_limit));
            self.listed.entry(list.clone()).or_insert_with(new);
        }
        self.listed.len() > before
    }
}
