//! Telling everybody: the key tables, what each proxy is told, and what is said of each object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_keys::Change;
use keyward_trace::SPANS;
use keyward_translate::proxy::{Proxy, allow_lists};
use keyward_translate::xds::{CLUSTER, ENDPOINT};
use keyward_translate::{FilterCode, Output, XdsResources, misconfigured_node};
use tokio::time::Instant;
use tracing::field::Empty;

use super::{ControlLoop, Told, handover};

// === impl ControlLoop ===

impl ControlLoop {
    /// Translates everything and tells everybody: keys first, then what uses them.
    pub(super) fn publish(&mut self) {
        let span = tracing::info_span!(target: SPANS, "publish", revision = self.revision.0, proxies = Empty);
        let _entered = span.enter();
        let begun = Instant::now();
        let Output { mut proxies, reports, last_good, settings } =
            tracing::info_span!(target: SPANS, "translate", revision = self.revision.0).in_scope(|| {
                self.translator.translate(self.objects.input(), &self.settings, &self.last_good)
            });
        span.record("proxies", proxies.len());
        self.metrics.translated(begun.elapsed());
        self.last_good = last_good;
        let mut key_changes = std::mem::take(&mut self.key_changes);
        key_changes.extend([Change::Watch(settings.watched_namespaces()), handover::now()]);
        let now = Instant::now();
        let before = Arc::clone(&self.proxies);
        for (role, proxy) in &mut proxies {
            // What stands in front of the filter has to change together with the filter.
            let told = self.told.get(role);
            let may_wait = told.is_some_and(|told| told.identity_header == settings.identity_header);
            self.rollouts.widen(proxy, before.get(role), may_wait, now);
        }
        self.outlets.workers.read(|workers, now| {
            self.rollouts.forget(|role| workers.present(now).any(|(_, worker)| worker.role == role));
        });
        let gone: Vec<String> =
            self.told.keys().filter(|role| !proxies.contains_key(*role)).cloned().collect();
        gone.iter().for_each(|role| self.rollouts.remove(role, now));
        key_changes.push(Change::Allow(allow_lists(proxies.values().chain(self.rollouts.leaving()))));
        self.index_keys(key_changes, &proxies);

        for (role, proxy) in &proxies {
            let config = keyward_translate::filter_config(proxy, &settings);
            let code: &FilterCode = self.filter.code_for(role, config.version);
            let encoder = self.encoders.entry(role.clone()).or_default();
            let mut resources = encoder.xds(proxy, code, &settings);
            if self.rollouts.holds_routes(role)
                && let Some(mut before) = self.told.remove(role)
            {
                before.resources.extensions = std::mem::take(&mut resources.extensions);
                resources = before.resources;
            }
            self.outlets.xds.publish(role.as_str(), snapshot(&resources));
            let identity_header = settings.identity_header.clone();
            let told = Told { resources, config_version: config.version, identity_header };
            self.told.insert(role.clone(), told);
        }
        for role in gone {
            self.outlets.xds.remove(&role);
            self.told.remove(&role);
            self.encoders.remove(&role);
        }
        self.name_configs();
        self.tell_in_force();
        self.proxies = Arc::new(proxies);
        let fallback = misconfigured_node(&settings);
        self.outlets.xds.set_fallback(snapshot(&fallback));

        self.await_end();
        self.translated = reports;
        self.remember_due = true;
        self.merge_reports();
    }

    /// Tells everybody of changed keys alone: what else is told is not made of them.
    pub(super) fn publish_keys(&mut self) {
        let mut key_changes = std::mem::take(&mut self.key_changes);
        key_changes.push(handover::now());
        let proxies = Arc::clone(&self.proxies);
        self.index_keys(key_changes, &proxies);
        self.name_configs();
        self.pass_in_force();
        self.await_end();
        self.merge_reports();
    }

    /// Brings the tables up to date, and tells of those that these proxies want, and those that are on their way out.
    fn index_keys(&self, changes: Vec<Change>, proxies: &BTreeMap<String, Proxy>) {
        tracing::info_span!(target: SPANS, "keys.index", changes = changes.len()).in_scope(|| {
            self.index_mut().apply(self.revision.0, changes);
            let tables = self.index_mut().view(BTreeMap::new());
            let mut wanted: BTreeMap<String, BTreeSet<String>> =
                proxies.iter().map(|(role, proxy)| (role.clone(), proxy.tables.clone())).collect();
            wanted.extend(self.rollouts.left_tables(|table| tables.table(table).is_some()));
            let view = self.index_mut().view(wanted).with_retired(&self.outlets.keys.borrow());
            self.outlets.keys.send_replace(view.clone());
            self.outlets.workers.change(|workers, now| workers.on_keys(view, now));
        });
    }

    /// Says with which plugin configuration each role runs as of this revision.
    fn name_configs(&self) {
        let configs = self.told.iter().map(|(role, told)| (role.clone(), told.config_version)).collect();
        self.outlets.workers.change(|workers, _| workers.on_configs(self.revision.0, configs));
    }

    fn merge_reports(&mut self) {
        self.reports = self.objects.reports();
        self.reports.merge(&self.translated);
        self.report();
    }
}

fn snapshot(resources: &XdsResources) -> keyward_xds::Snapshot {
    let mut builder = keyward_xds::Snapshot::builder();
    for encoded in resources.iter() {
        let mut resource =
            keyward_xds::Resource::new(encoded.type_url, encoded.name.as_str(), encoded.bytes.clone());
        if encoded.type_url == CLUSTER
            && let Some(endpoints) = resources.endpoints_of_cluster.get(&encoded.name)
        {
            resource = resource.rewarming(ENDPOINT, endpoints.as_str());
        }
        builder = builder.insert_resource(resource);
    }
    builder.build()
}
