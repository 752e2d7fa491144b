//! Whom to blame when Envoy refuses a resource.

mod message;

use std::collections::BTreeSet;

use keyward_resource::{ObjectKey, ObjectRef};

use self::message::{mentions, places, quotes};
use super::{LISTENER, ROUTE, XdsResources, kind_key};
use crate::proxy::{Chain, Listener, Route, VirtualHost, names};
use crate::translate::kind;

/// How Envoy's validation names a virtual host: by its place, as in `VirtualHosts[3]: ...`.
const HOST_PLACE: &str = "VirtualHosts[";
/// A route of it.
const ROUTE_PLACE: &str = "Routes[";
/// A filter chain of a listener.
const CHAIN_PLACE: &str = "FilterChains[";
/// What Envoy says of a listener whose address is the trouble: nobody's fault but the gateway's.
const ADDRESS_TROUBLE: &[&str] = &["cannot bind", "duplicate address"];

/// Whose fault a refusal may be. Both lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blame {
    /// Whom the message leads to; when it leads to nobody, everybody who may have done it.
    pub named: Vec<ObjectKey>,
    /// Everybody who may have done it, also by way of somebody who is named.
    pub possible: Vec<ObjectKey>,
}

/// A virtual host, and a route of it if it is known which.
type Found<'a> = (&'a VirtualHost, Option<&'a Route>);

fn is_option(object: &ObjectKey) -> bool {
    [kind::VIRTUAL_HOST_OPTION, kind::ROUTE_OPTION].contains(&object.kind)
}

fn service(host: &VirtualHost) -> ObjectKey {
    kind_key(kind::VIRTUAL_SERVICE, &host.virtual_service)
}

/// The hosts and routes whose places a message tells.
fn placed<'a>(chain: &'a Chain, message: &str) -> Vec<Found<'a>> {
    let found = places(message, HOST_PLACE).filter_map(|(host, rest)| {
        let host = chain.virtual_hosts.get(host)?;
        let route = places(rest, ROUTE_PLACE).find_map(|(route, _)| host.routes.get(route));
        Some((&**host, route))
    });
    found.collect()
}

/// The hosts and routes whose names are in a message.
fn named<'a>(chain: &'a Chain, message: &str) -> Vec<Found<'a>> {
    let mut found: Vec<Found<'a>> = Vec::new();
    for host in &chain.virtual_hosts {
        // A route has the name of its virtual host in its own.
        if !mentions(message, &names::virtual_host(&host.virtual_service)) {
            continue;
        }
        let before = found.len();
        let routes = host.routes.iter().filter(|route| mentions(message, &route.name));
        found.extend(routes.map(|route| (&**host, Some(route))));
        if found.len() == before {
            found.push((host, None));
        }
    }
    found
}

/// The hosts and routes that say what a message quotes, such as a regular expression.
fn quoted<'a>(chain: &'a Chain, message: &str) -> Vec<Found<'a>> {
    // As it stands in the `Debug` form, which has every word that anybody has said.
    let quotes: Vec<String> = quotes(message).map(|quote| format!("{quote:?}")).collect();
    let says = |text: String| quotes.iter().any(|quote| text.contains(quote.as_str()));
    let mut found: Vec<Found<'a>> = Vec::new();
    for host in chain.virtual_hosts.iter().filter(|host| says(format!("{host:?}"))) {
        let routes = host.routes.iter().filter(|route| says(format!("{route:?}")));
        found.extend(routes.map(|route| (&**host, Some(route))));
        if found.iter().all(|(other, _)| !std::ptr::eq(*other, &**host)) {
            found.push((host, None));
        }
    }
    found
}

fn of_routes(origin: &[ObjectKey], chain: &Chain, message: &str) -> Blame {
    // A place decides: beside it Envoy often writes out the whole route configuration, with all names.
    let placed = placed(chain, message);
    let by_place = !placed.is_empty();
    let mut found = if by_place { placed } else { named(chain, message) };
    // What is quoted is a hint: others may have said the same and be at fault with something else.
    let by_quote = found.is_empty();
    if by_quote {
        found = quoted(chain, message);
    }
    let services: BTreeSet<&ObjectRef> = found.iter().map(|(host, _)| &host.virtual_service).collect();
    let behind = chain.virtual_hosts.iter().flat_map(|host| &host.made_from);
    let anybody = Blame::one_of(origin.iter().chain(behind).cloned());
    if services.len() != 1 {
        return anybody;
    }
    let mut blamed = Blame::default();
    for (host, route) in found {
        let one = match route {
            Some(route) => of_route(host, route),
            // It may be a route that has no place in the message.
            None if !by_place => Blame::one_of(host.made_from.iter().cloned().chain([service(host)])),
            None => {
                let shared = host.made_from.iter().filter(|object| object.kind == kind::VIRTUAL_HOST_OPTION);
                Blame::one_of(shared.cloned().chain([service(host)]))
            }
        };
        blamed.join(one);
    }
    if by_quote { Blame { possible: anybody.possible, ..blamed } } else { blamed }
}

