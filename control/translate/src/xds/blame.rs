//! Whom to blame when Envoy refuses a resource.

use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use keyward_resource::{ObjectKey, ObjectRef};
use prost::Message;

use super::{ROUTE, XdsResources, kind_key};
use crate::proxy::names;
use crate::translate::kind;

/// How Envoy's validation names a virtual host: by its place, as in `VirtualHosts[3]: ...`.
const PLACE: &str = "VirtualHosts[";

/// The virtual service whose virtual host has this name.
fn virtual_service(host: &str) -> Option<ObjectRef> {
    // Namespaces hold no dot.
    let (namespace, name) = host.strip_prefix('!').unwrap_or(host).split_once('.')?;
    Some(ObjectRef::new(namespace, name))
}

/// The places of virtual hosts in a message.
fn places(message: &str) -> impl Iterator<Item = usize> {
    message.split(PLACE).skip(1).filter_map(|rest| rest.split_once(']')?.0.parse().ok())
}

/// Whether a message has this name, and not only a longer one that it is part of. A route name has the
/// virtual host's before its first slash; what stands behind a slash is the user's own.
fn mentions(message: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    message.match_indices(name).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        // A full stop that nothing follows ends a sentence.
        let after = message[at + name.len()..].split(|c| !part(c)).next().unwrap_or_default();
        before.is_none_or(|c| !part(c) && c != '/') && after.trim_end_matches('.').is_empty()
    })
}

/// What all of them are, if they are all the same.
fn only(mut all: impl Iterator<Item = ObjectRef>) -> Option<ObjectRef> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

// === impl XdsResources ===

impl XdsResources {
    /// The objects to blame when Envoy refuses this resource with this message.
    ///
    /// One virtual service alone, when the message names its place in the route configuration, its
    /// virtual host or one of its routes, and no other one's; else everything that the resource was made
    /// from. It is what a text suggests: good for a status, not for a decision.
    #[must_use]
    pub fn blame(&self, type_url: &str, name: &str, message: &str) -> Vec<ObjectKey> {
        let mut entries = self.origin.iter();
        let Some((_, origin)) = entries.find(|((url, of), _)| *url == type_url && of == name) else {
            return Vec::new();
        };
        if type_url == ROUTE
            && let Some(one) = self.only_named(name, message)
        {
            let one = kind_key(kind::VIRTUAL_SERVICE, &one);
            if origin.contains(&one) {
                return vec![one];
            }
        }
        origin.clone()
    }

    /// The only virtual service of a route configuration that a message names.
    fn only_named(&self, routes: &str, message: &str) -> Option<ObjectRef> {
        let encoded = self.routes.iter().find(|encoded| encoded.name == routes)?;
        let hosts = RouteConfiguration::decode(encoded.bytes.clone()).ok()?.virtual_hosts;
        let placed = places(message).filter_map(|place| virtual_service(&hosts.get(place)?.name));
        // A place decides: beside it Envoy often writes out the whole route configuration, with all names.
        only(placed).or_else(|| {
            let all = hosts.iter().filter_map(|host| virtual_service(&host.name));
            only(all.filter(|service| mentions(message, &names::virtual_host(service))))
        })
    }
}
