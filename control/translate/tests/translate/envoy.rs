//! A real Envoy checks what is generated. It refuses unknown fields and values out of range, which
//! no type here would notice.

use std::path::{Path, PathBuf};
use std::process::Command;

use envoy_types::pb::envoy::config::bootstrap::v3::bootstrap::{DynamicResources, StaticResources};
use envoy_types::pb::envoy::config::bootstrap::v3::runtime_layer::LayerSpecifier;
use envoy_types::pb::envoy::config::bootstrap::v3::{Bootstrap, LayeredRuntime, RuntimeLayer};
use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType};
use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{ApiConfigSource, ApiVersion, GrpcService, Node, api_config_source};
use envoy_types::pb::envoy::config::core::v3::{TransportSocket, transport_socket};
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{FilterChain, Listener};
use envoy_types::pb::envoy::extensions::transport_sockets::proxy_protocol::v3::ProxyProtocolUpstreamTransport;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, UpstreamTlsContext,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, http_filter,
};
use envoy_types::pb::google::protobuf::{Any, Struct, Value, value};
use keyward_resource::MAX_REGEX_PROGRAM_SIZE;
use keyward_resource::kinds::ExtAuth;
use keyward_resource::kinds::options::HostRewrite;
use keyward_translate::xds::{FILTER_NAME, GUARD_NAME};
use keyward_translate::{Input, Settings, XdsResources, misconfigured_node, translate, xds};
use prost::{Message, Name};

use crate::decoded::{Decoded, decode, manager, unpack};
use crate::support::{
    Put, auth_config, by_name, filter, gateway, resources, root, route, settings, upstream, virtual_service,
};

/// One of everything.
fn everything() -> Input {
    let mut input = Input::default();
    gateway("v4", ([0, 0, 0, 0], 18_080).into()).put(&mut input);
    gateway("v6", "[::]:18081".parse().expect("an address")).put(&mut input);
    upstream("addresses", &[("127.0.0.1", 80), ("::1", 8080)]).put(&mut input);
    upstream("names", &[("localhost", 80), ("127.0.0.1", 81)]).put(&mut input);
    auth_config("keys").put(&mut input);
    let mut rewritten = route("/rewritten", "names", None);
    rewritten.options.host_rewrite = Some(HostRewrite::Auto(true));
    rewritten.name = Some("with | and / in it".to_owned());
    let routes = vec![
        route("/open", "addresses", Some(ExtAuth::Disable)),
        route("/denied", "addresses", by_name("missing")),
        route("/nowhere", "missing", by_name("keys")),
        rewritten,
        route("/", "addresses", by_name("keys")),
    ];
    virtual_service("main", &["*.example.com", "example.*"], routes.clone()).put(&mut input);
    virtual_service("rest", &["*"], routes).put(&mut input);
    input
}

#[test]
fn envoy_takes_everything_that_is_generated() {
    for (_, resources) in resources(&everything()) {
        let decoded = decode(&resources);
        assert_eq!((decoded.listeners.len(), decoded.routes.len(), decoded.clusters.len()), (2, 2, 2));
        validate(&decoded, &settings());
    }
}

#[test]
fn envoy_takes_an_identity_header_with_many_separators() {
    // One that is as long as that is a large regular expression.
    for header in ["x-the-user_id-of-this-request".to_owned(), "x-user_id".repeat(28)] {
        let settings = Settings { identity_header: header, ..settings() };
        let output = translate(&everything(), &settings, &keyward_translate::LastGood::default());
        for proxy in output.proxies.values() {
            validate(&decode(&xds(proxy, &filter(), &settings)), &settings);
        }
    }
}

#[test]
fn envoy_takes_the_answer_to_unknown_nodes() {
    validate(&decode(&misconfigured_node(&settings())), &settings());
}

#[test]
fn envoy_takes_an_empty_proxy() {
    let resources: Vec<XdsResources> = resources(&Input::default()).into_values().collect();
    assert_eq!(resources.len(), 1);
    validate(&decode(&resources[0]), &settings());
}

