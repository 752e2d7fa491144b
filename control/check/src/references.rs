//! What objects lead to, and whether it is there.

use std::collections::BTreeSet;

use keyward_resource::kinds::gateway::{SelectBy, Selection};
use keyward_resource::kinds::options::{ExtAuth, RouteOptions};
use keyward_resource::kinds::route::{Action, Delegate, Route, Target};
use keyward_resource::{ObjectRef, Resource};

use crate::Looked;
use crate::code::{self, Code};
use crate::finding::{Finding, Named};
use crate::section::Section;
use crate::tables::delegated;
use crate::world::{Item, World};

/// A kind that something can lead to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum To {
    Upstream,
    UpstreamGroup,
    AuthConfig,
    VirtualHostOption,
    RouteOption,
    RouteTable,
    VirtualService,
}

type Edges<'a> = BTreeSet<(To, &'a ObjectRef)>;

pub(crate) fn findings(looked: Looked<'_>, section: Section) -> Vec<Finding> {
    let Looked { world, choice, .. } = looked;
    // Secrets lead nowhere, and the other sections have no objects that do.
    let Some((kind, word)) = section.kind() else { return Vec::new() };
    let mut findings = Vec::new();
    for (id, item) in world.chosen(kind, choice).filter(|(id, _)| world.watches(&id.namespace)) {
        let Some(resource) = item.says() else { continue };
        let from = From { kind, word, id, item };
        for (to, target) in edges(resource) {
            findings.extend(from.leads_to(world, to, target));
        }
        findings.extend(from.selects_nothing(world, resource));
    }
    findings
}

/// Says of what was found in a status that it is the fault of another object, where it is.
pub(crate) fn explain(looked: Looked<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.code == &code::WARNINGS) {
        let Some(Named { kind, namespace, name }) = &finding.object else { continue };
        let Some(item) = looked.world.get(kind, &ObjectRef::new(namespace, name)) else { continue };
        let faulty = item.says().map(edges).into_iter().flatten();
        if let Some((to, id)) = faulty.into_iter().find(|(_, id)| item.status.says_rejected(id)) {
            finding.code = &code::REJECTED_REFERENCE;
            finding.reference = Some(Named::new(to.kind(), id));
        }
    }
}

/// What an object leads to.
fn edges(resource: &Resource) -> Edges<'_> {
    let mut edges = Edges::new();
    match resource {
        Resource::VirtualService(service) => {
            secured(service.options.extauth.as_ref(), &mut edges);
            edges.extend(service.options_refs.iter().map(|id| (To::VirtualHostOption, id)));
            routed(&service.routes, &mut edges);
        }
        Resource::RouteTable(table) => routed(&table.routes, &mut edges),
        Resource::UpstreamGroup(group) => {
            edges.extend(group.destinations.iter().map(|to| (To::Upstream, &to.upstream)));
        }
        Resource::VirtualHostOption(option) => secured(option.options.extauth.as_ref(), &mut edges),
        Resource::RouteOption(option) => treated(&option.options, &mut edges),
        Resource::Gateway(gateway) => {
            edges.extend(gateway.selection.refs().iter().map(|id| (To::VirtualService, id)));
        }
        _ => {}
    }
    edges
}

fn secured<'a>(extauth: Option<&'a ExtAuth>, edges: &mut Edges<'a>) {
    if let Some(ExtAuth::ConfigRef(id)) = extauth {
        edges.insert((To::AuthConfig, id));
    }
}

fn treated<'a>(options: &'a RouteOptions, edges: &mut Edges<'a>) {
    secured(options.extauth.as_ref(), edges);
    edges.extend(options.shadowing.iter().map(|shadow| (To::Upstream, &shadow.upstream)));
}

fn routed<'a>(routes: &'a [Route], edges: &mut Edges<'a>) {
    for route in routes {
        treated(&route.options, edges);
        edges.extend(route.options_refs.iter().map(|id| (To::RouteOption, id)));
        match &route.action {
            Action::Forward(Target::Single(id)) => drop(edges.insert((To::Upstream, id))),
            Action::Forward(Target::Group(id)) => drop(edges.insert((To::UpstreamGroup, id))),
            Action::Forward(Target::Multi(to)) => {
                edges.extend(to.iter().map(|to| (To::Upstream, &to.upstream)));
            }
            Action::Delegate(Delegate::Ref(id)) => drop(edges.insert((To::RouteTable, id))),
            Action::Delegate(Delegate::Selector(_)) | Action::Redirect(_) | Action::DirectResponse(_) => {}
        }
    }
}

