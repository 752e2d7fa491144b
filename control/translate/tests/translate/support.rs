//! Settings, objects and a filter module for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use keyward_resource::kinds::options::{RouteOptions, VirtualHostOptions};
use keyward_resource::kinds::route::{Action, PathMatcher, Target};
use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::settings::Settings as SettingsObject;
use keyward_resource::kinds::ssl::{Alpn, SslConfig, SslParameters, SslSource};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_resource::kinds::{
    ApiKeyAuth, AuthConfig, ExtAuth, Gateway, HostAddr, Matcher, Route, RouteOption, RouteTable, StaticHost,
    Upstream, UpstreamGroup, VirtualHostOption, VirtualService,
};
use keyward_resource::{Meta, ObjectRef, Resource, admit, decode, kind};
use keyward_translate::{
    FilterCode, Input, LastGood, OwnPort, OwnService, Routing, Settings, XdsResources, translate, xds,
};

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn settings() -> Settings {
    Settings {
        system_namespace: "keyward-system".to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 5_000,
        preflight_needs_key: false,
        usage_report_ms: keyward_filter_core::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: keyward_filter_core::config::DEFAULT_MAX_TABLE_BYTES,
        default_gateway: SocketAddr::from(([127, 0, 0, 1], 8080)),
        default_tls_gateway: SocketAddr::from(([127, 0, 0, 1], 8443)),
        one_way_tls: false,
        tls_files: Some("/testdata".to_owned()),
        log_files: Some("/var/log/keyward".to_owned()),
        access_log: None,
        watch_namespaces: BTreeSet::new(),
        control_cluster: "keyward_control".to_owned(),
        own_ports: own_ports(),
        circuit_breakers: CircuitBreakers::default(),
        routing: Routing::default(),
    }
}

/// As `keyward serve` has them unless told otherwise.
fn own_ports() -> Vec<OwnPort> {
    let port = |port, service| OwnPort { address: SocketAddr::from(([127, 0, 0, 1], port)), service };
    vec![
        port(9080, OwnService::Rest),
        port(9977, OwnService::Xds { certified: false }),
        port(19000, OwnService::Admin),
    ]
}

pub(crate) fn filter() -> FilterCode {
    FilterCode { wasm: minimal_module().into(), vm_id: "test-vm".to_owned() }
}

/// Translates from nothing.
pub(crate) fn resources(input: &Input) -> BTreeMap<String, XdsResources> {
    let output = translate(input, &settings(), &LastGood::default());
    output.proxies.iter().map(|(role, proxy)| (role.clone(), xds(proxy, &filter(), &settings()))).collect()
}

/// The smallest module that Envoy takes for a filter: the ABI's marker, a memory and an allocator.
pub(crate) fn minimal_module() -> Vec<u8> {
    let mut exports = vec![4];
    let mut export = |name: &str, kind: u8, index: u8| {
        exports.push(u8::try_from(name.len()).expect("short names"));
        exports.extend_from_slice(name.as_bytes());
        exports.extend_from_slice(&[kind, index]);
    };
    export("memory", 2, 0);
    export("proxy_abi_version_0_2_1", 0, 0);
    export("_initialize", 0, 1);
    export("proxy_on_memory_allocate", 0, 2);

    let mut module = b"\0asm\x01\0\0\0".to_vec();
    let mut section = |id: u8, content: &[u8]| {
        module.push(id);
        module.push(u8::try_from(content.len()).expect("short sections"));
        module.extend_from_slice(content);
    };
    section(1, &[2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f]);
    section(3, &[3, 0, 0, 1]);
    section(5, &[1, 0, 1]);
    section(7, &exports);
    section(10, &[3, 2, 0, 0x0b, 2, 0, 0x0b, 4, 0, 0x41, 0, 0x0b]);
    module
}

pub(crate) fn meta(namespace: &str, name: &str, created: &str) -> Meta {
    Meta {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        labels: BTreeMap::new(),
        resource_version: 1,
        created: 0,
        generation: 1,
        creation_timestamp: created.to_owned(),
    }
}

pub(crate) fn upstream(name: &str, hosts: &[(&str, u16)]) -> Upstream {
    let host = |(addr, port): &(&str, u16)| {
        let addr = addr.parse().map_or_else(|_| HostAddr::Dns((*addr).to_owned()), HostAddr::Ip);
        StaticHost::new(addr, *port)
    };
    Upstream::new(meta("default", name, ""), hosts.iter().map(host).collect())
}

