//! The Envoy that all cases share.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::paths;
use crate::stack::{Process, Proxy, free_address, wait};

/// The cluster of the control server, as translation is told of it.
pub(super) const CONTROL_CLUSTER: &str = "keyward-control";
/// What the control server publishes under, whichever proxy it is.
pub(super) const NODE_KEY: &str = "the-envoy";

/// One worker: what one worker was told, all were, and round robin is one round.
pub(super) const CONCURRENCY: usize = 1;

const START_LIMIT: Duration = Duration::from_secs(40);

/// The Envoy. It ends when this is dropped.
pub(super) struct Envoy {
    process: Process,
    admin: Proxy,
    /// How much of its log was looked through for complaints.
    looked_through: usize,
    _folder: TempDir,
}

/// What `/clusters` answers.
#[derive(Deserialize)]
struct Clusters {
    #[serde(default)]
    cluster_statuses: Vec<ClusterStatus>,
}

#[derive(Deserialize)]
struct ClusterStatus {
    name: String,
    #[serde(default)]
    host_statuses: Vec<HostStatus>,
}

#[derive(Deserialize)]
struct HostStatus {
    address: HostAddress,
    health_status: HealthStatus,
}

#[derive(Deserialize)]
struct HostAddress {
    socket_address: SocketAddress,
}

#[derive(Deserialize)]
struct SocketAddress {
    address: IpAddr,
    port_value: u16,
}

#[derive(Deserialize)]
struct HealthStatus {
    #[serde(default)]
    failed_active_health_check: bool,
}

fn socket(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}

fn bootstrap(control: SocketAddr, names: SocketAddr, admin: SocketAddr) -> Value {
    let ads = json!({ "ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s" });
    let http2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let dns = "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig";
    let mut resolver = socket(names);
    resolver["socket_address"]["protocol"] = "UDP".into();
    json!({
        "node": { "id": "routing", "cluster": "test", "metadata": { "role": NODE_KEY } },
        "admin": { "address": socket(admin) },
        "typed_dns_resolver_config": {
            "name": "envoy.network.dns_resolver.cares",
            "typed_config": {
                "@type": format!("type.googleapis.com/{dns}"),
                "resolvers": [resolver],
                "dns_resolver_options": { "no_default_search_domain": true },
            },
        },
        "layered_runtime": keyward_bootstrap::layered_runtime(),
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{ "envoy_grpc": { "cluster_name": CONTROL_CLUSTER } }],
            },
            "lds_config": ads,
            "cds_config": ads,
        },
        "static_resources": { "clusters": [{
            "name": CONTROL_CLUSTER,
            "type": "STATIC",
            "load_assignment": {
                "cluster_name": CONTROL_CLUSTER,
                "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": socket(control) } }] }],
            },
            "typed_extension_protocol_options": {
                http2: {
                    "@type": format!("type.googleapis.com/{http2}"),
                    "explicit_http_config": { "http2_protocol_options": {} },
                },
            },
        }] },
    })
}

// === impl HostAddress ===

impl HostAddress {
    fn is(&self, address: SocketAddr) -> bool {
        let SocketAddress { address: ip, port_value } = self.socket_address;
        address == SocketAddr::new(ip, port_value)
    }
}

// === impl Envoy ===

impl Envoy {
    /// Starts it, with its control server and its name server at these addresses.
    pub(super) fn start(control: SocketAddr, names: SocketAddr) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("keyward-routing-").tempdir()?;
        let config = folder.path().join("bootstrap.json");
        let address = free_address()?;
        std::fs::write(&config, bootstrap(control, names, address).to_string())?;
        let mut command = Command::new(paths::envoy()?);
        command.arg("--config-path").arg(config);
        command.args(["--concurrency", &CONCURRENCY.to_string()]);
        command.args(["--log-level", "warning", "--use-dynamic-base-id"]);
        // What a case leaves behind goes at once.
        command.args(["--drain-time-s", "1", "--drain-strategy", "immediate"]);
        let process = Process::start(&mut command, &folder.path().join("envoy.log"))?;
        let mut envoy = Self { process, admin: Proxy::new(address), looked_through: 0, _folder: folder };
        wait::until(START_LIMIT, "envoy to answer", || {
            let ended = envoy.process.ended()?;
            ensure!(ended.is_none(), "envoy ended: {}", envoy.process.output());
            envoy.admin.get("/server_info")
        })?;
        Ok(envoy)
    }

    /// Whether everything that it was told is in use: it listens, no listener waits for routes or
    /// secrets, no cluster for its hosts.
    pub(super) fn is_warm(&self) -> anyhow::Result<()> {
        let listens = self.admin.stat("listener_manager.workers_started")?;
        ensure!(listens == 1, "no worker listens yet");
        let stats = self.admin.get("/stats?filter=warming")?;
        for line in stats.lines() {
            let (name, count) = line.split_once(": ").context("a line of no statistic")?;
            ensure!(count == "0" || !name.contains("manager."), "{name} is {count}");
        }
        Ok(())
    }

    /// Whether each cluster has all its hosts, and finds those of them healthy that are. A cluster of
    /// several names counts as warm once the first of them is resolved, and a host that comes later
    /// gets nothing until it has passed a health check.
    pub(super) fn has_hosts(
        &self,
        wanted: &BTreeMap<String, BTreeSet<SocketAddr>>,
        unwell: &BTreeSet<SocketAddr>,
    ) -> anyhow::Result<()> {
        let clusters: Clusters = serde_json::from_str(&self.admin.get("/clusters?format=json")?)?;
        for (name, wanted) in wanted {
            let cluster = clusters.cluster_statuses.iter().find(|cluster| cluster.name == *name);
            let hosts = &cluster.with_context(|| format!("there is no cluster {name}"))?.host_statuses;
            for address in wanted {
                let host = hosts.iter().find(|host| host.address.is(*address));
                let host = host.with_context(|| format!("{name} does not know {address}"))?;
                let failed = host.health_status.failed_active_health_check;
                ensure!(!failed || unwell.contains(address), "{name} does not find {address} healthy");
            }
        }
        Ok(())
    }

    /// What it has said since the last time about configuration that it takes, but will not for ever.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        let output = self.process.output();
        let fresh = output.get(self.looked_through..).unwrap_or_default();
        self.looked_through = output.len();
        fresh.lines().filter(|line| line.to_lowercase().contains("deprecated")).map(str::to_owned).collect()
    }

    /// What it said last.
    pub(super) fn log(&self) -> String {
        let output = self.process.output();
        let lines: Vec<&str> = output.lines().collect();
        lines.iter().rev().take(30).rev().copied().collect::<Vec<_>>().join("\n")
    }
}
