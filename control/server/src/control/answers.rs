//! What proxies answer to what they are told.

use keyward_translate::XdsResources;
use keyward_translate::xds::{EXTENSION, ROUTE, SECRET};
use keyward_xds::{ClientStatus, Event as XdsEvent, StreamEvent};

use super::{ControlLoop, Told, report};

/// So much of a role stands in the log.
const MAX_ROLE: usize = 256;

/// A role in the log: whoever connects may say anything.
fn role(node_key: &str) -> String {
    keyward_xds::printable(node_key, MAX_ROLE)
}

/// Whether all proxies of a role that are connected have accepted what was published last.
fn accepted(xds: &keyward_xds::Cache, clients: &[ClientStatus], role: &str) -> bool {
    let published = xds.get(role);
    clients.iter().filter(|client| &*client.client.node_key == role).all(|client| {
        let version = client.snapshot.as_deref();
        client.in_sync() && version == published.as_ref().map(keyward_xds::Snapshot::version)
    })
}

/// Whether all proxies of a role have come to ask for their routes and secrets, which they do only once
/// they have taken listeners and clusters: until then nothing is known of those.
fn asked_for(resources: &XdsResources, clients: &[ClientStatus], role: &str) -> bool {
    let counts = [(ROUTE, resources.routes.len()), (SECRET, resources.secrets.len())];
    clients.iter().filter(|client| &*client.client.node_key == role).all(|client| {
        counts.iter().all(|(type_url, count)| {
            let held =
                client.types.iter().filter(|of| &*of.type_url == *type_url).map(|of| of.held).sum::<usize>();
            held >= *count
        })
    })
}

// === impl ControlLoop ===

impl ControlLoop {
    /// What is served is good for sure once there are proxies and they all have it.
    pub(super) fn confirm(&mut self) {
        // What waits for keys has not been shown to anybody.
        if self.rollouts.holds_any() {
            return;
        }
        let clients = self.outlets.ads.clients();
        let confirms = |(role, told): (&String, &Told)| {
            accepted(&self.outlets.xds, &clients, role) && asked_for(&told.resources, &clients, role)
        };
        if !clients.is_empty() && self.told.iter().all(confirms) {
            self.confirmed.clone_from(&self.last_good);
            self.is_confirmed = true;
            self.remember_due |= self.remembered.keeps_any();
        }
    }

    pub(super) fn on_xds_event(&mut self, event: &StreamEvent) {
        self.take_answer(event);
        self.look_in_force();
    }

    fn take_answer(&mut self, StreamEvent { client, event, .. }: &StreamEvent) {
        match event {
            XdsEvent::Connected => {
                tracing::info!(node = %client.node_id, role = %role(&client.node_key), "proxy connected")
            }
            XdsEvent::Disconnected => {
                tracing::info!(node = %client.node_id, role = %role(&client.node_key), "proxy gone");
                self.end_trials(client);
            }
            XdsEvent::Nacked(nack) => {
                tracing::error!(
                    node = %client.node_id, type_url = ?nack.type_url,
                    resources = ?nack.resources.iter().map(|resource| &*resource.name).collect::<Vec<_>>(),
                    "a proxy refused configuration: {}", report::words(&nack.message)
                );
                if &*nack.type_url == EXTENSION && self.filter.refused(&client.node_key) {
                    tracing::info!(role = %role(&client.node_key), "offering the filter again in another VM");
                    return self.publish();
                }
                let withheld = self.withhold();
                self.note_binding(client, nack);
                if withheld {
                    // The refused version was taken for good until now.
                    self.last_good.clone_from(&self.confirmed);
                    return self.publish_change();
                }
            }
            XdsEvent::Acked(delivery) if &*delivery.type_url == EXTENSION => {
                self.filter.accepted(&client.node_key);
                self.confirm();
            }
            XdsEvent::Acked(delivery) => {
                self.note_bound(client, delivery);
                self.confirm();
            }
            XdsEvent::Restarted => {}
            _ => return,
        }
        self.report_soon();
    }
}