pub(crate) fn auth_config(name: &str) -> AuthConfig {
    let api_key_auth = ApiKeyAuth {
        header_name: "api-key".to_owned(),
        places: Vec::new(),
        label_selector: BTreeMap::from([("team".to_owned(), name.to_owned())]),
        secret_refs: Vec::new(),
        forward_key: false,
        anonymous: false,
        headers_from_metadata: BTreeMap::new(),
    };
    AuthConfig::of(meta("default", name, ""), api_key_auth)
}

pub(crate) fn route(prefix: &str, upstream: &str, extauth: Option<ExtAuth>) -> Route {
    Route {
        name: None,
        matchers: vec![Matcher { path: Some(PathMatcher::Prefix(prefix.to_owned())), ..Matcher::default() }],
        inheritable_matchers: None,
        inheritable_path_matchers: None,
        action: Action::Forward(Target::Single(ObjectRef::new("default", upstream))),
        options: RouteOptions { extauth, ..RouteOptions::default() },
        options_refs: Vec::new(),
    }
}

pub(crate) fn virtual_service(name: &str, domains: &[&str], routes: Vec<Route>) -> VirtualService {
    VirtualService {
        meta: meta("default", name, ""),
        domains: domains.iter().map(|domain| (*domain).to_owned()).collect(),
        routes,
        options: VirtualHostOptions::default(),
        options_refs: Vec::new(),
        ssl_config: None,
        display_name: None,
        warnings: Vec::new(),
    }
}

/// One of the installation, in whose place no default one stands.
pub(crate) fn gateway(name: &str, address: SocketAddr) -> Gateway {
    Gateway::new(meta("keyward-system", name, ""), address.ip(), address.port())
}

/// A Secret with a certificate or with root certificates of `testdata/tls`, or both.
pub(crate) fn tls_secret(name: &str, certificate: Option<&str>, root_ca: Option<&str>) -> TlsSecret {
    let read = |file: String| {
        let path = root().join("testdata/tls").join(file);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::Value::String(text)
    };
    let mut content = serde_json::Map::new();
    if let Some(certificate) = certificate {
        content.insert("tls.crt".to_owned(), read(format!("{certificate}.crt")));
        content.insert("tls.key".to_owned(), read(format!("{certificate}.key")));
    }
    if let Some(root_ca) = root_ca {
        content.insert("ca.crt".to_owned(), read(format!("{root_ca}.crt")));
    }
    let object = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": name, "namespace": "default" }, "stringData": content,
    });
    let (kind, _) = kind::by_type("v1", "Secret").expect("the kind");
    let object = admit(kind, "default", None, object).expect("an admissible Secret");
    match decode(kind, &object).expect("a Secret") {
        Resource::TlsSecret(secret) => secret,
        other => panic!("it is for TLS: {}", other.key()),
    }
}

/// Settings that say this.
pub(crate) fn settings_object(namespace: &str, name: &str, spec: serde_json::Value) -> SettingsObject {
    let object = serde_json::json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Settings",
        "metadata": { "name": name, "namespace": namespace }, "spec": spec,
    });
    let (kind, _) = kind::by_type("service.keyward.io/v1", "Settings").expect("the kind");
    let object = admit(kind, namespace, None, object).expect("admissible Settings");
    match decode(kind, &object).expect("Settings") {
        Resource::Settings(settings) => settings,
        other => panic!("they are Settings: {}", other.key()),
    }
}

/// `sslConfig` with this Secret for these server names.
pub(crate) fn ssl(secret: &str, server_names: &[&str]) -> SslConfig {
    SslConfig {
        source: SslSource::Secret(ObjectRef::new("default", secret)),
        sni_domains: server_names.iter().map(|name| (*name).to_owned()).collect(),
        verify_subject_alt_name: Vec::new(),
        parameters: SslParameters::default(),
        alpn: Alpn::Default,
        one_way_tls: None,
        disable_session_resumption: false,
        connect_timeout: None,
    }
}

pub(crate) fn by_name(name: &str) -> Option<ExtAuth> {
    Some(ExtAuth::ConfigRef(ObjectRef::new("default", name)))
}

/// Puts an object where it belongs.
pub(crate) trait Put {
    fn put(self, input: &mut Input);
}

macro_rules! into_input {
    ($($kind:ident => $field:ident),*) => {$(
        impl Put for $kind {
            fn put(self, input: &mut Input) {
                input.$field.insert(self.meta.object_ref(), Arc::new(self));
            }
        }
    )*};
}

into_input!(
    Gateway => gateways, VirtualService => virtual_services, RouteTable => route_tables,
    VirtualHostOption => virtual_host_options, RouteOption => route_options, Upstream => upstreams,
    UpstreamGroup => upstream_groups, AuthConfig => auth_configs, TlsSecret => tls_secrets,
    SettingsObject => settings
);
