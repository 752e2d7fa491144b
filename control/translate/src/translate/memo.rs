//! Virtual hosts that are made already: one is made anew only when something changed that it was made
//! from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::Policy;
use keyward_resource::kinds::route_option::RouteOption;
use keyward_resource::kinds::route_table::RouteTable;
use keyward_resource::kinds::upstream_group::UpstreamGroup;
use keyward_resource::kinds::virtual_host_option::VirtualHostOption;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef};

use super::Known;
use super::hosts::{self, Compiled};
use super::kind::{AUTH_CONFIG, ROUTE_OPTION, ROUTE_TABLE, UPSTREAM, UPSTREAM_GROUP, VIRTUAL_HOST_OPTION};
use super::upstreams::Standing;
use crate::input::{Input, Settings};

/// What was made, and what it was made from.
#[derive(Default)]
pub(super) struct Memo {
    /// What every virtual host depends on.
    settings: Option<Settings>,
    seen: Seen,
    /// Of current versions.
    current: Made,
    /// Of last good versions of rejected ones.
    last_good: Made,
}

/// Virtual hosts by their VirtualService.
#[derive(Default)]
struct Made {
    hosts: BTreeMap<ObjectRef, (Arc<VirtualService>, Arc<Compiled>)>,
}

/// What virtual hosts look up, as it was the last time.
#[derive(Default)]
struct Seen {
    tables: BTreeMap<ObjectRef, Arc<RouteTable>>,
    rejected_tables: BTreeMap<ObjectRef, Option<Arc<RouteTable>>>,
    table_problems: BTreeMap<ObjectRef, String>,
    virtual_host_options: BTreeMap<ObjectRef, Arc<VirtualHostOption>>,
    route_options: BTreeMap<ObjectRef, Arc<RouteOption>>,
    upstreams: BTreeMap<ObjectRef, Standing>,
    upstream_groups: BTreeMap<ObjectRef, Arc<UpstreamGroup>>,
    policies: BTreeMap<ObjectRef, Policy>,
    /// Objects that are there and not used.
    refused: BTreeSet<ObjectKey>,
}

/// What is not as it was the last time.
#[derive(Default)]
struct Changes {
    objects: BTreeSet<ObjectKey>,
    /// Tables that came, went or changed, as they were and as they are: selectors may select them.
    tables: Vec<Arc<RouteTable>>,
}

/// Brings what was seen up to date and calls for each difference, with both sides.
fn follow<'n, V: Clone + 'n>(
    seen: &mut BTreeMap<ObjectRef, V>,
    now: impl Iterator<Item = (&'n ObjectRef, &'n V)>,
    same: impl Fn(&V, &V) -> bool,
    mut differs: impl FnMut(&ObjectRef, Option<&V>, Option<&V>),
) {
    let mut changed: Vec<(ObjectRef, Option<V>)> = Vec::new();
    let mut before = seen.iter().peekable();
    for (reference, value) in now {
        while let Some((gone, was)) = before.next_if(|(seen, _)| *seen < reference) {
            differs(gone, Some(was), None);
            changed.push((gone.clone(), None));
        }
        let was = before.next_if(|(seen, _)| *seen == reference).map(|(_, was)| was);
        if !was.is_some_and(|was| same(was, value)) {
            differs(reference, was, Some(value));
            changed.push((reference.clone(), Some(value.clone())));
        }
    }
    for (gone, was) in before {
        differs(gone, Some(was), None);
        changed.push((gone.clone(), None));
    }
    for (reference, value) in changed {
        match value {
            Some(value) => drop(seen.insert(reference, value)),
            None => drop(seen.remove(&reference)),
        }
    }
}

// === impl Memo ===

impl Memo {
    /// Forgets every virtual host of which something has changed.
    pub(super) fn refresh(&mut self, input: &Input, known: &Known<'_>) {
        if self.settings.as_ref() != Some(known.settings) {
            self.settings = Some(known.settings.clone());
            self.current = Made::default();
            self.last_good = Made::default();
        }
        let changes = self.seen.follow(input, known);
        for made in [&mut self.current, &mut self.last_good] {
            made.hosts.retain(|_, (_, compiled)| !changes.touch(compiled));
        }
        self.current.hosts.retain(|reference, _| input.virtual_services.contains_key(reference));
    }