/// The routes of an object that has some.
fn routes(resource: &Resource) -> &[Route] {
    match resource {
        Resource::VirtualService(service) => &service.routes,
        Resource::RouteTable(table) => &table.routes,
        _ => &[],
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The object that leads somewhere.
struct From<'a> {
    kind: &'static str,
    word: &'static str,
    id: &'a ObjectRef,
    item: &'a Item,
}

// === impl From ===

impl From<'_> {
    fn leads_to(&self, world: &World, to: To, target: &ObjectRef) -> Option<Finding> {
        if world.unlisted(to.kind()).is_some() {
            return None;
        }
        match world.get(to.kind(), target).filter(|_| world.watches(&target.namespace)) {
            None => Some(self.finding(to.unknown(), "unknown", to, target)),
            // Where its own status says so, it need not be said twice: see `explain`.
            Some(found) if found.is_rejected() && !self.item.status.says_rejected(target) => {
                Some(self.finding(&code::REJECTED_REFERENCE, "rejected", to, target))
            }
            Some(_) => None,
        }
    }

    /// Both ends, in the form in which the original product says it for this kind.
    fn finding(&self, code: &'static Code, how: &str, to: To, target: &ObjectRef) -> Finding {
        let (from, word) = (capitalized(self.word), to.word());
        let (one, other) = (self.id, target);
        let message = match to {
            To::AuthConfig | To::VirtualHostOption | To::RouteOption => format!(
                "{from} references {how} {word}:\n  {from}: {} {}\n  {}: {} {}\n",
                one.namespace,
                one.name,
                to.label(),
                other.namespace,
                other.name
            ),
            _ => format!(
                "{from} references {how} {word}: ({from}: {} {} | {}: {} {})",
                one.namespace,
                one.name,
                to.label(),
                other.namespace,
                other.name
            ),
        };
        Finding::new(code, message).of(self.kind, one).leading_to(to.kind(), other)
    }

    fn selects_nothing(&self, world: &World, resource: &Resource) -> Vec<Finding> {
        let from = capitalized(self.word);
        let place = format!("({from}: {} {})", self.id.namespace, self.id.name);
        if let Resource::Gateway(gateway) = resource {
            let selects = selects_a_service(world, &gateway.selection);
            let message = format!("{from} has a selector that selects no virtual service: {place}");
            return (!selects)
                .then(|| Finding::new(&code::SELECTS_NO_SERVICE, message).of(self.kind, self.id))
                .into_iter()
                .collect();
        }
        let in_vain = |route: &&Route| match &route.action {
            Action::Delegate(delegate @ Delegate::Selector(_)) => delegated(world, delegate).is_empty(),
            _ => false,
        };
        let in_vain = routes(resource).iter().filter(in_vain).count();
        if in_vain == 0 || world.unlisted("RouteTable").is_some() {
            return Vec::new();
        }
        let of = if in_vain == 1 { "a route".to_owned() } else { format!("{in_vain} routes") };
        let message = format!("{from} delegates in {of} to a selector that selects no route table: {place}");
        vec![Finding::new(&code::SELECTS_NO_TABLE, message).of(self.kind, self.id)]
    }
}

/// Whether there is a virtual service that is selected; one that selects without conditions need not.
fn selects_a_service(world: &World, selection: &Selection) -> bool {
    match selection.by {
        SelectBy::All | SelectBy::Refs(_) => true,
        SelectBy::Labels(_) | SelectBy::Expressions(_) => {
            world.unlisted("VirtualService").is_some()
                || world.of_kind("VirtualService").any(|(id, item)| {
                    world.watches(&id.namespace)
                        && item.says().is_some_and(|service| selection.selects(service.meta()))
                })
        }
    }
}

// === impl To ===

impl To {
    fn kind(self) -> &'static str {
        match self {
            Self::Upstream => "Upstream",
            Self::UpstreamGroup => "UpstreamGroup",
            Self::AuthConfig => "AuthConfig",
            Self::VirtualHostOption => "VirtualHostOption",
            Self::RouteOption => "RouteOption",
            Self::RouteTable => "RouteTable",
            Self::VirtualService => "VirtualService",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::UpstreamGroup => "upstream group",
            Self::AuthConfig => "auth config",
            Self::VirtualHostOption => "VirtualHostOption",
            Self::RouteOption => "RouteOption",
            Self::RouteTable => "route table",
            Self::VirtualService => "virtual service",
        }
    }

    fn label(self) -> String {
        if self == Self::AuthConfig { "Auth Config".to_owned() } else { capitalized(self.word()) }
    }

    fn unknown(self) -> &'static Code {
        match self {
            Self::Upstream => &code::UNKNOWN_UPSTREAM,
            Self::UpstreamGroup => &code::UNKNOWN_GROUP,
            Self::AuthConfig => &code::UNKNOWN_AUTH_CONFIG,
            Self::VirtualHostOption => &code::UNKNOWN_HOST_OPTION,
            Self::RouteOption => &code::UNKNOWN_ROUTE_OPTION,
            Self::RouteTable => &code::UNKNOWN_TABLE,
            Self::VirtualService => &code::UNKNOWN_SERVICE,
        }
    }
}