/// Runs Envoy's own validation over a static bootstrap that holds everything. Discovery is replaced
/// by what would be discovered, since validation contacts no server.
fn validate(decoded: &Decoded, settings: &Settings) {
    let (ok, said) = verdict(decoded, settings);
    assert!(ok, "envoy refuses the configuration:\n{said}");
    assert!(!said.to_lowercase().contains("deprecated"), "envoy will not take it for ever:\n{said}");
}

/// What Envoy says to a configuration that it must not take.
pub(crate) fn refusal(decoded: &Decoded, settings: &Settings) -> String {
    let (ok, said) = verdict(decoded, settings);
    assert!(!ok, "envoy takes the configuration:\n{said}");
    said
}

fn verdict(decoded: &Decoded, settings: &Settings) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bootstrap.pb");
    std::fs::write(&path, bootstrap(decoded, settings, Filter::Delivered).encode_to_vec())
        .expect("a bootstrap");
    run_validation(&path)
}

/// The Envoy that `./x` fetches.
pub(crate) fn binary() -> PathBuf {
    let envoy = root().join(".tools/bin/envoy");
    assert!(envoy.exists(), "{} is missing: run ./x once, which fetches it", envoy.display());
    envoy
}

fn run_validation(bootstrap: &Path) -> (bool, String) {
    let output = Command::new(binary())
        .args(["--mode", "validate", "--log-level", "warning", "--concurrency", "1", "-c"])
        .arg(bootstrap)
        .output()
        .expect("envoy runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What runs in the place of the API-key filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// The extension.
    Delivered,
    /// What Envoy falls back to while there is no extension; and no guard behind it.
    Default,
}

/// A static bootstrap that holds everything.
pub(crate) fn bootstrap(decoded: &Decoded, settings: &Settings, filter: Filter) -> Bootstrap {
    let mut control = decode(&control_cluster(settings)).clusters;
    control.extend(decoded.clusters.iter().map(|cluster| with_endpoints(cluster, decoded)));
    let grpc = GrpcService {
        target_specifier: Some(TargetSpecifier::EnvoyGrpc(EnvoyGrpc {
            cluster_name: settings.control_cluster.clone(),
            ..EnvoyGrpc::default()
        })),
        ..GrpcService::default()
    };
    let ads = ApiConfigSource {
        api_type: api_config_source::ApiType::DeltaGrpc.into(),
        transport_api_version: ApiVersion::V3.into(),
        grpc_services: vec![grpc],
        ..ApiConfigSource::default()
    };
    Bootstrap {
        node: Some(Node { id: "test".to_owned(), cluster: "test".to_owned(), ..Node::default() }),
        dynamic_resources: Some(DynamicResources { ads_config: Some(ads), ..DynamicResources::default() }),
        static_resources: Some(StaticResources {
            listeners: decoded
                .listeners
                .iter()
                .map(|listener| with_discovered(listener, decoded, filter))
                .collect(),
            clusters: control,
            secrets: decoded.secrets.clone(),
        }),
        layered_runtime: Some(runtime()),
        ..Bootstrap::default()
    }
}

/// As a bootstrap of a proxy has it.
fn runtime() -> LayeredRuntime {
    let size = Value { kind: Some(value::Kind::NumberValue(MAX_REGEX_PROGRAM_SIZE.into())) };
    let fields = [("re2.max_program_size.error_level".to_owned(), size)].into();
    let layer = LayerSpecifier::StaticLayer(Struct { fields });
    LayeredRuntime { layers: vec![RuntimeLayer { name: "keyward".to_owned(), layer_specifier: Some(layer) }] }
}

/// A cluster named as the control server's, made by the code under test.
fn control_cluster(settings: &Settings) -> XdsResources {
    let mut input = Input::default();
    upstream("control", &[("localhost", 9978)]).put(&mut input);
    let output = translate(&input, settings, &keyward_translate::LastGood::default());
    let mut proxy = output.proxies.into_values().next().expect("the default proxy");
    proxy.clusters.values_mut().for_each(|cluster| cluster.name.clone_from(&settings.control_cluster));
    xds(&proxy, &filter(), settings)
}

fn with_endpoints(cluster: &Cluster, decoded: &Decoded) -> Cluster {
    let mut cluster = cluster.clone();
    let sockets = cluster.transport_socket_matches.iter_mut().filter_map(|one| one.transport_socket.as_mut());
    sockets.chain(&mut cluster.transport_socket).for_each(static_tls);
    let Some(endpoints) = decoded.endpoints.iter().find(|endpoints| endpoints.cluster_name == cluster.name)
    else {
        return cluster;
    };
    Cluster {
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(DiscoveryType::Static.into())),
        eds_cluster_config: None,
        load_assignment: Some(endpoints.clone()),
        ..cluster
    }
}

