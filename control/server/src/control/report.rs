//! What there is to say of each object: what translation found, and what proxies refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::{ObjectKey, Report, Reports, State};
use keyward_translate::xds::{LISTENER, ROUTE};
use keyward_xds::printable;
use tokio::time::Instant;

use super::{ControlLoop, REPORT_STEP, Told};
use crate::published::Published;

/// So much of a proxy's words is told: a reason is stored, shown and logged, and Envoy often writes out
/// all of what it refuses, which says no more than the object itself.
const MAX_WORDS: usize = 1024;

/// The kind that shows what a proxy is told.
const PROXY: &str = "Proxy";
const SETTINGS: &str = "Settings";

/// A resource that a proxy refuses as it is told now.
struct Refusal {
    node: Arc<str>,
    /// The objects that it may be the fault of.
    objects: Vec<ObjectKey>,
    /// What the proxy says.
    words: String,
}

/// The words of a proxy on one line, without what they must not bring along: Envoy keeps contents of secrets out of
/// its messages, and no PEM block gets through here if it ever does not.
pub(crate) fn words(message: &str) -> String {
    /// How every key and certificate begins.
    const PEM: &str = "-----BEGIN";
    let message = message.trim();
    let safe = message.split(PEM).next().unwrap_or_default();
    let shown = printable(safe.trim_end(), MAX_WORDS);
    if safe.len() == message.len() { shown } else { format!("{shown}...") }
}

// === impl Refusal ===

impl Refusal {
    /// What is said of an object that a proxy refuses.
    fn reason(&self) -> String {
        format!("proxy {} refuses it: {}", self.node, self.words)
    }
}

// === impl ControlLoop ===

impl ControlLoop {
    /// Withholds what proxies refuse, where it is the fault of one object: the rest can go out then.
    /// Whether anything is withheld that was not before.
    pub(super) fn withhold(&mut self) -> bool {
        let mut any = false;
        for refusal in self.refusals() {
            if let [object] = refusal.objects.as_slice()
                && self.objects.withhold(object, &refusal.reason())
            {
                if self.confirmed.version_of(object).is_some() {
                    tracing::warn!(%object, "a proxy refuses it, its last good version serves");
                } else {
                    tracing::warn!(%object, "a proxy refuses it, and no version of it was good before");
                }
                any = true;
            }
        }
        any
    }

    /// What proxies refuse of what they are told now. What one said of something older is about other
    /// places and other objects.
    fn refusals(&self) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        for client in self.outlets.ads.clients() {
            let role = &*client.client.node_key;
            let (Some(Told { resources, .. }), Some(published)) =
                (self.told.get(role), self.outlets.xds.get(role))
            else {
                continue;
            };
            for one_type in &client.types {
                for refused in &one_type.rejected {
                    let present = published.get(&one_type.type_url, &refused.name);
                    if present.is_none_or(|present| present.version() != &refused.version) {
                        continue;
                    }
                    let blame = resources.blame(&one_type.type_url, &refused.name, &refused.message);
                    refusals.push(Refusal {
                        node: client.client.node_id.clone(),
                        objects: blame.among(|object| self.is_new(object)),
                        words: words(&refused.message),
                    });
                }
            }
        }
        refusals
    }

    /// Whether an object is served in another version than when all proxies had accepted everything.
    /// Nobody is, as far as it matters, when something changed that stands behind all of them.
    fn is_new(&self, object: &ObjectKey) -> bool {
        let before = self.confirmed.version_of(object);
        // After a restart the only version that is known to be good is one that was kept.
        let known = match self.is_confirmed {
            true => !self.confirmed.groups_or_settings_differ(&self.last_good),
            false => before.is_some(),
        };
        known && before != self.last_good.version_of(object)
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
        for refusal in self.refusals() {
            let reason = refusal.reason();
            for object in refusal.objects {
                let of_object = proxies.entry(object.clone()).or_default();
                let of_proxy = of_object.entry(refusal.node.to_string()).or_default();
                of_proxy.merge(Report { state: State::Rejected, reasons: vec![refusal.words.clone()] });
                reports.reject(object, reason.clone());
            }
        }
        self.report_proxies(&mut reports);
        self.report_dev_mode(&mut reports);
        let mut refused: BTreeSet<ObjectKey> = self.objects.refused().cloned().collect();
        let is_refused = |of: &BTreeMap<String, Report>| of.values().any(|one| one.state == State::Rejected);
        refused.extend(proxies.iter().filter(|(_, of)| is_refused(of)).map(|(object, _)| object.clone()));
        let published = Published {
            revision: Some(self.revision),
            reviews: Some(self.reviews()),
            reports,
            index: Arc::clone(&self.index),
            versions: self.objects.versions().clone(),
            told: Arc::clone(&self.proxies),
            waits: self.rollouts.waits(),
            refused,
            dev_mode: self.last_good.settings().is_some_and(|settings| settings.dev_mode),
            proxies,
        };
        self.outlets.published.send_replace(Arc::new(published));
    }

    /// Says of each Proxy whether the proxies of its name take what they are told. It is pending as long
    /// as none is connected.
    fn report_proxies(&self, reports: &mut Reports) {
        let connected: BTreeSet<Arc<str>> =
            self.outlets.ads.clients().into_iter().map(|client| client.client.node_key).collect();
        for object in self.objects.versions().keys().filter(|object| object.kind == PROXY) {
            let role = format!("{}~{}", object.namespace, object.name);
            if !connected.contains(role.as_str()) {
                let reason = format!("no proxy is connected whose role (node.metadata.role) is {role}");
                reports.pend(object.clone(), reason);
            }
        }
        for client in self.outlets.ads.clients() {
            let Some((namespace, name)) = client.client.node_key.split_once('~') else { continue };
            let object = ObjectKey::new(PROXY, namespace, name);
            if !self.objects.versions().contains_key(&object) {
                continue;
            }
            reports.accept(object.clone());
            if self.rollouts.holds_routes(&client.client.node_key) {
                let why =
                    "its new routes wait until its workers have confirmed the keys and policies for them";
                reports.warn(object.clone(), why);
            }
            for refused in client.types.iter().flat_map(|one_type| &one_type.rejected) {
                let (node, name) = (&client.client.node_id, printable(&refused.name, MAX_WORDS));
                let message = words(&refused.message);
                reports.reject(object.clone(), format!("proxy {node} refuses {name}: {message}"));
            }
        }
    }

    /// Says in the status of the `Settings` why their port for developers is not open.
    fn report_dev_mode(&self, reports: &mut Reports) {
        let Some(settings) = self.last_good.settings().filter(|settings| settings.dev_mode) else { return };
        if let Some(problem) = &*self.dev_mode_problem.borrow() {
            let object = ObjectKey::new(SETTINGS, &settings.meta.namespace, &settings.meta.name);
            reports.warn(object, problem.clone());
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
