//! The edges of the control server, without its store and its loop: what is published goes to the
//! Envoy, and it is known when the Envoy runs with it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use keyward_keys::KeyView;
use keyward_xds::{AdsService, Cache, ClientStatus, Snapshot};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_stream::wrappers::TcpListenerStream;

use super::envoy::{Envoy, NODE_KEY};
use super::keys::{KeyStream, Registry};

/// How long an Envoy may take to run with what it was told. A first filter is compiled in that time.
const PATIENCE: Duration = Duration::from_secs(30);
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

/// What an Envoy refused, in its words.
#[derive(Debug, thiserror::Error)]
#[error("envoy refused it: {}", .0.join("; "))]
pub(super) struct Refused(Vec<String>);

fn refusals(client: &ClientStatus) -> Vec<String> {
    let refused = client.types.iter().flat_map(|one_type| {
        let kind = one_type.type_url.rsplit('.').next().unwrap_or_default();
        one_type
            .rejected
            .iter()
            .map(move |refused| format!("{kind} {}: {}", refused.name, refused.message.trim()))
    });
    refused.collect()
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
        let registry = Registry::default();
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
    /// [`Refused`] when the Envoy refuses something.
    pub(super) async fn publish(&self, publication: Publication, envoy: &Envoy) -> anyhow::Result<()> {
        let Publication { snapshot, keys, role, config_version, secured } = publication;
        // Keys first, as the control loop does.
        self.keys.send_replace(keys.clone());
        let version = snapshot.version().to_owned();
        self.cache.publish(NODE_KEY, snapshot);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let state = self.accepted(&version)?.and_then(|()| {
                envoy.is_warm()?;
                if secured { self.applied(&role, config_version, &keys) } else { Ok(()) }
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

    /// Whether the Envoy has acknowledged everything; an outer error if it never will.
    fn accepted(&self, version: &str) -> Result<anyhow::Result<()>, Refused> {
        let clients = self.ads.clients();
        let refused: Vec<String> = clients.iter().flat_map(refusals).collect();
        if !refused.is_empty() {
            return Err(Refused(refused));
        }
        let in_sync = |client: &ClientStatus| client.in_sync() && client.snapshot.as_deref() == Some(version);
        let accepted = !clients.is_empty() && clients.iter().all(in_sync);
        Ok(if accepted {
            Ok(())
        } else {
            Err(anyhow::anyhow!("not everything is acknowledged: {clients:?}"))
        })
    }

    /// Whether every worker runs with this configuration and holds the keys.
    fn applied(&self, role: &str, config_version: u64, keys: &KeyView) -> anyhow::Result<()> {
        self.registry.with(|workers| {
            let of_role: Vec<u64> = workers
                .iter()
                .filter(|(_, worker)| worker.role == role)
                .map(|(_, worker)| worker.config_version)
                .collect();
            ensure!(!of_role.is_empty(), "no worker of {role} has come");
            ensure!(
                of_role.iter().all(|version| *version == config_version),
                "workers run configurations {of_role:?}, not {config_version}"
            );
            let lag = workers.lag(keys, keys);
            ensure!(lag.is_empty(), "keys are missing: {lag:?}");
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
