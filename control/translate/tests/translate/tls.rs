//! What holds of TLS for every configuration, over generated ones.

use std::collections::{BTreeMap, BTreeSet};

use envoy_types::pb::envoy::config::core::v3::{TransportSocket, transport_socket::ConfigType};
use envoy_types::pb::envoy::config::listener::v3::FilterChain;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, UpstreamTlsContext,
};
use keyward_resource::kinds::Upstream;
use keyward_resource::kinds::ssl::{SslFiles, SslSource, UpstreamSslConfig};
use keyward_resource::{ObjectKey, ObjectRef, State};
use keyward_translate::proxy::{Listener, Proxy, names};
use keyward_translate::xds::SECRET;
use keyward_translate::{Input, LastGood, Output, Settings, translate, xds};
use prop::sample::select;
use proptest::prelude::*;

use crate::decoded::{Decoded, decode, unpack};
use crate::generators::inputs;
use crate::support::{Put, filter, root, settings, upstream};

/// Upstreams with TLS: with a Secret that is there or is not, or with none.
fn upstreams() -> impl Strategy<Value = Vec<Upstream>> {
    let secret = prop::option::of(select(&["one", "two", "three"][..]));
    let one = (select(&["one", "two", "four"][..]), secret, any::<bool>(), any::<bool>()).prop_map(
        |(name, secret, one_way_tls, named)| Upstream {
            tls: Some(UpstreamSslConfig {
                source: secret.map(|secret| SslSource::Secret(ObjectRef::new("default", secret))),
                one_way_tls,
                verify_subject_alt_name: named.then(|| "upstream.test".to_owned()).into_iter().collect(),
                ..UpstreamSslConfig::default()
            }),
            ..upstream(name, &[("127.0.0.1", 80), ("localhost", 81)])
        },
    );
    prop::collection::vec(one, 0..3)
}

fn with_upstreams() -> impl Strategy<Value = Input> {
    (inputs(), upstreams()).prop_map(|(mut input, upstreams)| {
        upstreams.into_iter().for_each(|upstream| upstream.put(&mut input));
        input
    })
}

/// The secrets that a context asks for.
fn asked_for(common: Option<&CommonTlsContext>) -> BTreeSet<String> {
    let Some(common) = common else { return BTreeSet::new() };
    assert!(common.tls_certificates.is_empty(), "certificates come as secrets");
    let root_ca = match &common.validation_context_type {
        None => None,
        Some(ValidationContextType::ValidationContextSdsSecretConfig(secret)) => Some(secret),
        Some(ValidationContextType::CombinedValidationContext(both)) => {
            assert!(both.default_validation_context.as_ref().is_some_and(|names| names.trusted_ca.is_none()));
            both.validation_context_sds_secret_config.as_ref()
        }
        Some(_) => panic!("root certificates come as secrets"),
    };
    common
        .tls_certificate_sds_secret_configs
        .iter()
        .chain(root_ca)
        .map(|secret| secret.name.clone())
        .collect()
}

fn of_socket(socket: &TransportSocket) -> BTreeSet<String> {
    let Some(ConfigType::TypedConfig(config)) = &socket.config_type else { panic!("no typed config") };
    if config.type_url.ends_with("UpstreamTlsContext") {
        asked_for(unpack::<UpstreamTlsContext>(config).common_tls_context.as_ref())
    } else {
        asked_for(unpack::<DownstreamTlsContext>(config).common_tls_context.as_ref())
    }
}

fn chains(decoded: &Decoded) -> impl Iterator<Item = &FilterChain> {
    decoded.listeners.iter().flat_map(|listener| &listener.filter_chains)
}

fn all_asked_for(decoded: &Decoded) -> BTreeSet<String> {
    let of_clients = chains(decoded).flat_map(|chain| &chain.transport_socket);
    let of_upstreams = decoded.clusters.iter().flat_map(|cluster| {
        let matches = cluster.transport_socket_matches.iter().flat_map(|one| &one.transport_socket);
        matches.chain(&cluster.transport_socket)
    });
    of_clients.chain(of_upstreams).flat_map(of_socket).collect()
}

/// Every line of every private key that there is, as it stands in a PEM file.
fn key_lines() -> Vec<String> {
    let lines = ["web", "shop"].iter().flat_map(|name| {
        let path = root().join("testdata/tls").join(format!("{name}.key"));
        let text = std::fs::read_to_string(path).expect("a key");
        text.lines().filter(|line| !line.starts_with('-')).map(str::to_owned).collect::<Vec<_>>()
    });
    lines.collect()
}

