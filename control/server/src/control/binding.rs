//! Refusals that are about an address: who holds it may let go, so they are tried again.

use keyward_resource::ObjectKey;
use keyward_translate::xds::LISTENER;
use keyward_xds::{ClientId, Delivery, Nack};
use tokio::time::Instant;

use super::ControlLoop;
use crate::retries::{Place, is_about_binding};

// === impl ControlLoop ===

impl ControlLoop {
    /// Notes which listeners a proxy could not bind.
    pub(super) fn note_binding(&mut self, client: &ClientId, nack: &Nack) {
        if &*nack.type_url != LISTENER {
            return;
        }
        for listener in &nack.resources {
            if !is_about_binding(&nack.message, &listener.name) {
                continue;
            }
            let told = self.told.get(&*client.node_key);
            let objects =
                told.and_then(|told| told.resources.origin.get(&(LISTENER, listener.name.to_string())));
            let objects = objects.cloned().unwrap_or_default();
            let place = Place { node: client.node_id.clone(), listener: listener.name.clone() };
            if let Some(delay) = self.retries.refused(place, objects, Instant::now()) {
                tracing::info!(
                    node = %client.node_id, listener = %listener.name,
                    "its address could not be bound, trying again in {} s", delay.as_secs()
                );
            }
        }
    }

    /// Offers once more what could not be bound.
    pub(super) fn try_again(&mut self) {
        let mut offered = false;
        for (place, objects) in self.retries.due(Instant::now()) {
            if objects.iter().any(|object| self.stands_in_for(object)) {
                self.retries.accepted(&place);
                continue;
            }
            let asked = self.outlets.ads.retry_resource(&place.node, LISTENER, &place.listener) > 0;
            let mut lifted = false;
            for object in &objects {
                lifted |= self.objects.try_again(object);
            }
            let connected =
                self.outlets.ads.clients().iter().any(|client| client.client.node_id == place.node);
            tracing::info!(node = %place.node, listener = %place.listener, "trying its address again");
            if !connected || !(asked || lifted) {
                // Nobody is left to refuse it, or there is nothing to be refused any more.
                self.retries.accepted(&place).iter().for_each(|object| self.objects.absolve(object));
            }
            offered |= lifted;
        }
        if offered {
            self.publish_change();
        }
    }

    /// Whether something is served in the place of a withheld gateway: its last good version, or the default
    /// gateways. It would be taken away for each try, so it is better to wait for a correction.
    fn stands_in_for(&self, gateway: &ObjectKey) -> bool {
        let is_default = |((type_url, _), origin): (&(&str, String), &Vec<ObjectKey>)| {
            *type_url == LISTENER && !origin.iter().any(|object| object.kind == gateway.kind)
        };
        let is_own = gateway.namespace == self.settings.system_namespace;
        self.last_good.version_of(gateway).is_some()
            || is_own && self.told.values().flat_map(|told| &told.resources.origin).any(is_default)
    }

    /// Notes that a proxy has taken listeners.
    pub(super) fn note_bound(&mut self, client: &ClientId, delivery: &Delivery) {
        if &*delivery.type_url != LISTENER {
            return;
        }
        let mut objects = Vec::new();
        for listener in &delivery.resources {
            let place = Place { node: client.node_id.clone(), listener: listener.name.clone() };
            objects.extend(self.retries.accepted(&place));
        }
        self.absolve(&objects);
    }

    /// A proxy is gone, and will not say what it thinks of what it was offered.
    pub(super) fn end_trials(&mut self, client: &ClientId) {
        let objects = self.retries.gone(&client.node_id);
        self.absolve(&objects);
    }

    /// What was on trial is served as everything else.
    fn absolve(&mut self, objects: &[ObjectKey]) {
        if objects.is_empty() {
            return;
        }
        objects.iter().for_each(|object| self.objects.absolve(object));
        self.publish();
    }
}
