//! Which version of which RouteTable is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::route::{Action, Delegate, RouteTableSelector};
use keyward_resource::kinds::route_table::RouteTable;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::ROUTE_TABLE;
use super::refused::Refused;
use crate::input::{Input, LastGood};

/// The tables that routes may delegate to. No chain of delegations among them comes back to where it
/// began.
#[derive(Default)]
pub(super) struct Tables {
    used: BTreeMap<ObjectRef, Arc<RouteTable>>,
    /// With the version that is rejected, if it can be read.
    rejected: BTreeMap<ObjectRef, Option<Arc<RouteTable>>>,
    /// Those of which the last good version is used.
    outdated: BTreeSet<ObjectRef>,
    /// What is wrong with current versions, also where the last good one is used instead.
    problems: BTreeMap<ObjectRef, String>,
}

/// What there is under a reference.
pub(super) enum Found {
    /// The version that is used.
    Served(Arc<RouteTable>),
    /// It exists, but no version of it can be used.
    Rejected,
    /// Nothing.
    Missing,
}

/// Takes tables in the order in which they were changed, each unless it would close a circle: who did
/// that last is at fault, and its last good version stays.
pub(super) fn choose(
    input: &Input,
    refused: &Refused,
    last_good: &LastGood,
    remembered: &mut LastGood,
    reports: &mut Reports,
) -> Tables {
    let before = &last_good.route_tables;
    let mut tables = Tables::default();
    let mut delegating: Vec<&Arc<RouteTable>> = Vec::new();
    for (reference, table) in &input.route_tables {
        reports.accept(key(reference));
        table.warnings.iter().for_each(|warning| reports.warn(key(reference), warning.clone()));
        if withheld(input, reference) {
            tables.rejected.insert(reference.clone(), Some(Arc::clone(table)));
        } else if let Some(reasons) = refused.current(&key(reference)) {
            reasons.iter().for_each(|reason| reports.reject(key(reference), reason.clone()));
            tables.problems.insert(reference.clone(), reasons.join("; "));
            tables.rejected.insert(reference.clone(), Some(Arc::clone(table)));
        } else if delegates(table).next().is_some() {
            delegating.push(table);
        } else {
            tables.used.insert(reference.clone(), Arc::clone(table));
        }
    }
    delegating.sort_by_key(|table| (table.meta.resource_version, table.meta.object_ref()));
    let mut circle = Circle::default();
    for table in delegating {
        let reference = table.meta.object_ref();
        match circle.add(table) {
            None => {
                tables.used.insert(reference, Arc::clone(table));
            }
            Some(path) => {
                let path: Vec<String> =
                    path.iter().map(|table| format!("{}.{}", table.namespace, table.name)).collect();
                let path = path.join(" -> ");
                let problem = format!("invalid route: delegation cycle detected: {path}");
                reports.reject(key(&reference), problem.clone());
                tables.problems.insert(reference.clone(), problem);
                tables.rejected.insert(reference, Some(Arc::clone(table)));
            }
        }
    }
    let unreadable = input.withheld.iter().filter(|object| object.kind == ROUTE_TABLE);
    for object in unreadable {
        tables.rejected.entry(object.object_ref()).or_default();
    }
    for reference in tables.rejected.keys().cloned().collect::<Vec<_>>() {
        tables.problems.entry(reference.clone()).or_insert_with(|| "it cannot be used as it is".to_owned());
        let Some(good) = before.get(&reference) else { continue };
        let goes = !refused.is_last_good(&key(&reference)) && !is_refused(refused, input, good);
        if goes && circle.add(good).is_none() {
            let generation = good.meta.generation;
            let reason = format!("the last good version, generation {generation}, is used instead");
            reports.reject(key(&reference), reason.clone());
            if let Some(problem) = tables.problems.get_mut(&reference) {
                problem.push_str(&format!("; {reason}"));
            }
            tables.rejected.remove(&reference);
            tables.outdated.insert(reference.clone());
            tables.used.insert(reference, Arc::clone(good));
        } else {
            remembered.route_tables.insert(reference, Arc::clone(good));
        }
    }
    remembered.route_tables.extend(tables.used.clone());
    tables
}

fn key(reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(ROUTE_TABLE, &reference.namespace, &reference.name)
}

fn withheld(input: &Input, reference: &ObjectRef) -> bool {
    !input.withheld.is_empty() && input.withheld.contains(&key(reference))
}

