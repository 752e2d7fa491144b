//! The filter without a control server: its configuration is written by people.

use std::time::Duration;

use keyward_filter_core::wire::client_message::Kind;
use keyward_integration::examples;
use keyward_integration::headers::Headers;
use keyward_integration::wasm_host::{Exchange, Host, Vm};
use serde_json::{Value, json};

use crate::kit::{entries, open_stream, said, send_snapshot, with_key};

/// The SHA-256 of `ann-key`.
const ANN: &str = "21fdbeecb49c56644f6cc4444328f5da14132c8a38fd86aad19b4da9e521a79c";
/// That of `bob-key`.
const BOB: &str = "9b94dc1a51a38769f135edf04033ad7f2f487b6c25929be7a861cfc1ab10cf98";

fn configuration() -> Value {
    json!({
        "apiVersion": "filter.keyward.io/v1",
        "policies": { "team/keys": { "headersFromMetadata": { "x-team": { "name": "team" } } } },
        "defaultPolicy": "team/keys",
        "routes": [{ "prefix": "open", "open": true }],
        "keys": [
            { "sha256": ANN, "identity": "ann", "metadata": { "team": "blue" } },
            { "sha256": BOB, "identity": "bob", "expiresAt": "2023-11-14T22:14:20Z" },
        ],
    })
}

fn start(configuration: &Value) -> Vm {
    Vm::start(&Host::load().unwrap(), configuration.to_string().as_bytes()).unwrap()
}

/// Whose the request is, or the status of the answer.
fn whose(exchange: &Exchange) -> Result<&str, u32> {
    match exchange.outcome.identity() {
        Some(identity) => Ok(str::from_utf8(identity).unwrap()),
        None => Err(exchange.outcome.local().unwrap().status),
    }
}

#[test]
fn written_keys_open_and_others_do_not() {
    let mut vm = start(&configuration());
    for (key, expected) in [("ann-key", Ok("ann")), ("bob-key", Ok("bob")), ("eve-key", Err(401))] {
        let exchange = vm.round_trip("any", with_key(key)).unwrap();
        assert_eq!(whose(&exchange), expected, "{key}");
    }
    assert_eq!(whose(&vm.round_trip("any", Headers::new()).unwrap()), Err(401));
    let told = vm.round_trip("any", with_key("ann-key")).unwrap();
    assert_eq!(told.outcome.forwarded().unwrap().all("x-team"), [b"blue"]);
    // Its clock stands at 22:13:20 of that day when it starts.
    vm.advance(Duration::from_secs(61)).unwrap();
    assert_eq!(whose(&vm.round_trip("any", with_key("bob-key")).unwrap()), Err(401));
    vm.advance(Duration::from_millis(500)).unwrap();
    vm.advance(Duration::from_secs(15)).unwrap();
    assert_eq!(vm.metric("keyward.denied.expired"), Some(1));
    assert!(vm.grpc_streams().is_empty(), "nobody said where one would lead");
}

#[test]
fn what_clients_send_as_identity_is_taken_off_every_route() {
    let mut vm = start(&configuration());
    for (route, key) in [("open", None), ("any", Some("ann-key"))] {
        let mut headers = Headers::new()
            .with("x-user-id", "root")
            .with("X_User_Id", "root")
            .with("x_user-id", "root")
            .with("x-user_id", "root")
            .with("x_team", "root")
            .with("x-team", "root")
            .with("x-other", "stays");
        if let Some(key) = key {
            headers.add("api-key", key);
        }
        let exchange = vm.round_trip(route, headers).unwrap();
        let forwarded = exchange.outcome.forwarded().unwrap();
        assert!(forwarded.iter().all(|(_, value)| value != b"root"), "{route}: {forwarded:?}");
        assert_eq!(forwarded.all("x-user-id"), key.map(|_| b"ann".as_slice()).as_slice(), "{route}");
        assert_eq!(forwarded.all("x-other"), [b"stays"]);
    }
}

#[test]
fn a_configuration_with_mistakes_is_refused_and_the_log_says_where() {
    let mut vm = start(&configuration());
    let mut wrong = configuration();
    wrong["keys"][0]["sha256"] = ANN[1..].into();
    wrong["keys"][1]["api-key"] = "bob-key-in-plain".into();
    wrong["policies"]["team/keys"]["headerName"] = "x_user_id".into();
    let before = vm.logs().len();
    assert!(!vm.configure(wrong.to_string().as_bytes()).unwrap());
    let logged: String = vm.logs().iter().skip(before).map(|(_, line)| line.as_str()).collect();
    for place in ["/keys/0/sha256: must be 64", "/keys/1: has a field", "/policies/team~1keys/headerName"] {
        assert!(logged.contains(place), "{place}: {logged}");
    }
    for secret in [&ANN[1..], "bob-key", BOB] {
        assert!(!logged.contains(secret), "{logged}");
    }
    assert_eq!(whose(&vm.round_trip("any", with_key("ann-key")).unwrap()), Ok("ann"), "the old one stays");
    assert!(Vm::start(&Host::load().unwrap(), wrong.to_string().as_bytes()).is_err());
}

