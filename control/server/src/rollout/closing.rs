//! Whether a change takes anything away: a host, a route, or who may use it. When in doubt it does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_filter_core::config::without_list;
use keyward_translate::proxy::{Auth, Proxy, Route, VirtualHost};

/// An address, a chain of its listener, and a domain there.
type Place<'p> = (SocketAddr, &'p str, &'p str);

/// Whether requests that were let in before are not let in any more, apart from keys: where a route is gone, or is
/// secured or denied now, by itself or by one that stands before it; where another AuthConfig decides, or only some
/// are allowed.
pub(super) fn closes(before: &Proxy, after: &Proxy) -> bool {
    let was: BTreeMap<Place<'_>, &Arc<VirtualHost>> = places(before).collect();
    let now: BTreeMap<Place<'_>, &Arc<VirtualHost>> = places(after).collect();
    let closed = was.iter().any(|(place, host)| now.get(place).is_none_or(|now| takes_away(host, now)));
    // What is asked for by a new name may have been answered by a wider one.
    let wider: Vec<_> = was.iter().filter(|((_, _, domain), _)| domain.contains('*')).collect();
    let mut new = now.iter().filter(|(place, _)| !was.contains_key(*place));
    closed
        || new.any(|((address, _, domain), host)| {
            let mut over = wider.iter().filter(|((at, _, wide), _)| at == address && covers(wide, domain));
            over.any(|(_, before)| takes_away(before, host))
        })
}

fn places(proxy: &Proxy) -> impl Iterator<Item = (Place<'_>, &Arc<VirtualHost>)> {
    proxy.listeners.iter().flat_map(|listener| {
        listener.chains.iter().flat_map(|chain| {
            chain.virtual_hosts.iter().flat_map(|host| {
                let place = |domain| (listener.address, chain.name.as_str(), domain);
                host.domains.iter().map(move |domain| (place(domain.as_str()), host))
            })
        })
    })
}

/// Whether a domain with a `*` in it is one for what another one is for.
fn covers(wide: &str, domain: &str) -> bool {
    match (wide.strip_prefix('*'), wide.strip_suffix('*')) {
        (Some(end), _) => domain.ends_with(end),
        (None, Some(start)) => domain.starts_with(start),
        (None, None) => false,
    }
}

/// Whether somebody who was let in by the one is not by the other.
fn takes_away(before: &Arc<VirtualHost>, now: &Arc<VirtualHost>) -> bool {
    if Arc::ptr_eq(before, now) {
        return false;
    }
    // Where each route is now, in the order in which they were.
    let kept = before.routes.iter().map(|route| {
        place(now, route).filter(|(_, now)| lets_in(&route.auth, &now.auth)).map(|(at, _)| (at, &route.auth))
    });
    let Some(kept) = kept.collect::<Option<Vec<(usize, &Auth)>>>() else { return true };
    // A route that was not before those that it is before now takes requests of theirs over.
    now.routes.iter().enumerate().filter(|(_, route)| route.auth != Auth::Open).any(|(at, route)| {
        let was_at = place(before, route).map_or(kept.len(), |(at, _)| at);
        let mut overtaken = kept.iter().take(was_at).filter(|(now_at, _)| *now_at > at);
        overtaken.any(|(_, auth)| !lets_in(auth, &route.auth))
    })
}

/// The first route of a host with the matcher of another one, and its place.
fn place<'h>(host: &'h VirtualHost, route: &Route) -> Option<(usize, &'h Route)> {
    host.routes.iter().enumerate().find(|(_, other)| other.matcher == route.matcher)
}

/// Whether who is let in by the one is by the other as well, as far as that is not for keys to say: those of
/// another AuthConfig are other ones.
fn lets_in(before: &Auth, after: &Auth) -> bool {
    match (before, after) {
        (Auth::Denied { .. }, _) | (_, Auth::Open) => true,
        (_, Auth::Denied { .. }) | (Auth::Open, Auth::Secured { .. }) => false,
        (
            Auth::Secured { auth_id: was, open: was_open, .. },
            Auth::Secured { auth_id: is, allowed, open },
        ) => {
            let is_same = without_list(was) == without_list(is);
            before == after || (is_same && allowed.is_none() && (*open || !was_open))
        }
    }
}