/// A route is the fault of the object that says it, unless that shares options with others. Those that
/// delegate to it hand down matchers and options, which the message cannot tell from its own.
fn of_route(host: &VirtualHost, route: &Route) -> Blame {
    let options = || host.made_from.iter().filter(|object| is_option(object)).cloned();
    let on_the_way = |object: &&ObjectKey| {
        let step = names::table_step(&object.object_ref());
        object.kind == kind::ROUTE_TABLE && route.name.split('/').any(|part| part == step)
    };
    let tables = host.made_from.iter().filter(on_the_way).cloned();
    Blame {
        named: sorted(options().chain([route.from.clone()])),
        possible: sorted(options().chain(tables).chain([route.from.clone(), service(host)])),
    }
}

fn of_listener(origin: &[ObjectKey], listener: &Listener, message: &str) -> Blame {
    let mut with_tls = listener.chains.iter().filter(|chain| chain.tls.is_some()).peekable();
    if with_tls.peek().is_none() || ADDRESS_TROUBLE.iter().any(|trouble| message.contains(trouble)) {
        return Blame::one_of(origin.iter().cloned());
    }
    // A chain with server names that is the fallback too becomes two.
    let spread: Vec<&Chain> = listener.chains.iter().flat_map(super::listeners::spread).collect();
    let by_place = places(message, CHAIN_PLACE).filter_map(|(place, _)| spread.get(place).copied());
    let mut meant: Vec<&Chain> = by_place.collect();
    if meant.is_empty() {
        meant = with_tls.clone().filter(|chain| is_meant(chain, message)).collect();
    }
    let served = |chains: &[&Chain]| -> Vec<ObjectKey> {
        sorted(chains.iter().flat_map(|chain| &chain.virtual_hosts).map(|host| service(host)))
    };
    if meant.is_empty() {
        return Blame::one_of(origin.iter().cloned().chain(served(&with_tls.collect::<Vec<_>>())));
    }
    let named = served(&meant);
    Blame { possible: sorted(origin.iter().cloned().chain(named.iter().cloned())), named }
}

/// Whether a message has the name of a chain in it, or a word that its TLS section says.
fn is_meant(chain: &Chain, message: &str) -> bool {
    let parameters = chain.tls.iter().map(|tls| &tls.terms.parameters);
    let mut words = parameters
        .flat_map(|parameters| parameters.cipher_suites.iter().chain(&parameters.ecdh_curves))
        .flat_map(|word| word.split(['[', '|', ']']))
        .filter(|word| !word.is_empty());
    super::listeners::chain_names(chain).iter().any(|name| mentions(message, name))
        || words.any(|word| mentions(message, word))
}

fn sorted(objects: impl Iterator<Item = ObjectKey>) -> Vec<ObjectKey> {
    objects.collect::<BTreeSet<_>>().into_iter().collect()
}

// === impl Blame ===

impl Blame {
    /// Anybody of these.
    fn one_of(objects: impl Iterator<Item = ObjectKey>) -> Self {
        let possible = sorted(objects);
        Self { named: possible.clone(), possible }
    }

    fn join(&mut self, other: Self) {
        let Self { named, possible } = std::mem::take(self);
        self.named = sorted(named.into_iter().chain(other.named));
        self.possible = sorted(possible.into_iter().chain(other.possible));
    }

    /// Whom to hold it against, when these have changed since all was well: who has not changed has not
    /// done it. When nobody has, everybody who is named.
    ///
    /// One alone may be withheld; of several it is not known which.
    #[must_use]
    pub fn among(self, changed: impl Fn(&ObjectKey) -> bool) -> Vec<ObjectKey> {
        let Self { named, possible } = self;
        let possible: Vec<ObjectKey> = possible.into_iter().filter(|object| changed(object)).collect();
        if possible.is_empty() {
            return named;
        }
        let both: Vec<ObjectKey> = named.into_iter().filter(|object| possible.contains(object)).collect();
        if both.is_empty() { possible } else { both }
    }
}

// === impl XdsResources ===

impl XdsResources {
    /// The objects to blame when Envoy refuses this resource with this message.
    ///
    /// A message leads to a route, a virtual host or a filter chain when it has its place or its name, and
    /// no other one's, or at least quotes what nobody else says; from there to the objects that say it.
    #[must_use]
    pub fn blame(&self, type_url: &str, name: &str, message: &str) -> Blame {
        let mut entries = self.origin.iter();
        let Some((_, origin)) = entries.find(|((url, of), _)| *url == type_url && of == name) else {
            return Blame::default();
        };
        let mut listeners = self.made_from.iter();
        let blame = match type_url {
            ROUTE => {
                let chain = listeners.flat_map(|listener| &listener.chains).find(|chain| chain.name == name);
                chain.map(|chain| of_routes(origin, chain, message))
            }
            LISTENER => {
                let listener = listeners.find(|listener| listener.name == name);
                listener.map(|listener| of_listener(origin, listener, message))
            }
            _ => None,
        };
        blame.unwrap_or_else(|| Blame::one_of(origin.iter().cloned()))
    }
}
