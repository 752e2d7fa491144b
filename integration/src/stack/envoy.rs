//! An Envoy as its operator sees it: its admin port.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::http1::Connection;
use super::process::Process;
use crate::headers::Headers;
use crate::paths;

/// The admin port of an Envoy.
#[derive(Debug, Clone, Copy)]
pub struct Proxy {
    admin: SocketAddr,
    /// Where Envoy itself listens when the port is somebody's in front of it, who may be dead.
    socket: Option<&'static Path>,
}

fn socket(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}

/// What the operator of an Envoy of his own writes.
fn bootstrap(role: &str, control: SocketAddr, admin: SocketAddr) -> Value {
    let ads = json!({ "ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s" });
    json!({
        "node": { "id": "test-proxy", "cluster": "test", "metadata": { "role": role } },
        "admin": { "address": socket(admin) },
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{ "envoy_grpc": { "cluster_name": "keyward-control" } }],
            },
            "lds_config": ads,
            "cds_config": ads,
        },
        "static_resources": { "clusters": [{
            "name": "keyward-control",
            "type": "STATIC",
            "load_assignment": {
                "cluster_name": "keyward-control",
                "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": socket(control) } }] }],
            },
            "typed_extension_protocol_options": {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": { "http2_protocol_options": {} },
                },
            },
        }] },
    })
}

// === impl Proxy ===

impl Proxy {
    /// The Envoy whose admin port this is.
    #[must_use]
    pub fn new(admin: SocketAddr) -> Self {
        Self { admin, socket: None }
    }

    /// The Envoy whose admin is a socket, or else this port.
    pub(super) fn behind(admin: SocketAddr, socket: &Path) -> Self {
        // For as long as the test runs: whoever has a Proxy copies it.
        Self { admin, socket: Some(Box::leak(socket.into())) }
    }

    fn connect(&self) -> anyhow::Result<Connection> {
        let socket = self.socket.and_then(|socket| Connection::open_socket(socket).ok());
        socket.map_or_else(|| Connection::open(self.admin), Ok)
    }

    /// Starts an Envoy that nobody supervises, for a role, with its control server at an address.
    /// Its log is `envoy.log` in the folder.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(&self, folder: &Path, role: &str, control: SocketAddr) -> anyhow::Result<Process> {
        let config = folder.join("bootstrap.json");
        std::fs::write(&config, bootstrap(role, control, self.admin).to_string())?;
        self.start_with(folder, &config)
    }

    /// Starts an Envoy that nobody supervises with a bootstrap configuration, whose admin port must be
    /// this one. Its log is `envoy.log` in the folder.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start_with(&self, folder: &Path, config: &Path) -> anyhow::Result<Process> {
        let mut command = Command::new(paths::envoy()?);
        command.arg("--config-path").arg(config);
        command.args(["--concurrency", "2", "--log-level", "info", "--disable-hot-restart"]);
        Process::start(&mut command, &folder.join("envoy.log"))
    }

    /// What a path of the admin port answers.
    ///
    /// # Errors
    ///
    /// When it is not 200.
    pub fn get(&self, path: &str) -> anyhow::Result<String> {
        let headers = Headers::new().with("host", "localhost").with("connection", "close");
        let response = self.connect()?.request("GET", path, &headers)?;
        ensure!(response.status == 200, "{path}: {}", response.status);
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// All counters and gauges.
    ///
    /// # Errors
    ///
    /// When the admin port does not answer.
    pub fn stats(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let text = self.get("/stats")?;
        let pairs = text.lines().filter_map(|line| line.split_once(": "));
        Ok(pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect())
    }

    /// One counter or gauge, zero until it is used.
    ///
    /// # Errors
    ///
    /// When the admin port does not answer.
    pub fn stat(&self, name: &str) -> anyhow::Result<u64> {
        Ok(self.stats()?.get(name).copied().unwrap_or(0))
    }

    /// Whether it serves.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub fn ready(&self) -> anyhow::Result<()> {
        self.get("/ready").map(|_| ()).context("envoy is not ready")
    }
}
