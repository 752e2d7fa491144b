//! Looking at many objects takes no time that anybody notices.

use std::time::{Duration, Instant};

use keyward_check::{Choice, Verdict, World, check};
use keyward_resource::kind;
use serde_json::{Value, json};

const OBJECTS: usize = 5_000;
/// A hundred times what it takes: it is there for what grows with the square of the number.
const LIMIT: Duration = Duration::from_secs(20);

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "kind": kind,
        "metadata": { "namespace": "team", "name": name, "generation": 1, "labels": { "part": "shop" } },
        "spec": spec,
        "status": {
            "observedGeneration": 1,
            "statuses": { "keyward-system": { "state": "Accepted", "reason": "", "reportedBy": "keyward" } },
        },
    })
}

/// Of each kind as many, each virtual service with a table and an upstream of its own.
fn objects() -> Vec<Value> {
    let each = OBJECTS / 4;
    let of = |index: usize| {
        let matcher = json!([{ "prefix": "/" }]);
        let to =
            json!({ "single": { "upstream": { "namespace": "team", "name": format!("upstream-{index}") } } });
        let table = json!({ "ref": { "namespace": "team", "name": format!("table-{index}") } });
        let keys =
            json!({ "k8sSecretApikeyStorage": { "labelSelector": { "team": format!("team-{index}") } } });
        let auth = json!({ "namespace": "team", "name": format!("keys-{index}") });
        [
            object(
                "Upstream",
                &format!("upstream-{index}"),
                json!({ "static": { "hosts": [{ "addr": "10.0.0.1", "port": 80 }] } }),
            ),
            object(
                "RouteTable",
                &format!("table-{index}"),
                json!({ "routes": [{ "matchers": matcher, "routeAction": to }] }),
            ),
            object("AuthConfig", &format!("keys-{index}"), json!({ "configs": [{ "apiKeyAuth": keys }] })),
            object(
                "VirtualService",
                &format!("service-{index}"),
                json!({ "virtualHost": {
                "domains": [format!("{index}.example")],
                "options": { "extauth": { "configRef": auth } },
                "routes": [{ "matchers": matcher, "delegateAction": table }],
            } }),
            ),
        ]
    };
    (0..each).flat_map(of).collect()
}

#[test]
fn five_thousand_objects_are_looked_at_at_once() {
    let objects = objects();
    let began = Instant::now();
    let mut world = World::new("keyward-system");
    for mut object in objects {
        let kind = kind::by_name(object["kind"].as_str().expect("a kind")).expect("it is known");
        object["apiVersion"] = kind.api_version().into();
        world.take(kind, object);
    }
    let outcome = check(&world, None, &Choice::default(), 0);
    let took = began.elapsed();
    assert_eq!((world.len(), outcome.verdict()), (OBJECTS, Verdict::Healthy));
    assert!(took < LIMIT, "{OBJECTS} objects took {took:?}");
}
