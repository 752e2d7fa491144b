//! What there is to say of each object: what translation found, and what proxies refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_resource::{ObjectKey, Report, Reports, State};
use keyward_translate::xds::{LISTENER, ROUTE};
use tokio::time::Instant;

use super::{ControlLoop, REPORT_STEP, Told};
use crate::published::Published;

/// What is said of an object that a proxy refuses.
fn refusal(node: &str, message: &str) -> String {
    format!("proxy {node} refuses it: {}", message.trim())
}

// === impl ControlLoop ===

impl ControlLoop {
    /// Withholds what proxies refuse, where it is the fault of one object: the rest can go out then.
    /// Whether anything is withheld that was not before.
    pub(super) fn withhold(&mut self) -> bool {
        let mut any = false;
        for (node, objects, message) in self.refusals() {
            if let [object] = objects.as_slice() {
                any |= self.objects.withhold(object, &refusal(&node, &message));
            }
        }
        any
    }

    /// What proxies refuse: which one, the objects that it may be the fault of, and what the proxy says.
    fn refusals(&self) -> Vec<(Arc<str>, Vec<ObjectKey>, Arc<str>)> {
        let mut refusals = Vec::new();
        for client in self.outlets.ads.clients() {
            let Some(Told { resources, .. }) = self.told.get(&*client.client.node_key) else { continue };
            for one_type in &client.types {
                for refused in &one_type.rejected {
                    let objects = resources.blame(&one_type.type_url, &refused.name, &refused.message);
                    refusals.push((client.client.node_id.clone(), objects, refused.message.clone()));
                }
            }
        }
        refusals
    }

    /// Makes sure that what is new is said, together with what comes within a moment.
    pub(super) fn report_soon(&mut self) {
        self.report_at.get_or_insert_with(|| Instant::now() + REPORT_STEP);
    }

    /// Publishes what there is to say of each object, standing refusals included.
    pub(super) fn report(&mut self) {
        self.report_at = None;
        let mut reports = self.reports.clone();
        let mut proxies = self.served();
        for (node, objects, message) in self.refusals() {
            let reason = refusal(&node, &message);
            for object in objects {
                let of_object = proxies.entry(object.clone()).or_default();
                let of_proxy = of_object.entry(node.to_string()).or_default();
                of_proxy.merge(Report { state: State::Rejected, reasons: vec![message.trim().to_owned()] });
                reports.reject(object, reason.clone());
            }
        }
        self.report_proxies(&mut reports);
        let published = Published {
            revision: Some(self.revision),
            reviews: Some(self.reviews()),
            reports,
            index: Arc::clone(&self.index),
            versions: self.objects.versions().clone(),
            told: Arc::clone(&self.proxies),
            proxies,
        };
        self.outlets.published.send_replace(Arc::new(published));
    }

    /// Says of each Proxy whether the proxies of its name take what they are told. It is pending as long
    /// as none is connected.
    fn report_proxies(&self, reports: &mut Reports) {
        for client in self.outlets.ads.clients() {
            let Some((namespace, name)) = client.client.node_key.split_once('~') else { continue };
            let object = ObjectKey::new("Proxy", namespace, name);
            if !self.objects.versions().contains_key(&object) {
                continue;
            }
            reports.accept(object.clone());
            for refused in client.types.iter().flat_map(|one_type| &one_type.rejected) {
                let (node, name) = (&client.client.node_id, &refused.name);
                let message = refused.message.trim();
                reports.reject(object.clone(), format!("proxy {node} refuses {name}: {message}"));
            }
        }
    }

    /// The gateways and virtual services that each proxy serves.
    fn served(&self) -> BTreeMap<ObjectKey, BTreeMap<String, Report>> {
        let mut served: BTreeMap<ObjectKey, BTreeMap<String, Report>> = BTreeMap::new();
        for (role, Told { resources, .. }) in &self.told {
            let proxy = role.split_once('~').map_or(role.as_str(), |(_, proxy)| proxy);
            let listening =
                resources.origin.iter().filter(|((type_url, _), _)| [LISTENER, ROUTE].contains(type_url));
            for object in listening.flat_map(|(_, objects)| objects) {
                served.entry(object.clone()).or_default().entry(proxy.to_owned()).or_default();
            }
        }
        served
    }
}
