//! Whether a change takes anything away: a host, a route, or who may use it. When in doubt it does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_translate::proxy::{Auth, Proxy, Route, VirtualHost};

/// An address, a chain of its listener, and a domain there.
type Place<'p> = (SocketAddr, &'p str, &'p str);

/// Whether requests that were let in before are not let in any more, apart from keys: a route that is gone, that
/// is secured or denied now, or where only some are allowed.
pub(super) fn closes(before: &Proxy, after: &Proxy) -> bool {
    let now: BTreeMap<Place<'_>, &Arc<VirtualHost>> = places(after).collect();
    let mut hosts = places(before);
    hosts.any(|(place, host)| match now.get(&place) {
        Some(now) if Arc::ptr_eq(now, host) => false,
        Some(now) => host.routes.iter().any(|route| !is_kept(route, now)),
        None => true,
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

fn is_kept(route: &Route, now: &VirtualHost) -> bool {
    now.routes.iter().any(|other| other.matcher == route.matcher && lets_in(&route.auth, &other.auth))
}

/// Whether who is let in by the one is by the other as well, as far as that is not for keys to say.
fn lets_in(before: &Auth, after: &Auth) -> bool {
    match (before, after) {
        (Auth::Denied { .. }, _) | (_, Auth::Open) => true,
        (_, Auth::Denied { .. }) | (Auth::Open, Auth::Secured { .. }) => false,
        (Auth::Secured { open: was_open, .. }, Auth::Secured { allowed, open, .. }) => {
            before == after || (allowed.is_none() && (*open || !was_open))
        }
    }
}