fn with_discovered(listener: &Listener, decoded: &Decoded, instead: Filter) -> Listener {
    let mut listener = listener.clone();
    listener.filter_chains.iter_mut().for_each(|chain| discover(chain, decoded, instead));
    listener
}

fn discover(chain: &mut FilterChain, decoded: &Decoded, instead: Filter) {
    let mut manager = manager(chain);
    let Some(RouteSpecifier::Rds(rds)) = &manager.route_specifier else { panic!("no route discovery") };
    let routes = decoded.routes.iter().find(|routes| routes.name == rds.route_config_name);
    manager.route_specifier = Some(RouteSpecifier::RouteConfig(routes.expect("its routes").clone()));
    for filter in manager.http_filters.iter_mut().filter(|filter| filter.name == FILTER_NAME) {
        let Some(http_filter::ConfigType::ConfigDiscovery(source)) = &filter.config_type else {
            panic!("no discovery of the filter")
        };
        let extension = decoded.extensions.iter().find(|extension| extension.name == FILTER_NAME);
        let config = match instead {
            Filter::Delivered => extension.and_then(|extension| extension.typed_config.clone()),
            Filter::Default => source.default_config.clone(),
        };
        let config = config.expect("the filter");
        assert!(source.type_urls.contains(&config.type_url));
        filter.config_type = Some(http_filter::ConfigType::TypedConfig(config));
    }
    if instead == Filter::Default {
        manager.http_filters.retain(|filter| filter.name != GUARD_NAME);
    }
    let packed = Any { type_url: HttpConnectionManager::type_url(), value: manager.encode_to_vec() };
    chain.filters[0].config_type = Some(ConfigType::TypedConfig(packed));
    if let Some(socket) = &mut chain.transport_socket {
        static_tls(socket);
    }
}

/// Secrets of the bootstrap have no source to be discovered from: Envoy looks them up there by name.
fn static_tls(socket: &mut TransportSocket) {
    let Some(transport_socket::ConfigType::TypedConfig(config)) = &mut socket.config_type else {
        panic!("no typed config")
    };
    let without = |common: &mut Option<CommonTlsContext>| {
        let common = common.as_mut().expect("a context");
        common.tls_certificate_sds_secret_configs.iter_mut().for_each(|secret| secret.sds_config = None);
        match &mut common.validation_context_type {
            Some(ValidationContextType::ValidationContextSdsSecretConfig(secret)) => secret.sds_config = None,
            Some(ValidationContextType::CombinedValidationContext(both)) => {
                let secret = both.validation_context_sds_secret_config.as_mut().expect("a secret");
                secret.sds_config = None;
            }
            _ => {}
        }
    };
    if config.type_url == DownstreamTlsContext::type_url() {
        let mut context: DownstreamTlsContext = unpack(config);
        without(&mut context.common_tls_context);
        config.value = context.encode_to_vec();
    } else if config.type_url == UpstreamTlsContext::type_url() {
        let mut context: UpstreamTlsContext = unpack(config);
        without(&mut context.common_tls_context);
        config.value = context.encode_to_vec();
    } else if config.type_url == ProxyProtocolUpstreamTransport::type_url() {
        let mut header: ProxyProtocolUpstreamTransport = unpack(config);
        static_tls(header.transport_socket.as_mut().expect("what is inside"));
        config.value = header.encode_to_vec();
    }
}