fn holds(bytes: &[u8], line: &str) -> bool {
    bytes.windows(line.len()).any(|window| window == line.as_bytes())
}

fn fresh(input: &Input) -> Output {
    translate(input, &settings(), &LastGood::default())
}

/// Whoever runs the installation has to say so first.
#[test]
fn no_file_is_read_unless_a_folder_is_named() {
    let mut upstream = upstream("files", &[("127.0.0.1", 443)]);
    let files = SslFiles { pair: None, root_ca: Some("/testdata/tls/ca.crt".to_owned()) };
    let source = Some(SslSource::Files(files));
    upstream.tls = Some(UpstreamSslConfig { source, ..UpstreamSslConfig::default() });
    let mut input = Input::default();
    upstream.put(&mut input);
    let key = ObjectKey::new("Upstream", "default", "files");
    let state = |settings: &Settings| {
        let output = translate(&input, settings, &LastGood::default());
        let proxies = format!("{:?}", output.proxies);
        let told = proxies.contains("/testdata/tls/ca.crt");
        (output.reports.get(&key).expect("a report").clone(), told)
    };
    let (report, told) = state(&settings());
    assert_eq!((report.state, told), (State::Accepted, true));
    // Also what was right once is not read any more.
    let before = translate(&input, &settings(), &LastGood::default()).last_good;
    let nowhere = Settings { tls_files: None, ..settings() };
    let after = translate(&input, &nowhere, &before);
    assert_eq!(after.reports.get(&key).expect("a report").state, State::Rejected);
    assert!(after.proxies.values().all(|proxy| proxy.clusters.is_empty() && proxy.secrets.is_empty()));
    let (report, told) = state(&nowhere);
    assert_eq!((report.state, told), (State::Rejected, false));
    assert!(report.reasons[0].contains("keyward serve --tls-files"), "{:?}", report.reasons);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A name without its secret would leave a chain without a certificate; a secret without its name
    /// would be with a proxy that has no use for it.
    #[test]
    fn a_proxy_has_exactly_the_secrets_that_it_asks_for(input in with_upstreams()) {
        for proxy in fresh(&input).proxies.values() {
            let resources = xds(proxy, &filter(), &settings());
            let decoded = decode(&resources);
            let given: BTreeSet<String> = decoded.secrets.iter().map(|secret| secret.name.clone()).collect();
            prop_assert_eq!(given, all_asked_for(&decoded));
        }
    }

    #[test]
    fn private_keys_are_in_secrets_and_nowhere_else(states in prop::collection::vec(with_upstreams(), 1..3)) {
        let lines = key_lines();
        let mut last_good = LastGood::default();
        for input in &states {
            let output = translate(input, &settings(), &last_good);
            let printed = format!("{input:?}{output:?}");
            prop_assert!(lines.iter().all(|line| !printed.contains(line)));
            for proxy in output.proxies.values() {
                let resources = xds(proxy, &filter(), &settings());
                let printed = format!("{resources:?}");
                prop_assert!(lines.iter().all(|line| !printed.contains(line)));
                for resource in resources.iter().filter(|resource| resource.type_url != SECRET) {
                    prop_assert!(lines.iter().all(|line| !holds(&resource.bytes, line)), "{}", resource.name);
                }
            }
            last_good = output.last_good;
        }
    }

    /// Envoy refuses a listener of which two chains take the same connections.
    #[test]
    fn no_two_chains_take_the_same_connections(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            for listener in &decode(&xds(proxy, &filter(), &settings())).listeners {
                let mut taken = BTreeSet::new();
                let mut chain_names = BTreeSet::new();
                for chain in &listener.filter_chains {
                    prop_assert!(chain_names.insert(chain.name.clone()), "{}", chain.name);
                    let names = chain.filter_chain_match.as_ref().map(|one| one.server_names.clone());
                    for name in names.unwrap_or_else(|| vec![String::new()]) {
                        prop_assert!(taken.insert(name.clone()), "{} of {}", name, listener.name);
                    }
                }
                prop_assert!(!listener.filter_chains.is_empty());
                let with_tls = listener.filter_chains.iter().filter(|chain| chain.transport_socket.is_some());
                let with_tls = with_tls.count();
                prop_assert!(with_tls == 0 || with_tls == listener.filter_chains.len());
                prop_assert_eq!(listener.listener_filters.len(), usize::from(with_tls > 0));
            }
        }
    }

    /// Whoever asks clients for certificates has them verified, and never lets go without.
    #[test]
    fn a_root_certificate_makes_a_client_certificate_required(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            let decoded = decode(&xds(proxy, &filter(), &settings()));
            for socket in chains(&decoded).flat_map(|chain| &chain.transport_socket) {
                let Some(ConfigType::TypedConfig(config)) = &socket.config_type else { panic!("no TLS") };
                let context: DownstreamTlsContext = unpack(config);
                let verified = context.common_tls_context.expect("a context").validation_context_type.is_some();
                prop_assert_eq!(context.require_client_certificate.is_some_and(|yes| yes.value), verified);
            }
        }
    }

    /// Routes of one certificate are not reached under another: the virtual hosts of a chain are those
    /// of virtual services with its terms.
    #[test]
    fn a_chain_serves_the_virtual_services_of_its_own_terms(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            for listener in &proxy.listeners {
                for chain in &listener.chains {
                    for host in &chain.virtual_hosts {
                        let ssl = input.virtual_services[&host.virtual_service].ssl_config.as_ref();
                        let certificate = ssl.map(|ssl| match &ssl.source {
                            SslSource::Secret(secret) => names::certificate(secret),
                            SslSource::Files(_) => panic!("no files here"),
                        });
                        let of_chain = chain.tls.as_ref().map(|tls| tls.terms.certificate.clone());
                        prop_assert_eq!(certificate, of_chain);
                    }
                }
            }
        }
    }

    /// A Secret that goes takes nothing with it that is served already, and says so to those who use it.
    #[test]
    fn a_lost_secret_harms_nobody_who_is_served(input in with_upstreams(), lost in select(&["one", "two", "three"][..])) {
        let before = fresh(&input);
        let reference = ObjectRef::new("default", lost);
        let mut without = input.clone();
        without.tls_secrets.remove(&reference);
        let after = translate(&without, &settings(), &before.last_good);
        for (role, proxy) in &before.proxies {
            prop_assert_eq!(told(proxy), told(&after.proxies[role]));
        }
        for (kind, objects) in users(&input, &reference) {
            for object in objects {
                let key = ObjectKey::new(kind, &object.namespace, &object.name);
                prop_assert_eq!(after.reports.get(&key).expect("a report").state, State::Rejected);
            }
        }
        // Without anything to go back to, those who do not use it are served all the same.
        let fresh = fresh(&without);
        let used: BTreeSet<ObjectRef> = users(&input, &reference).remove("VirtualService").unwrap_or_default();
        for (role, proxy) in &before.proxies {
            for host in proxy.listeners.iter().flat_map(Listener::virtual_hosts) {
                let served = fresh.proxies[role].listeners.iter().flat_map(Listener::virtual_hosts);
                let mut served = served.map(|host| &host.virtual_service);
                prop_assert!(used.contains(&host.virtual_service) || served.any(|one| *one == host.virtual_service));
            }
        }
    }
}

/// Listeners, routes, clusters and secrets, without the reports in the routes' origin.
fn told(proxy: &Proxy) -> Vec<(String, Vec<u8>)> {
    let resources = xds(proxy, &filter(), &settings());
    resources.iter().map(|one| (format!("{} {}", one.type_url, one.name), one.bytes.to_vec())).collect()
}

/// Who uses a Secret, by kind.
fn users(input: &Input, secret: &ObjectRef) -> BTreeMap<&'static str, BTreeSet<ObjectRef>> {
    let is = |source: &SslSource| matches!(source, SslSource::Secret(one) if one == secret);
    let services = input
        .virtual_services
        .iter()
        .filter(|(_, service)| service.ssl_config.as_ref().is_some_and(|ssl| is(&ssl.source)));
    let upstreams = input
        .upstreams
        .iter()
        .filter(|(_, upstream)| upstream.tls.as_ref().and_then(|tls| tls.source.as_ref()).is_some_and(is));
    BTreeMap::from([
        ("VirtualService", services.map(|(reference, _)| reference.clone()).collect()),
        ("Upstream", upstreams.map(|(reference, _)| reference.clone()).collect()),
    ])
}
