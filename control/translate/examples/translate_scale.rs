//! How long a translation takes at ten thousand virtual services: from scratch, and after one change.
//!
//! ```text
//! cargo run --release -p keyward-translate --example translate_scale [virtual services] [routes of each]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyward_resource::kinds::options::{RouteOptions, VirtualHostOptions};
use keyward_resource::kinds::route::{Action, Matcher, PathMatcher, Target};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_resource::kinds::{
    ApiKeyAuth, AuthConfig, ExtAuth, HostAddr, Route, StaticHost, Upstream, VirtualService,
};
use keyward_resource::{Meta, ObjectRef};
use keyward_translate::{Encoder, FilterCode, Input, LastGood, Routing, Settings, Translator};

fn meta(name: &str, resource_version: u64) -> Meta {
    let (namespace, name) = ("default".to_owned(), name.to_owned());
    Meta {
        namespace,
        name,
        labels: BTreeMap::new(),
        resource_version,
        created: 1,
        generation: 1,
        creation_timestamp: String::new(),
    }
}

fn service(at: usize, routes: usize, version: u64) -> VirtualService {
    let route = |index: usize| Route {
        name: None,
        matchers: vec![Matcher {
            path: Some(PathMatcher::Prefix(format!("/{index}/{version}"))),
            ..Matcher::default()
        }],
        inheritable_matchers: None,
        inheritable_path_matchers: None,
        action: Action::Forward(Target::Single(ObjectRef::new("default", format!("up-{at}")))),
        options: RouteOptions::default(),
        options_refs: Vec::new(),
    };
    let extauth = Some(ExtAuth::ConfigRef(ObjectRef::new("default", "keys")));
    VirtualService {
        meta: meta(&format!("site-{at}"), version),
        domains: vec![format!("site-{at}.example.com")],
        routes: (0..routes).map(route).collect(),
        options: VirtualHostOptions { extauth, ..VirtualHostOptions::default() },
        options_refs: Vec::new(),
        ssl_config: None,
        display_name: None,
        warnings: Vec::new(),
    }
}

fn input(services: usize, routes: usize) -> Input {
    let mut input = Input::default();
    let auth = ApiKeyAuth {
        header_name: "api-key".to_owned(),
        places: Vec::new(),
        label_selector: BTreeMap::from([("team".to_owned(), "infra".to_owned())]),
        secret_refs: Vec::new(),
        forward_key: false,
        anonymous: false,
        headers_from_metadata: BTreeMap::new(),
    };
    let keys = AuthConfig::of(meta("keys", 1), auth);
    input.auth_configs.insert(keys.meta.object_ref(), Arc::new(keys));
    for at in 0..services {
        let host =
            StaticHost { addr: HostAddr::Ip([127, 0, 0, 1].into()), port: 8080, sni: None, weight: None };
        let upstream = Upstream::new(meta(&format!("up-{at}"), 1), vec![host]);
        input.upstreams.insert(upstream.meta.object_ref(), Arc::new(upstream));
        let service = service(at, routes, 1);
        input.virtual_services.insert(service.meta.object_ref(), Arc::new(service));
    }
    input
}

fn settings() -> Settings {
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
        tls_files: None,
        log_files: None,
        access_log: None,
        watch_namespaces: BTreeSet::new(),
        control_cluster: "keyward-control".to_owned(),
        own_ports: Vec::new(),
        circuit_breakers: CircuitBreakers::default(),
        routing: Routing::default(),
    }
}

fn main() -> std::io::Result<()> {
    let number = |at: usize, default: usize| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (services, routes) = (number(1, 10_000), number(2, 3));
    let mut input = input(services, routes);
    let settings = settings();
    let filter = FilterCode { wasm: Vec::new().into(), vm_id: "scale".to_owned() };
    let (mut translator, mut encoder) = (Translator::default(), Encoder::default());
    let mut last_good = LastGood::default();
    let mut round = |input: &Input| {
        let start = Instant::now();
        let output = translator.translate(input, &settings, &last_good);
        let translated = start.elapsed();
        let mut bytes = 0;
        for proxy in output.proxies.values() {
            bytes += encoder
                .xds(proxy, &filter, &settings)
                .routes
                .iter()
                .map(|one| one.bytes.len())
                .sum::<usize>();
        }
        let encoded = start.elapsed() - translated;
        last_good = output.last_good;
        (translated, encoded, bytes)
    };
    let mut out = std::io::stdout().lock();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (translated, encoded, bytes) = round(&input);
    writeln!(out, "{services} virtual services with {routes} routes each, {} kB of routes", bytes / 1024)?;
    writeln!(out, "from scratch: translate {:.1} ms, encode {:.1} ms", ms(translated), ms(encoded))?;
    let mut times = Vec::new();
    for version in 2..12 {
        let changed = service(services / 2, routes, version);
        input.virtual_services.insert(changed.meta.object_ref(), Arc::new(changed));
        let (translated, encoded, _) = round(&input);
        times.push((translated + encoded, translated, encoded));
    }
    times.sort();
    let (_, translated, encoded) = times[times.len() / 2];
    writeln!(
        out,
        "one change (median of 10): translate {:.1} ms, encode {:.1} ms",
        ms(translated),
        ms(encoded)
    )
}
