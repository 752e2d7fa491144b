//! Route tables: which of them are used.

use std::collections::BTreeSet;

use keyward_resource::kinds::route::{Action, Delegate, Route};
use keyward_resource::{ObjectRef, Resource};

use crate::Looked;
use crate::code;
use crate::finding::Finding;
use crate::section::Section;
use crate::world::{Item, World};

const ROUTE_TABLE: &str = "RouteTable";

pub(crate) fn findings(looked: Looked<'_>, section: Section) -> Vec<Finding> {
    let Looked { world, choice, .. } = looked;
    if section != Section::RouteTables || world.unlisted("VirtualService").is_some() {
        return Vec::new();
    }
    let used = used(world);
    world
        .chosen(ROUTE_TABLE, choice)
        .filter(|(id, _)| !used.contains(id) && world.watches(&id.namespace))
        .map(|(id, _)| {
            let message =
                format!("Found route table that no virtual service uses: {} {}", id.namespace, id.name);
            Finding::new(&code::UNUSED_TABLE, message).of(ROUTE_TABLE, id)
        })
        .collect()
}

/// The tables that virtual services lead to, at once or through others.
fn used(world: &World) -> BTreeSet<&ObjectRef> {
    let services = world.of_kind("VirtualService").filter_map(|(_, item)| match item.says()? {
        Resource::VirtualService(service) => Some(service.routes.as_slice()),
        _ => None,
    });
    let mut used = BTreeSet::new();
    let mut todo: Vec<&[Route]> = services.collect();
    while let Some(routes) = todo.pop() {
        for route in routes {
            let Action::Delegate(delegate) = &route.action else { continue };
            for (id, item) in delegated(world, delegate) {
                if used.insert(id)
                    && let Some(Resource::RouteTable(table)) = item.says()
                {
                    todo.push(&table.routes);
                }
            }
        }
    }
    used
}

/// The tables that a route delegates to.
pub(crate) fn delegated<'a>(world: &'a World, delegate: &Delegate) -> Vec<(&'a ObjectRef, &'a Item)> {
    match delegate {
        Delegate::Ref(wanted) => world.find(ROUTE_TABLE, wanted).into_iter().collect(),
        Delegate::Selector(selector) => {
            let selected = |(id, item): &(&ObjectRef, &Item)| {
                world.watches(&id.namespace)
                    && item.says().is_some_and(|table| selector.selects(&id.namespace, &table.meta().labels))
            };
            world.of_kind(ROUTE_TABLE).filter(selected).collect()
        }
    }
}
