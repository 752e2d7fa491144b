//! What is read when somebody asks: how things stand.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use keyward_keys::KeyView;
use keyward_resource::{KINDS, State};
use keyward_xds::AdsService;
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
    pub(crate) ads: AdsService,
    pub(crate) workers: WorkersHandle,
}

type Number = Gauge<i64, AtomicI64>;

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
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
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
            ("keys", "Entries in all key tables", &new.keys),
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
        self.read_keys(sources);
        let published = sources.published.borrow().clone();
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
        self.keys.set(number(view.tables().map(|(_, table)| table.len()).sum()));
        self.keys_revision.set(i64::try_from(view.revision()).unwrap_or(i64::MAX));
        let (count, behind) = workers.read(|workers, now| {
            let behind = workers.standings(now).map(|standing| standing.missing.len()).sum();
            (workers.iter().count(), behind)
        });
        self.key_workers.set(number(count));
        self.key_tables_behind.set(number(behind));
    }
}
