use serde_json::{Value, json};

use super::*;

fn listener_of(name: &str, gateway: Option<&str>, port: u16, chains: &Value) -> Value {
    let origin = gateway.map(|gateway| json!({ "kind": "Gateway", "namespace": "system", "name": gateway }));
    let metadata = origin.map_or(json!({}), |origin| json!({ "filterMetadata": { "keyward.io": origin } }));
    json!({
        "name": name, "filterChains": chains, "metadata": metadata,
        "address": { "socketAddress": { "address": "::", "portValue": port } },
    })
}

fn served(listeners: &[Value]) -> Served {
    let served = json!({
        "role": "a~b", "version": "1", "routes": [], "clusters": [], "extensionConfigs": [],
        "listeners": listeners,
    });
    Served::read(&served).expect("served")
}

fn with_tls(name: &str, server_names: &[&str]) -> Value {
    json!({ "name": name, "filterChainMatch": { "serverNames": server_names }, "transportSocket": {} })
}

#[test]
fn a_listener_is_found_by_its_gateway_its_name_or_its_port() {
    let plain = json!([{ "name": "plain" }]);
    let served = served(&[
        listener_of("l-80", Some("public"), 80, &plain),
        listener_of("l-81", Some("inner"), 81, &plain),
        listener_of("l-443", Some("public"), 443, &json!([with_tls("web", &[])])),
    ]);
    let find = |gateway: Option<&str>, port: Option<u16>, tls: bool| {
        let entry = Entry { gateway: gateway.map(str::to_owned), port };
        listener(&served, &entry, tls).map(|listener| listener.name.clone())
    };
    for (gateway, port, tls, expected) in [
        (Some("public"), None, false, "l-80"),
        (Some("system/public"), None, true, "l-443"),
        (Some("l-81"), None, false, "l-81"),
        (None, Some(81), false, "l-81"),
        (None, None, true, "l-443"),
        // That the client speaks TLS there is for the connection to find out.
        (None, Some(443), false, "l-443"),
    ] {
        assert_eq!(find(gateway, port, tls).as_deref(), Ok(expected), "{gateway:?} {port:?}");
    }
    assert!(matches!(find(None, None, false), Err(EntryError::Several(of)) if of.len() == 2));
    assert!(matches!(find(Some("other"), None, false), Err(EntryError::None(of)) if of.len() == 3));
    let empty = self::served(&[]);
    assert!(matches!(listener(&empty, &Entry::default(), false), Err(EntryError::Nothing)));
}

#[test]
fn the_most_specific_server_name_has_the_connection() {
    let chains = json!([
        with_tls("any", &[]),
        with_tls("exact", &["a.test"]),
        with_tls("wild", &["*.a.test"]),
        with_tls("wilder", &["*.b.a.test"]),
    ]);
    let served = served(&[listener_of("l", None, 443, &chains)]);
    let chain = |name: Option<&str>| match connection(&served.listeners[0], name) {
        Connection::Chain(chain) => chain.name.clone(),
        Connection::Closed(why) => format!("closed: {why}"),
        Connection::Untold(why) => format!("untold: {why}"),
    };
    for (name, expected) in [
        ("a.test", "exact"),
        ("A.test", "exact"),
        ("x.a.test", "wild"),
        ("x.b.a.test", "wilder"),
        ("", "any"),
        ("o.test", "any"),
    ] {
        assert_eq!(chain(Some(name)), expected, "{name}");
    }
    assert!(chain(None).starts_with("closed: the listener speaks TLS"));
}

#[test]
fn what_a_chain_asks_for_besides_is_not_passed_over() {
    let chains = json!([{ "name": "c", "filterChainMatch": { "applicationProtocols": ["h2"] } }]);
    let served = served(&[listener_of("l", None, 80, &chains)]);
    assert!(matches!(connection(&served.listeners[0], None), Connection::Untold(_)));
}
