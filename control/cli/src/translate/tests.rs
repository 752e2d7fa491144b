use keyward_resource::{Place, kind};
use serde_json::json;

use super::*;

/// As a file wants it.
fn document(object: &Value) -> Document {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, _) = kind::by_type(&text("/apiVersion"), &text("/kind")).expect("a kind");
    let place = Place { line: 1, column: 1 };
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    Document { file: "a.yaml".to_owned(), place, kind, namespace, name, object: object.clone() }
}

fn upstream(name: &str, addr: &str) -> Value {
    json!({ "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
            "metadata": { "name": name, "namespace": "default" },
            "spec": { "static": { "hosts": [{ "addr": addr, "port": 9080 }] } } })
}

fn site(upstream: &str) -> Value {
    json!({ "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService",
            "metadata": { "name": "site", "namespace": "default" },
            "spec": { "virtualHost": { "domains": ["site.example"], "routes": [
                { "matchers": [{ "prefix": "/" }],
                  "routeAction": { "single": { "upstream": { "name": upstream, "namespace": "default" } } } }
            ] } } })
}

fn told(objects: &[Value]) -> (Vec<Told>, Findings) {
    let mut findings = Findings::default();
    let input = input(objects.iter().map(document).collect(), &mut findings);
    let translated = translate(&input, &settings::usual("keyward-system"), &LastGood::default());
    findings.take(&translated.reports);
    let code = FilterCode { wasm: vec![0; 9000].into(), vm_id: "keyward".to_owned() };
    let of = |(role, proxy): (&String, &Proxy)| Told::of(role, proxy, &code, &translated.settings);
    (translated.proxies.iter().map(of).collect(), findings)
}

#[test]
fn resources_become_what_envoy_is_told() {
    let (told, findings) = told(&[upstream("httpbin", "192.0.2.1"), site("httpbin")]);
    assert!(findings.said.is_empty(), "{findings:?}");
    let [of_role] = &told[..] else { panic!("one proxy: {told:?}") };
    assert_eq!(of_role.role, "keyward-system~gateway-proxy");
    assert_eq!(of_role.clusters[0]["name"], "httpbin_default");
    assert_eq!(of_role.routes[0]["virtualHosts"][0]["domains"][0], "site.example");
    assert!(!of_role.extension_configs.is_empty() && !of_role.listeners.is_empty());
}

#[test]
fn what_is_missing_is_a_word_and_what_is_refused_a_problem() {
    let (_, findings) = told(&[site("nothing")]);
    assert!(findings.problems == 0 && findings.said[0].contains("Warning"), "{findings:?}");
    // The REST API of a server on this machine is no upstream.
    let (_, findings) = told(&[upstream("own", "127.0.0.1")]);
    assert!(findings.problems == 1 && findings.said[0].starts_with("Upstream default/own"), "{findings:?}");
}
