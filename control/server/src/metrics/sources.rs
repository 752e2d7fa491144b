//! What is read when somebody asks: how things stand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use keyward_keys::{KeyView, Table};
use keyward_resource::{KINDS, State};
use keyward_xds::{AdsService, Cache};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use super::xds::name;
use super::{One, Two};
use crate::published::Published;
use crate::workers::WorkersHandle;

/// Where things stand that are counted when somebody asks.
pub(crate) struct Sources {
    pub(crate) published: watch::Receiver<Arc<Published>>,
    pub(crate) keys: watch::Receiver<KeyView>,
    pub(crate) xds: Cache,
    pub(crate) ads: AdsService,
    pub(crate) workers: WorkersHandle,
}

type Number = Gauge<i64, AtomicI64>;
type Seconds = Gauge<f64, AtomicU64>;
/// A proxy: one that is served, or all others together.
type OfProxy = [(&'static str, String); 1];

/// Stands for proxies that are not served: whoever connects may say any name.
const OTHER_PROXY: &str = "other";

#[derive(Default)]
pub(super) struct Gauges {
    proxies: Number,
    proxies_in_sync: Number,
    refused_resources: Family<One, Number>,
    refused_objects: Family<One, Number>,
    objects: Family<Two, Number>,
    revision: Number,
    key_tables: Number,
    keys: Number,
    keys_revision: Number,
    key_workers: Number,
    key_tables_behind: Number,
    workers_of_proxy: Family<OfProxy, Number>,
    lag_of_proxy: Family<OfProxy, Seconds>,
    policies_of_proxy: Family<OfProxy, Number>,
    told: Family<One, Number>,
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The entries of all tables. One that has several names is one.
fn entries(view: &KeyView) -> usize {
    let tables: BTreeMap<*const Table, usize> =
        view.tables().map(|(_, table)| (std::ptr::from_ref(table), table.len())).collect();
    tables.values().sum()
}

// === impl Gauges ===

impl Gauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let new = Self::default();
        for (name, help, gauge) in [
            ("xds_connected_proxies", "Streams of proxies that are open", &new.proxies),
            (
                "xds_proxies_in_sync",
                "Those that have accepted everything they are told",
                &new.proxies_in_sync,
            ),
            ("revision", "The change of the store up to which everything is translated", &new.revision),
            ("key_tables", "Key tables", &new.key_tables),
            ("keys", "Entries in all key tables, those that several names have once", &new.keys),
            ("keys_revision", "The last change that is in the key tables", &new.keys_revision),
            ("key_workers", "Workers of proxies that follow the key tables", &new.key_workers),
            (
                "key_tables_behind",
                "Tables that a worker holds in an older version, or not at all",
                &new.key_tables_behind,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        let help = "Workers that follow the key tables, by proxy";
        registry.register("proxy_workers", help, new.workers_of_proxy.clone());
        let help = "For how long the last worker of a proxy has lacked keys that are published; 0 when none lacks any";
        registry.register("proxy_key_lag_seconds", help, new.lag_of_proxy.clone());
        let help = "The version of the filter's configuration that a proxy is told, as keyward_config_version of \
                    its Envoy shows the one in force";
        registry.register("proxy_config_version", help, new.policies_of_proxy.clone());
        let help = "Resources that proxies are told, by type";
        registry.register("xds_resources", help, new.told.clone());
        let help = "Resources that a proxy refuses as it is told them now, by type";
        registry.register("xds_refused_resources", help, new.refused_resources.clone());
        let help = "Objects whose present version a proxy refuses, by kind";
        registry.register("refused_objects", help, new.refused_objects.clone());
        let help = "Objects by kind and state; Secrets, of which there may be many, are not among them";
        registry.register("objects", help, new.objects.clone());
        new
    }

    pub(super) fn read(&self, sources: &Sources) {
        self.read_proxies(&sources.ads);
        self.read_told(&sources.xds);
        self.read_keys(sources);
        let published = sources.published.borrow().clone();
        self.read_workers(&published, &sources.workers);
        self.revision
            .set(published.revision.map_or(0, |revision| i64::try_from(revision.0).unwrap_or(i64::MAX)));
        self.refused_objects.clear();
        self.objects.clear();
        for kind in KINDS {
            self.refused_objects.get_or_create(&[("kind", kind.name)]).set(0);
        }
        for object in &published.refused {
            self.refused_objects.get_or_create(&[("kind", object.kind)]).inc();
        }
        for (object, version) in &published.versions {
            let state =
                published.report(object, version.content).map_or(State::Pending, |report| report.state);
            self.objects.get_or_create(&[("kind", object.kind), ("state", state.as_str())]).inc();
        }
    }

    fn read_proxies(&self, ads: &AdsService) {
        let clients = ads.clients();
        self.proxies.set(number(clients.len()));
        self.proxies_in_sync.set(number(clients.iter().filter(|client| client.in_sync()).count()));
        self.refused_resources.clear();
        for of in clients.iter().flat_map(|client| &client.types) {
            let refused = self.refused_resources.get_or_create(&[("type", name(&of.type_url))]);
            refused.inc_by(number(of.rejected.len()));
        }
    }

    fn read_keys(&self, Sources { keys, workers, .. }: &Sources) {
        let view = keys.borrow().clone();
        self.key_tables.set(number(view.tables().count()));
        self.keys.set(number(entries(&view)));
        self.keys_revision.set(i64::try_from(view.revision()).unwrap_or(i64::MAX));
        let (count, behind) = workers.read(|workers, now| {
            let behind = workers.standings(now).map(|standing| standing.missing.len()).sum();
            (workers.iter().count(), behind)
        });
        self.key_workers.set(number(count));
        self.key_tables_behind.set(number(behind));
    }

    fn read_told(&self, xds: &Cache) {
        self.told.clear();
        for snapshot in xds.keys().iter().filter_map(|key| xds.get(key)) {
            for type_url in snapshot.type_urls() {
                let count = snapshot.resources(type_url).count();
                self.told.get_or_create(&[("type", name(type_url))]).inc_by(number(count));
            }
        }
    }

    /// How far the workers of each proxy are.
    fn read_workers(&self, published: &Published, workers: &WorkersHandle) {
        self.workers_of_proxy.clear();
        self.lag_of_proxy.clear();
        self.policies_of_proxy.clear();
        let label = |role: &str| {
            let role = if published.told.contains_key(role) { role } else { OTHER_PROXY };
            [("proxy", role.to_owned())]
        };
        for role in published.told.keys() {
            self.workers_of_proxy.get_or_create(&label(role)).set(0);
            self.lag_of_proxy.get_or_create(&label(role)).set(0.0);
        }
        workers.read(|workers, now| {
            for (role, version) in workers.configs() {
                let version = i64::try_from(*version).unwrap_or(i64::MAX);
                self.policies_of_proxy.get_or_create(&label(role)).set(version);
            }
            for standing in workers.standings(now) {
                let label = label(&standing.worker.role);
                self.workers_of_proxy.get_or_create(&label).inc();
                let lag = standing.behind_since.map_or(0.0, |since| now.saturating_sub(since).as_secs_f64());
                let worst = self.lag_of_proxy.get_or_create(&label);
                worst.set(worst.get().max(lag));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use keyward_keys::{Change, KeyIndex, Wanted};
    use keyward_resource::{Resource, admit, decode, kind};
    use serde_json::{Value, json};

    use super::*;

    fn put(kind: &str, object: Value) -> Change {
        let kind = kind::by_name(kind).expect("a kind");
        let admitted = admit(kind, "team", None, object).expect("an object");
        match decode(kind, &admitted).expect("an object") {
            Resource::ApiKeySecret(secret) => Change::PutSecret(secret),
            Resource::AuthConfig(config) => Change::PutAuthConfig(config),
            other => panic!("{:?}", other.meta().object_ref()),
        }
    }

    #[test]
    fn keys_of_a_table_with_several_names_count_once() {
        let secret = |name: &str, label: &str| {
            put(
                "Secret",
                json!({
                    "type": "extauth.keyward.io/apikey", "metadata": { "name": name, "labels": { label: "x" } },
                    "stringData": { "api-key": name },
                }),
            )
        };
        let config = |name: &str, label: &str| {
            put(
                "AuthConfig",
                json!({
                    "metadata": { "name": name },
                    "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { label: "x" } } }] },
                }),
            )
        };
        let mut index = KeyIndex::new();
        let secrets = [secret("ann", "a"), secret("bob", "a"), secret("cat", "b")];
        let configs = [config("one", "a"), config("two", "a"), config("three", "a"), config("four", "b")];
        index.apply(1, secrets.into_iter().chain(configs));
        let view = index.view(Wanted::new());
        assert_eq!((view.tables().count(), entries(&view)), (4, 3));
    }
}
