//! Which proxies go by something older than they are told, as far as anybody can know.
//!
//! A proxy that is connected says so itself, of whatever role it is: one whose role is served no more goes by its
//! old routes until it has accepted that there is nothing for it. One that is between two streams says nothing. But
//! as long as its workers are here, or may come back, it serves: so it lags until it is connected again. Not
//! everybody who has workers has such a stream, as the filter runs by itself too: nothing is asked of a node that
//! never had one.

use std::collections::BTreeSet;

use keyward_keys::Worker;
use keyward_xds::{ClientId, ClientStatus, Source};

use super::ControlLoop;

/// Whether a proxy goes by what it is told. What stands in for a role that is not served it may refuse, as where
/// another one has the address: what it had before goes all the same.
fn follows(client: &ClientStatus) -> bool {
    client.in_sync() || (client.source == Source::Fallback && client.has_answered())
}

/// The roles of which somebody lags: of those who are connected, and of those whose workers are present. `knows`
/// tells whether a client has had a stream.
fn roles<'w>(
    clients: &[ClientStatus],
    present: impl IntoIterator<Item = &'w Worker>,
    knows: impl Fn(&ClientId) -> bool,
) -> BTreeSet<String> {
    let behind = clients.iter().filter(|client| !follows(client));
    let mut lagging: BTreeSet<String> = behind.map(|client| client.client.node_key.to_string()).collect();
    let connected: BTreeSet<&ClientId> = clients.iter().map(|client| &client.client).collect();
    for worker in present {
        if !lagging.contains(&worker.role) {
            let proxy = ClientId::new(&worker.node, &worker.role);
            if !connected.contains(&proxy) && knows(&proxy) {
                lagging.insert(worker.role.clone());
            }
        }
    }
    lagging
}

// === impl ControlLoop ===

impl ControlLoop {
    /// The roles of which somebody has not accepted what it is told.
    pub(super) fn lagging_roles(&self) -> BTreeSet<String> {
        let ads = &self.outlets.ads;
        let clients = ads.clients();
        self.outlets.workers.read(|workers, now| {
            roles(&clients, workers.present(now).map(|(_, worker)| worker), |client| ads.knows(client))
        })
    }
}

#[cfg(test)]
mod tests;