    /// The virtual host of a current version.
    pub(super) fn current(&mut self, version: &Arc<VirtualService>, known: &Known<'_>) -> Arc<Compiled> {
        self.current.get(version, known)
    }

    /// The virtual host of a version that is served: the current one, or the last good one.
    pub(super) fn served(&mut self, version: &Arc<VirtualService>, known: &Known<'_>) -> Arc<Compiled> {
        match self.current.hosts.get(&version.meta.object_ref()) {
            Some((current, compiled)) if Arc::ptr_eq(current, version) => Arc::clone(compiled),
            _ => self.last_good.get(version, known),
        }
    }

    /// Forgets the virtual hosts of versions that are served no more.
    pub(super) fn forget_all_but(&mut self, last_good: &BTreeSet<ObjectRef>) {
        self.last_good.hosts.retain(|reference, _| last_good.contains(reference));
    }
}

// === impl Made ===

impl Made {
    fn get(&mut self, version: &Arc<VirtualService>, known: &Known<'_>) -> Arc<Compiled> {
        let reference = version.meta.object_ref();
        if let Some((made_from, compiled)) = self.hosts.get(&reference)
            && Arc::ptr_eq(made_from, version)
        {
            return Arc::clone(compiled);
        }
        let compiled = Arc::new(hosts::compile(version, known));
        self.hosts.insert(reference, (Arc::clone(version), Arc::clone(&compiled)));
        compiled
    }
}

// === impl Seen ===

impl Seen {
    fn follow(&mut self, input: &Input, known: &Known<'_>) -> Changes {
        let mut changes = Changes::default();
        let Changes { objects, tables } = &mut changes;
        let mut note = |kind: &'static str, reference: &ObjectRef| {
            objects.insert(ObjectKey::new(kind, &reference.namespace, &reference.name));
        };
        follow(&mut self.tables, known.tables.used().iter(), Arc::ptr_eq, |reference, was, is| {
            note(ROUTE_TABLE, reference);
            tables.extend(was.into_iter().chain(is).cloned());
        });
        let same = |a: &Option<Arc<RouteTable>>, b: &Option<Arc<RouteTable>>| {
            a.as_ref().map(Arc::as_ptr) == b.as_ref().map(Arc::as_ptr)
        };
        follow(&mut self.rejected_tables, known.tables.rejected().iter(), same, |reference, was, is| {
            note(ROUTE_TABLE, reference);
            tables.extend(was.into_iter().chain(is).flatten().cloned());
        });
        let problems = known.tables.problems().iter();
        follow(&mut self.table_problems, problems, PartialEq::eq, |reference, _, _| {
            note(ROUTE_TABLE, reference);
        });
        let options = known.virtual_host_options.iter();
        follow(&mut self.virtual_host_options, options, Arc::ptr_eq, |reference, _, _| {
            note(VIRTUAL_HOST_OPTION, reference);
        });
        follow(&mut self.route_options, known.route_options.iter(), Arc::ptr_eq, |reference, _, _| {
            note(ROUTE_OPTION, reference);
        });
        follow(&mut self.upstream_groups, input.upstream_groups.iter(), Arc::ptr_eq, |reference, _, _| {
            note(UPSTREAM_GROUP, reference);
        });
        // What an Upstream says makes no difference here, only whether it is there and used.
        let upstreams = known.upstreams.standing().iter();
        follow(&mut self.upstreams, upstreams, PartialEq::eq, |reference, _, _| note(UPSTREAM, reference));
        follow(&mut self.policies, known.auth_configs.policies().iter(), PartialEq::eq, |reference, _, _| {
            note(AUTH_CONFIG, reference);
        });
        let refused = known.refused(input);
        objects.extend(self.refused.symmetric_difference(&refused).cloned());
        self.refused = refused;
        changes
    }
}

// === impl Changes ===

impl Changes {
    fn touch(&self, compiled: &Compiled) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        let selects = |table: &Arc<RouteTable>| {
            let meta = &table.meta;
            compiled.reads.selectors.iter().any(|selector| selector.selects(&meta.namespace, &meta.labels))
        };
        compiled.reads.objects.iter().any(|object| self.objects.contains(object))
            || self.tables.iter().any(selects)
    }
}
