use serde_json::json;

use super::*;

fn served(listeners: Value, clusters: Value, secrets: Value) -> Served {
    serde_json::from_value(json!({
        "role": "a~b", "version": "1", "listeners": listeners, "routes": [], "clusters": clusters,
        "endpoints": [], "extensionConfigs": [], "secrets": secrets,
    }))
    .unwrap()
}

fn shown(answer: &Answer) -> Vec<String> {
    let detail = |it: &Resource| it.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    answer.resources.iter().map(|it| format!("{} {} {:?}{}", it.of, it.name, it.state, detail(it))).collect()
}

#[test]
fn each_resource_is_the_same_missing_stale_or_extra() {
    let served = served(
        json!([{ "name": "l", "perConnectionBufferLimitBytes": 5 }, { "name": "refused" }, { "name": "gone" }]),
        json!([{ "name": "one", "connectTimeout": "0.100s" }, { "name": "two", "connectTimeout": "2s" }]),
        json!(["web"]),
    );
    let dump = json!({ "configs": [
        { "dynamic_listeners": [
            { "name": "l", "active_state": { "listener": { "name": "l", "per_connection_buffer_limit_bytes": 5 } } },
            { "name": "refused", "error_state": { "details": "cannot bind" } },
            { "name": "gone", "draining_state": { "listener": { "name": "gone" } } },
        ] },
        { "static_clusters": [{ "cluster": { "name": "keyward-control" } }],
          "dynamic_active_clusters": [
            { "version_info": "1", "cluster": { "name": "one", "connect_timeout": "0.1s" } },
            { "version_info": "1", "cluster": { "name": "two", "connect_timeout": "1s" } },
            { "version_info": "1", "cluster": { "name": "old" } },
        ] },
        { "dynamic_active_secrets": [{ "name": "web", "secret": {} }] },
    ] });
    let answer = compare(&served, &dump);
    assert!(!answer.same);
    assert_eq!(
        shown(&answer),
        [
            "listeners l Same",
            "listeners refused Stale (cannot bind)",
            "listeners gone Missing",
            "clusters one Same",
            "clusters two Stale (differs at connecttimeout)",
            "clusters old Extra",
            "secrets web Same",
        ]
    );
}

#[test]
fn two_forms_of_one_resource_are_the_same() {
    let same = |served: Value, reported: Value| difference("clusters", &served, &reported).is_none();
    assert!(same(
        json!({ "typedConfig": { "@type": "a.B", "x": "1" } }),
        json!({ "typed_config": { "@type": "a.B", "x": "1" } })
    ));
    assert!(same(json!({ "name": "x" }), json!({ "@type": "type.googleapis.com/a.B", "name": "x" })));
    assert!(same(json!({ "a": false, "b": "", "c": [] }), json!({})));
    assert!(!same(json!({ "a": {} }), json!({})));
    let unread =
        json!({ "config": { "@type": "type.googleapis.com/google.protobuf.StringValue", "value": "" } });
    assert!(same(unread.clone(), json!({ "config": {} })) && same(unread, json!({})));
    // 9 bytes, of which the server tells the number.
    assert!(same(json!({ "inlineBytes": "OSBieXRlcw==" }), json!({ "inline_bytes": "AAAAAAAAAAAA" })));
    assert!(!same(json!({ "inlineBytes": "OCBieXRlcw==" }), json!({ "inline_bytes": "AAAAAAAAAAAA" })));
    assert!(!same(json!({ "a": [1, 2] }), json!({ "a": [1] })));
    assert!(!same(json!({ "a": "1s" }), json!({ "a": "2s" })));
    let place = difference("clusters", &json!({ "aB": [{ "c": 1 }] }), &json!({ "a_b": [{ "c": 2 }] }));
    assert_eq!(place.as_deref(), Some("ab[0].c"));
}

#[test]
fn endpoints_are_compared_by_their_addresses() {
    let endpoint = |port: u16| json!({ "endpoint": { "address": { "socketAddress": { "address": "10.0.0.1", "portValue": port } } } });
    let reported = json!({ "cluster_name": "c", "policy": { "overprovisioning_factor": 140 }, "endpoints": [{
        "lb_endpoints": [{ "endpoint": { "address": { "socket_address": { "address": "10.0.0.1", "port_value": 80 } } },
                           "health_status": "HEALTHY" }],
    }] });
    let of = |port: u16| json!({ "clusterName": "c", "endpoints": [{ "lbEndpoints": [endpoint(port)] }] });
    assert_eq!(difference("endpoints", &of(80), &reported), None);
    assert!(difference("endpoints", &of(81), &reported).is_some());
}
