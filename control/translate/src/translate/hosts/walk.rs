//! From route to route, and into the tables that they delegate to.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_resource::kinds::options::RouteOptions;
use keyward_resource::kinds::route::{Action, Delegate, Matcher, Route as RouteSpec, RouteTableSelector};
use keyward_resource::kinds::route_table::RouteTable;
use keyward_resource::{ObjectKey, ObjectRef};

use super::super::kind::ROUTE_TABLE;
use super::super::tables::Found;
use super::matchers::{self, Inherited};
use super::{Compiler, MAX_ROUTES, closed_route};
use crate::proxy::{Route, names};

/// A longer chain of delegations is nobody's intention.
const MAX_DEPTH: usize = 32;

/// Whose routes are walked, and how one came there.
pub(super) struct Place<'p> {
    /// The object whose routes these are.
    pub(super) owner: &'p ObjectKey,
    /// The routes that were followed, from the VirtualService on.
    pub(super) steps: Vec<names::Step>,
    /// What the delegating route hands on; none at the top.
    pub(super) parent: Option<Parent>,
}

/// What a delegating route hands on.
pub(super) struct Parent {
    /// Conditions.
    pub(super) inherited: Inherited,
    /// Options, with those that it inherited itself, and with the authentication of the virtual host.
    pub(super) options: RouteOptions,
}

// === impl Place ===

impl<'p> Place<'p> {
    pub(super) fn top(owner: &'p ObjectKey) -> Self {
        Self { owner, steps: Vec::new(), parent: None }
    }

    /// The routes that were followed, and one more.
    pub(super) fn steps(&self, index: usize, spec: &RouteSpec) -> Vec<names::Step> {
        let table = self.parent.is_some().then(|| self.owner.object_ref());
        let mut steps = self.steps.clone();
        steps.push(names::Step { table, index, name: spec.name.clone(), label: spec.label(index) });
        steps
    }
}

// === impl Compiler ===