/// Whether it is the version that is not to be used.
fn is_refused(refused: &Refused, input: &Input, good: &Arc<RouteTable>) -> bool {
    let reference = good.meta.object_ref();
    let current = input.route_tables.get(&reference);
    refused.current(&key(&reference)).is_some() && current.is_some_and(|current| Arc::ptr_eq(current, good))
}

fn delegates(table: &RouteTable) -> impl Iterator<Item = &Delegate> {
    table.routes.iter().filter_map(|route| match &route.action {
        Action::Delegate(delegate) => Some(delegate),
        Action::Forward(_) | Action::Redirect(_) | Action::DirectResponse(_) => None,
    })
}

/// Tables that delegate further, without a circle.
#[derive(Default)]
struct Circle<'a> {
    tables: BTreeMap<ObjectRef, &'a RouteTable>,
}

// === impl Circle ===

impl<'a> Circle<'a> {
    /// Adds a table, or tells the way from it back to it.
    fn add(&mut self, table: &'a RouteTable) -> Option<Vec<ObjectRef>> {
        let reference = table.meta.object_ref();
        let before = self.tables.insert(reference.clone(), table);
        let mut path = vec![reference.clone()];
        let mut seen = BTreeSet::new();
        if self.leads_to(table, &reference, &mut path, &mut seen) {
            match before {
                Some(before) => self.tables.insert(reference, before),
                None => self.tables.remove(&reference),
            };
            return Some(path);
        }
        None
    }

    fn leads_to(
        &self,
        from: &RouteTable,
        to: &ObjectRef,
        path: &mut Vec<ObjectRef>,
        seen: &mut BTreeSet<ObjectRef>,
    ) -> bool {
        // Not by recursion: a chain may be as long as there are tables.
        let mut open: Vec<Vec<&'a RouteTable>> = vec![self.next(from)];
        while let Some(nexts) = open.last_mut() {
            let Some(next) = nexts.pop() else {
                open.pop();
                if open.is_empty() {
                    return false;
                }
                path.pop();
                continue;
            };
            let reference = next.meta.object_ref();
            if reference == *to {
                path.push(reference);
                return true;
            }
            if seen.insert(reference.clone()) {
                path.push(reference);
                open.push(self.next(next));
            }
        }
        false
    }

    /// The delegating tables to which this one delegates.
    fn next(&self, table: &RouteTable) -> Vec<&'a RouteTable> {
        let mut nexts = Vec::new();
        for delegate in delegates(table) {
            match delegate {
                Delegate::Ref(reference) => nexts.extend(self.tables.get(reference)),
                Delegate::Selector(selector) => nexts.extend(
                    self.tables
                        .values()
                        .filter(|table| selector.selects(&table.meta.namespace, &table.meta.labels)),
                ),
            }
        }
        nexts
    }
}

// === impl Tables ===

impl Tables {
    /// What there is under a reference.
    pub(super) fn find(&self, reference: &ObjectRef) -> Found {
        match self.used.get(reference) {
            Some(table) => Found::Served(Arc::clone(table)),
            None if self.rejected.contains_key(reference) => Found::Rejected,
            None => Found::Missing,
        }
    }

    /// All that are selected, sorted by reference, those that are used first.
    pub(super) fn select(&self, selector: &RouteTableSelector) -> Vec<(ObjectRef, Found)> {
        let selects = |table: &RouteTable| selector.selects(&table.meta.namespace, &table.meta.labels);
        let used = self.used.iter().filter(|(_, table)| selects(table));
        let used = used.map(|(reference, table)| (reference.clone(), Found::Served(Arc::clone(table))));
        let rejected = self.rejected.iter().filter(|(_, table)| table.as_deref().is_some_and(selects));
        used.chain(rejected.map(|(reference, _)| (reference.clone(), Found::Rejected))).collect()
    }

    /// Those that exist, and no version of which is used, with the current one if it can be read.
    pub(super) fn rejected(&self) -> &BTreeMap<ObjectRef, Option<Arc<RouteTable>>> {
        &self.rejected
    }

    /// Whether what is used of it is not what it says.
    pub(super) fn is_outdated(&self, reference: &ObjectRef) -> bool {
        self.outdated.contains(reference)
    }

    /// What is wrong with current versions.
    pub(super) fn problems(&self) -> &BTreeMap<ObjectRef, String> {
        &self.problems
    }

    /// All that are used.
    pub(super) fn used(&self) -> &BTreeMap<ObjectRef, Arc<RouteTable>> {
        &self.used
    }
}