#[test]
fn a_key_stream_takes_the_place_of_the_written_keys() {
    let mut streamed = configuration();
    streamed["keyStream"] = json!({ "cluster": "keyward-control", "role": "keyward-system~edge" });
    let mut vm = start(&streamed);
    assert_eq!(whose(&vm.round_trip("any", with_key("ann-key")).unwrap()), Ok("ann"), "until then");
    let stream = open_stream(&mut vm);
    let said = said(&mut vm, stream);
    let [Kind::Subscribe(subscribe)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(subscribe.role, "keyward-system~edge");
    send_snapshot(&mut vm, stream, &entries(&[("may-key", "may")]));
    assert_eq!(whose(&vm.round_trip("any", with_key("may-key")).unwrap()), Ok("may"));
    assert_eq!(whose(&vm.round_trip("any", with_key("ann-key")).unwrap()), Err(401));

    // Without a stream nothing of it counts any more, and it is closed.
    assert!(vm.configure(configuration().to_string().as_bytes()).unwrap());
    assert_eq!(whose(&vm.round_trip("any", with_key("may-key")).unwrap()), Err(401));
    assert_eq!(whose(&vm.round_trip("any", with_key("ann-key")).unwrap()), Ok("ann"));
    vm.advance(Duration::from_secs(5)).unwrap();
    assert!(vm.grpc_streams().is_empty());
}

#[test]
fn without_written_keys_requests_wait_for_the_stream() {
    let mut streamed = configuration();
    streamed.as_object_mut().unwrap().remove("keys");
    streamed["keyStream"] = json!({ "cluster": "keyward-control", "role": "keyward-system~edge" });
    let mut vm = start(&streamed);
    let waiting = vm.request("any", with_key("may-key")).unwrap();
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("may-key", "may")]));
    assert_eq!(vm.outcome(waiting.id).unwrap().identity(), Some(b"may".as_slice()));
    vm.end(waiting.id).unwrap();
}

/// What Istio and Envoy Gateway hand over: the object as JSON.
#[test]
fn the_examples_for_istio_and_envoy_gateway_are_configurations() {
    let istio = examples::of_kind("istio-wasmplugin.yaml", "WasmPlugin").unwrap();
    let mut vm = start(&istio["spec"]["pluginConfig"]);
    let bearer = Headers::new().with("authorization", "Bearer my-first-key");
    let exchange = vm.round_trip("orders", bearer).unwrap();
    assert_eq!(whose(&exchange), Ok("alice"));
    assert_eq!(exchange.outcome.forwarded().unwrap().all("x-team"), [b"blue"]);
    let old = Headers::new().with("x-api-key", "my-old-key");
    assert_eq!(whose(&vm.round_trip("orders", old).unwrap()), Err(401));
    assert!(vm.round_trip("health", Headers::new()).unwrap().outcome.forwarded().is_some());

    let gateway = examples::of_kind("envoy-gateway-extensionpolicy.yaml", "EnvoyExtensionPolicy").unwrap();
    let mut vm = start(&gateway["spec"]["wasm"][0]["config"]);
    let route = "httproute/shop/orders/rule/0/match/0/*";
    for (key, expected) in [("my-first-key", Ok("alice")), ("my-old-key", Err(401))] {
        let exchange = vm.round_trip(route, Headers::new().with("x-api-key", key)).unwrap();
        assert_eq!(whose(&exchange), expected, "{key}");
    }
}

#[test]
fn the_guards_of_the_examples_name_the_identities_that_they_have() {
    let name = "envoy-gateway-extensionpolicy.yaml";
    let policy = examples::of_kind(name, "EnvoyExtensionPolicy").unwrap();
    let guard = examples::of_kind(name, "SecurityPolicy").unwrap();
    let keys = policy["spec"]["wasm"][0]["config"]["keys"].as_array().unwrap().iter();
    let identities: Vec<&Value> = keys.map(|key| &key["identity"]).collect();
    let named = &guard["spec"]["authorization"]["rules"][0]["principal"]["headers"][0];
    assert_eq!(named["name"], "x-user-id");
    assert_eq!(named["values"].as_array().unwrap().iter().collect::<Vec<_>>(), identities);
    assert_eq!(guard["spec"]["targetRefs"], policy["spec"]["targetRefs"]);
}
