//! Routes move between policies, and policies and tables go, while requests are under way.

use keyward_integration::stack::{Options, Sample, Stack, Traffic};
use serde_json::{Value, json};

use crate::kit::{HOST, OPEN_HOST, SOON, at_once, auth_config, eventually, site, virtual_service};

fn start() -> Stack {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("steady", "steady-key")]);
    stack
}

/// Another AuthConfig that accepts the same keys.
fn another(name: &str) -> Value {
    let mut policy = auth_config();
    policy["metadata"]["name"] = name.into();
    policy
}

/// The secured host, by this AuthConfig.
fn moved(name: &str) -> Value {
    let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": name } } });
    virtual_service("site", &[HOST], options, &[("/", json!({}))])
}

#[test]
fn a_route_moves_between_policies_and_no_answer_is_wrong() {
    let stack = start();
    let samples = [Sample::new(HOST, Some("steady-key"), 200), Sample::new(HOST, None, 401)];
    let traffic = Traffic::start(&stack, 4, &samples);
    for round in 0..10 {
        let name = format!("moved-{round}");
        stack.rest().create(&another(&name)).unwrap();
        stack.rest().apply(&moved(&name)).unwrap();
        if round > 0 {
            // Nothing needs it any more but requests that are on the old route.
            stack.rest().delete("AuthConfig", "team", &format!("moved-{}", round - 1)).unwrap();
        }
        traffic.more(30, SOON).unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 300, "{answers}");
}

#[test]
fn a_host_is_opened_and_closed_and_the_key_holder_never_notices() {
    let stack = start();
    let traffic = Traffic::start(&stack, 4, &[Sample::new(HOST, Some("steady-key"), 200)]);
    for _ in 0..5 {
        let open = virtual_service("site", &[HOST], json!({}), &[("/", json!({}))]);
        stack.rest().apply(&open).unwrap();
        eventually(&stack, HOST, None, Ok(""));
        stack.rest().apply(&moved("keys")).unwrap();
        eventually(&stack, HOST, None, Err(401));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 100, "{answers}");
}

#[test]
fn an_auth_config_that_goes_under_its_route_denies_at_once_and_lets_nobody_wait() {
    let stack = start();
    let samples = [
        Sample::new(HOST, Some("steady-key"), 200).or(403),
        Sample::new(HOST, None, 401).or(403),
        Sample::new(OPEN_HOST, None, 200),
    ];
    let traffic = Traffic::start(&stack, 4, &samples);
    for _ in 0..3 {
        stack.rest().delete("AuthConfig", "team", "keys").unwrap();
        eventually(&stack, HOST, Some("steady-key"), Err(403));
        at_once(&stack, HOST, None, Err(403));
        stack.rest().create(&auth_config()).unwrap();
        eventually(&stack, HOST, Some("steady-key"), Ok("steady"));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 50, "{answers}");
}
