//! Routes move between policies, and policies and tables go, while requests are under way.

use std::time::Duration;

use keyward_integration::stack::{Options, Sample, Stack, Traffic, wait};
use rustix::process::{Pid, Signal, kill_process};
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

/// How the routes of the only proxy have waited.
fn waits(stack: &Stack) -> Value {
    let response = stack.rest().call("GET", "/keyward/v1/sync", None).unwrap();
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    answer["proxies"][0]["routes"].clone()
}

#[test]
fn a_route_to_new_keys_comes_when_all_workers_have_them() {
    // No request waits for keys: who meets a route before its keys gets 503.
    let options = Options { wait_for_keys: Duration::ZERO, ..Options::default() };
    let stack = Stack::start(options).unwrap();
    site(&stack, &[("steady", "steady-key")]);
    let hosts: Vec<String> = (0..6).map(|round| format!("new-{round}.test")).collect();
    let samples: Vec<_> =
        hosts.iter().map(|host| Sample::new(host, Some("steady-key"), 200).or(404)).collect();
    let traffic = Traffic::start(&stack, 4, &samples);
    for (round, host) in hosts.iter().enumerate() {
        let name = format!("new-{round}");
        stack.rest().create(&another(&name)).unwrap();
        let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": name } } });
        stack.rest().create(&virtual_service(&name, &[host], options, &[("/", json!({}))])).unwrap();
        eventually(&stack, host, Some("steady-key"), Ok("steady"));
        at_once(&stack, host, None, Err(401));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 100, "{answers}");
    let waits = waits(&stack);
    assert!(waits["waits"].as_u64() >= Some(6) && waits["expired"] == 0, "{waits}");
}

#[test]
fn routes_that_wait_for_keys_say_so_and_not_for_ever() {
    let stack = start();
    let before = waits(&stack);
    kill_process(Pid::from_raw(stack.envoy_pid().unwrap()).unwrap(), Signal::STOP).unwrap();
    stack.rest().create(&another("new")).unwrap();
    let host = "new.test";
    let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": "new" } } });
    stack.rest().create(&virtual_service("new", &[host], options, &[("/", json!({}))])).unwrap();
    let waiting = wait::until(SOON, "the wait to be shown", || {
        let waits = waits(&stack);
        anyhow::ensure!(waits["waitingMilliseconds"].as_u64() > Some(0), "{waits}");
        Ok(())
    });
    kill_process(Pid::from_raw(stack.envoy_pid().unwrap()).unwrap(), Signal::CONT).unwrap();
    waiting.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    eventually(&stack, host, Some("steady-key"), Ok("steady"));
    let after = waits(&stack);
    assert!(after["waits"].as_u64() > before["waits"].as_u64(), "{after}");
    assert!(after["longestMilliseconds"].as_u64() > Some(0), "{after}");
    assert_eq!(after["waitingMilliseconds"], Value::Null, "{after}");
}
