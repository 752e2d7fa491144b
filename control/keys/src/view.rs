//! A view: the tables as they are at one moment, and who wants which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;

use crate::placed::Placed;
use crate::table::Table;

/// The tables that each node role needs.
pub type Wanted = BTreeMap<String, BTreeSet<String>>;

/// The tables as they are at one moment, and who wants which. Never changes; cheap to clone.
///
/// A role that is not named in it is unknown, which is not the same as one that wants nothing: a
/// worker of an unknown role is left alone, so that a control server that has just started, and
/// has not published anything yet, takes nothing away from anybody.
#[derive(Debug, Clone, Default)]
pub struct KeyView {
    revision: u64,
    tables: OrdMap<Arc<str>, Placed>,
    wanted: Arc<Wanted>,
}

// === impl KeyView ===

impl KeyView {
    pub(crate) fn new(revision: u64, tables: OrdMap<Arc<str>, Placed>, wanted: Arc<Wanted>) -> Self {
        Self { revision, tables, wanted }
    }

    /// Takes over from an earlier view the tables that are still wanted and have gone since: the
    /// requests of a route that is about to go must find keys, and not wait for them.
    ///
    /// Later changes do not reach such a table, a revocation included. So whoever holds it has what was there
    /// before, and no more, until it is withdrawn.
    #[must_use]
    pub fn with_retired(mut self, before: &Self) -> Self {
        for name in self.wanted.values().flatten() {
            if let Some((name, table)) = before.tables.get_key_value(name.as_str())
                && !self.tables.contains_key(name)
            {
                self.tables.insert(Arc::clone(name), table.retired_at(before.revision));
            }
        }
        self
    }

    /// The revision of the last change that is in it.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// A table by its name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).map(|placed| placed.table.as_ref())
    }

    /// Whether two names stand for the same table.
    #[must_use]
    pub fn are_one(&self, one: &str, other: &str) -> bool {
        let id = |name: &str| self.tables.get(name).map(Placed::id);
        id(one).is_some_and(|table| id(other) == Some(table))
    }

    /// All tables by name, wanted or not.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Table)> {
        self.tables.iter().map(|(name, table)| (name.as_ref(), table.table.as_ref()))
    }

    /// The names of the tables that a role wants; `None` when the role is unknown.
    #[must_use]
    pub fn wanted(&self, role: &str) -> Option<&BTreeSet<String>> {
        self.wanted.get(role)
    }

    /// The tables that a role wants, as far as they exist.
    pub(crate) fn wanted_tables(&self, role: &str) -> impl Iterator<Item = (&Arc<str>, &Placed)> {
        let names = self.wanted(role).into_iter().flatten();
        names.filter_map(|name| self.tables.get_key_value(name.as_str()))
    }
}
