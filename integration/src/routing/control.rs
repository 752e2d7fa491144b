//! The edges of the control server, without its store and its loop: what is published goes to the
//! Envoy, and it is known when the Envoy runs with it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use keyward_keys::{Goal, KeyView};
use keyward_xds::{AdsService, Cache, ClientStatus, Snapshot};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_stream::wrappers::TcpListenerStream;

use super::envoy::{CONCURRENCY, Envoy, NODE_KEY};
use super::keys::{KeyStream, Registry};
use super::pattern::Pattern;

/// How long an Envoy may take to run with what it was told. A first filter is compiled in that time.
const PATIENCE: Duration = Duration::from_secs(30);
/// The filter runs in each worker of the Envoy and in its main thread.
const FILTERS: usize = CONCURRENCY + 1;
const PACE: Duration = Duration::from_millis(2);

/// What is published.
pub(super) struct Publication {
    pub(super) snapshot: Snapshot,
    pub(super) keys: KeyView,
    /// The role that the filter states.
    pub(super) role: String,
    /// The version of the filter's configuration.
    pub(super) config_version: u64,
    /// Whether a route needs keys.
    pub(super) secured: bool,
    /// What the Envoy has to refuse, and nothing else: kinds and names, and why.
    pub(super) refused: BTreeMap<String, Pattern>,
    /// Where the hosts of each cluster are.
    pub(super) hosts: BTreeMap<String, BTreeSet<SocketAddr>>,
    /// Those of them that fail health checks.
    pub(super) unwell: BTreeSet<SocketAddr>,
}

/// The control server. It ends when this is dropped.
pub(super) struct Control {
    address: SocketAddr,
    cache: Cache,
    ads: AdsService,
    keys: watch::Sender<KeyView>,
    registry: Registry,
    task: AbortHandle,
}

/// What an Envoy refused or did not refuse, in its words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(String);

/// What a client refuses, by kind and name, and why.
fn refusals(client: &ClientStatus) -> impl Iterator<Item = (String, String)> {
    client.types.iter().flat_map(|one_type| {
        let kind = one_type.type_url.rsplit('.').next().unwrap_or_default();
        let refused = one_type.rejected.iter();
        refused.map(move |refused| (format!("{kind} {}", refused.name), refused.message.trim().to_owned()))
    })
}

/// Whether a client has answered everything that was published, one way or the other.
fn answered(client: &ClientStatus, version: &str) -> bool {
    let types = client.types.iter().all(|one_type| !one_type.unanswered && !one_type.waiting);
    types && !client.behind && client.snapshot.as_deref() == Some(version)
}

// === impl Control ===

impl Control {
    /// Starts it with nothing published.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port for xDS")?;
        let address = listener.local_addr()?;
        let cache = Cache::new();
        let ads = AdsService::builder(cache.clone(), |node| {
            keyward_xds::node::metadata_string(node, "role").unwrap_or_default().to_owned()
        })
        .build();
        let (keys, view) = watch::channel(KeyView::default());
        let registry = Registry::new();
        let router = tonic::transport::Server::builder()
            .add_service(ads.clone().into_server())
            .add_service(KeyStream { view, registry: registry.clone() });
        let task = tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        Ok(Self { address, cache, ads, keys, registry, task: task.abort_handle() })
    }

    /// Where it is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Publishes, and waits until the Envoy has accepted everything and runs with it.
    ///
    /// # Errors
    ///
    /// [`Refused`] when the Envoy refuses something else than it has to.
    pub(super) async fn publish(&self, publication: Publication, envoy: &Envoy) -> anyhow::Result<()> {
        // Keys first, as the control loop does.
        self.keys.send_replace(publication.keys.clone());
        self.registry.with(|workers, now| workers.on_keys(publication.keys.clone(), now));
        self.cache.publish(NODE_KEY, publication.snapshot.clone());
        let deadline = Instant::now() + PATIENCE;
        loop {
            let state = self.accepted(&publication)?.and_then(|()| {
                envoy.is_warm()?;
                // Where something is refused, clusters may be missing.
                if publication.refused.is_empty() {
                    envoy.has_hosts(&publication.hosts, &publication.unwell)?;
                }
                if publication.secured { self.applied(&publication) } else { Ok(()) }
            });
            match state {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() >= deadline => {
                    bail!("envoy does not run with it after {PATIENCE:?}: {error:#}")
                }
                Err(_) => tokio::time::sleep(PACE).await,
            }
        }
    }

    /// Whether the Envoy has taken what it has to take; an outer error if it never will.
    fn accepted(&self, publication: &Publication) -> Result<anyhow::Result<()>, Refused> {
        let clients = self.ads.clients();
        let refused: BTreeMap<String, String> = clients.iter().flat_map(refusals).collect();
        for (name, why) in &refused {
            let wanted = publication.refused.get(name);
            if wanted.is_none_or(|wanted| wanted.check(name, &[why]).is_err()) {
                return Err(Refused(format!("envoy refused {name}: {why}")));
            }
        }
        let version = publication.snapshot.version();
        if clients.is_empty() || !clients.iter().all(|client| answered(client, version)) {
            return Ok(Err(anyhow::anyhow!("not everything is acknowledged: {clients:?}")));
        }
        match publication.refused.keys().find(|name| !refused.contains_key(*name)) {
            Some(name) => Err(Refused(format!("envoy took {name}"))),
            None => Ok(Ok(())),
        }
    }

    /// Whether every worker runs with this configuration and holds the keys.
    fn applied(&self, publication: &Publication) -> anyhow::Result<()> {
        let Publication { keys, role, config_version, .. } = publication;
        self.registry.with(|workers, now| {
            let of_role: Vec<u64> = workers
                .iter()
                .filter(|(_, worker)| worker.role == *role)
                .map(|(_, worker)| worker.config_version)
                .collect();
            // One that is between two streams still runs with what it had.
            ensure!(of_role.len() >= FILTERS, "{} of {FILTERS} workers of {role} are there", of_role.len());
            ensure!(
                of_role.iter().all(|version| version == config_version),
                "workers run configurations {of_role:?}, not {config_version}"
            );
            let goal = Goal { revision: keys.revision(), policies: false };
            let confirmed = workers.confirmed(goal, now);
            ensure!(confirmed.by_all(), "keys are missing: {confirmed:?}");
            Ok(())
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The tables that each role wants.
pub(super) type Wanted = BTreeMap<String, BTreeSet<String>>;
