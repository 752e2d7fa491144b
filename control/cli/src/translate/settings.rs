//! The settings of a server that was told nothing.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use keyward_bootstrap::CONTROL_CLUSTER;
use keyward_filter_core::config::{
    DEFAULT_IDENTITY_HEADER, DEFAULT_MAX_TABLE_BYTES, DEFAULT_USAGE_REPORT_MS,
};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_translate::{OwnPort, OwnService, Routing, Settings};

/// How long a request waits for keys after a start, in milliseconds.
const WAIT_FOR_KEYS_MS: u32 = 5_000;

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Those of `keyward serve` without flags, with an installation in this namespace.
pub(crate) fn usual(system_namespace: &str) -> Settings {
    let own = [
        (9080, OwnService::Rest),
        (9977, OwnService::Xds { certified: false }),
        (19000, OwnService::Admin),
        (9095, OwnService::Snapshots),
        (10010, OwnService::DevMode),
    ];
    Settings {
        system_namespace: system_namespace.to_owned(),
        identity_header: DEFAULT_IDENTITY_HEADER.to_owned(),
        wait_for_keys_ms: WAIT_FOR_KEYS_MS,
        preflight_needs_key: false,
        usage_report_ms: DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: DEFAULT_MAX_TABLE_BYTES,
        default_gateway: local(8080),
        default_tls_gateway: local(8443),
        one_way_tls: false,
        tls_files: None,
        log_files: None,
        access_log: None,
        watch_namespaces: BTreeSet::new(),
        control_cluster: CONTROL_CLUSTER.to_owned(),
        own_ports: own.map(|(port, service)| OwnPort { address: local(port), service }).into(),
        circuit_breakers: CircuitBreakers::default(),
        routing: Routing::default(),
    }
}