impl Compiler<'_> {
    /// The routes that come of these, in order.
    pub(super) fn walk(&mut self, place: &Place<'_>, specs: &[RouteSpec]) -> Vec<Route> {
        let mut routes = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            self.walked += 1;
            if self.walked > MAX_ROUTES {
                break;
            }
            let label = spec.label(index);
            let inherited = place.parent.as_ref().map(|parent| &parent.inherited);
            let matchers = match matchers::effective(spec, inherited) {
                Ok(matchers) => matchers,
                Err(violation) => {
                    self.warn(place.owner, format!("{label} is left out: {violation}"));
                    continue;
                }
            };
            let steps = place.steps(index, spec);
            self.note_asks(place, spec, &steps, &label);
            let options = self.settle(place, spec, &steps, &label);
            match &spec.action {
                Action::Delegate(delegate) => {
                    let parent = Parent { inherited: Inherited::from(spec, matchers, inherited), options };
                    routes.extend(self.delegate(place, delegate, parent, steps, &label));
                }
                _ => routes.extend(self.leaf(place, spec, &matchers, options, &steps, &label)),
            }
        }
        routes
    }

    fn delegate(
        &mut self,
        place: &Place<'_>,
        delegate: &Delegate,
        parent: Parent,
        steps: Vec<names::Step>,
        label: &str,
    ) -> Vec<Route> {
        let mut inner = Inner { parent: Some(parent), steps };
        if inner.steps.len() > MAX_DEPTH {
            let why = format!("delegation goes through more than {MAX_DEPTH} route tables");
            self.warn(place.owner, format!("{label}: {why}: every request is denied with 403"));
            return self.closed(&inner, why);
        }
        match delegate {
            Delegate::Ref(reference) => {
                self.look_up(reference);
                match self.known.tables.find(reference) {
                    Found::Served(table) => self.table(&table, &mut inner),
                    Found::Missing => {
                        let name = format!("{}.{}", reference.namespace, reference.name);
                        self.warn(place.owner, format!("{label}: route table {name} missing"));
                        Vec::new()
                    }
                    Found::Rejected => {
                        let why =
                            format!("route table {}.{} is rejected", reference.namespace, reference.name);
                        self.warn(place.owner, format!("{label}: {why}: every request is denied with 403"));
                        self.closed(&inner, why)
                    }
                }
            }
            Delegate::Selector(selector) => self.selected(place, selector, &mut inner, label),
        }
    }

    /// The routes of all selected tables: the lighter first. Where several have one weight, their routes
    /// are merged and sorted.
    fn selected(
        &mut self,
        place: &Place<'_>,
        selector: &RouteTableSelector,
        inner: &mut Inner,
        label: &str,
    ) -> Vec<Route> {
        self.reads.selectors.push(selector.clone());
        let mut by_weight: BTreeMap<i32, Vec<Arc<RouteTable>>> = BTreeMap::new();
        let mut rejected: Vec<ObjectRef> = Vec::new();
        for (reference, found) in self.known.tables.select(selector) {
            self.look_up(&reference);
            match found {
                Found::Served(table) => by_weight.entry(table.weight).or_default().push(table),
                Found::Rejected => rejected.push(reference),
                Found::Missing => {}
            }
        }
        if by_weight.is_empty() && rejected.is_empty() {
            self.warn(place.owner, format!("{label}: its selector selects no route table"));
        }
        let mut routes = Vec::new();
        for (weight, tables) in by_weight {
            let mut of_weight: Vec<Route> = Vec::new();
            for table in &tables {
                of_weight.extend(self.table(table, inner));
            }
            if tables.len() > 1 {
                of_weight.sort_by(|a, b| matchers::more_specific(&a.matcher, &b.matcher));
                let names: Vec<String> = tables
                    .iter()
                    .map(|table| format!("{}.{}", table.meta.namespace, table.meta.name))
                    .collect();
                let names = names.join(", ");
                self.warn(
                    place.owner,
                    format!(
                        "{label}: the route tables {names} have the same weight ({weight}), so their routes are \
                         sorted: exact paths, then longer prefixes, then regular expressions"
                    ),
                );
            }
            routes.extend(of_weight);
        }
        // What it would have served is not known: it must not fall to a route behind.
        if let Some(reference) = rejected.first() {
            let why = format!("route table {}.{} is rejected", reference.namespace, reference.name);
            let what = "every request that no other selected table serves is denied with 403";
            self.warn(place.owner, format!("{label}: {why}: {what}"));
            routes.extend(self.closed(inner, why));
        }
        routes
    }

    /// Looks at a table, and tells what is wrong with it.
    fn look_up(&mut self, reference: &ObjectRef) {
        self.reads(ROUTE_TABLE, reference);
        let known = self.known;
        if let Some(problem) = known.tables.problems().get(reference) {
            let table = format!("{}.{}", reference.namespace, reference.name);
            self.warn_top(format!("on sub route table {table}: {problem}"));
        }
    }

    fn table(&mut self, table: &RouteTable, inner: &mut Inner) -> Vec<Route> {
        let owner = ObjectKey::new(ROUTE_TABLE, &table.meta.namespace, &table.meta.name);
        self.used(&owner);
        let place = Place { owner: &owner, steps: inner.steps.clone(), parent: inner.parent.take() };
        let routes = self.walk(&place, &table.routes);
        inner.parent = place.parent;
        routes
    }

    /// In place of a table that cannot be used.
    fn closed(&self, inner: &Inner, reason: String) -> Vec<Route> {
        let conditions = inner.parent.iter().map(|parent| &parent.inherited.matcher);
        let close = |matcher: &Matcher| {
            let matcher = matchers::complete(matcher);
            closed_route(&self.reference(), &self.host_name, &inner.steps, matcher, reason.clone())
        };
        conditions.map(close).collect()
    }
}

/// What tables of one delegation share.
struct Inner {
    parent: Option<Parent>,
    steps: Vec<names::Step>,
}
