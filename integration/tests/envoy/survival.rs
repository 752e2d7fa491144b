//! Keys change, processes die, and no request gets a wrong answer.

use jiff::{SignedDuration, Timestamp};
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Connection, Options, Sample, Stack, TEST_HOLD_HEADER, Traffic, wait};
use serde_json::json;

use crate::kit::{
    HOST, OPEN_HOST, SOON, ask, at_once, auth_config, eventually, secret, secured, site, virtual_service,
};

/// Requests with a key that stays, with a wrong one, with none, and to an open host.
fn steady() -> Vec<Sample> {
    vec![
        Sample::new(HOST, Some("steady-key"), 200),
        Sample::new(HOST, Some("wrong-key"), 401),
        Sample::new(HOST, None, 401),
        Sample::new(OPEN_HOST, None, 200),
    ]
}

fn start() -> Stack {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("steady", "steady-key")]);
    stack
}

#[track_caller]
fn no_wrong_answer<T>(stack: &Stack, outcome: anyhow::Result<T>) -> T {
    outcome.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()))
}

#[test]
fn keys_come_and_go_under_traffic() {
    let stack = start();
    let traffic = Traffic::start(&stack, 4, &steady());
    for round in 0..10 {
        let (name, key) = (format!("guest-{round}"), format!("guest-key-{round}"));
        at_once(&stack, HOST, Some(&key), Err(401));
        stack.rest().create(&secret(&name, &key)).unwrap();
        eventually(&stack, HOST, Some(&key), Ok(&name));
        stack.rest().delete("Secret", "team", &name).unwrap();
        eventually(&stack, HOST, Some(&key), Err(401));
        no_wrong_answer(&stack, traffic.more(50, SOON));
    }
    assert!(no_wrong_answer(&stack, traffic.stop()) > 500);
}

#[test]
fn routes_and_policies_change_under_traffic() {
    let stack = start();
    let traffic = Traffic::start(&stack, 4, &steady());
    for round in 0..5 {
        let host = format!("guest-{round}.test");
        let mut policy = auth_config();
        policy["metadata"]["name"] = format!("guest-{round}").into();
        policy["spec"]["configs"][0]["apiKeyAuth"]["headerName"] = "api-key".into();
        stack.rest().create(&policy).unwrap();
        let options =
            json!({ "extauth": { "configRef": { "namespace": "team", "name": format!("guest-{round}") } } });
        let service = virtual_service(&format!("guest-{round}"), &[&host], options, &[("/", json!({}))]);
        stack.rest().create(&service).unwrap();
        // Make before break: a route is there only when its keys are, so the first answer that is
        // no 404 is right already.
        let first = wait::until(SOON, "the route to exist", || {
            let (response, _) = stack.send(&host, "/", &Headers::new().with("api-key", "steady-key"))?;
            anyhow::ensure!(response.status != 404, "no route");
            Ok(response.status)
        });
        assert_eq!(no_wrong_answer(&stack, first), 200, "{}", stack.logs());
        at_once(&stack, &host, None, Err(401));
        no_wrong_answer(&stack, traffic.more(50, SOON));
        if round % 2 == 0 {
            stack.rest().delete("VirtualService", "team", &format!("guest-{round}")).unwrap();
            stack.rest().delete("AuthConfig", "team", &format!("guest-{round}")).unwrap();
            eventually(&stack, &host, Some("steady-key"), Err(404));
        }
    }
    assert!(no_wrong_answer(&stack, traffic.stop()) > 250);
}

#[test]
fn the_control_server_dies_and_comes_back_under_traffic() {
    let mut stack = start();
    stack.rest().create(&secret("leaver", "leaver-key")).unwrap();
    eventually(&stack, HOST, Some("leaver-key"), Ok("leaver"));
    let envoy = stack.envoy_pid().unwrap();
    let traffic = Traffic::start(&stack, 4, &steady());
    for round in 0..3 {
        stack.kill_server().unwrap();
        no_wrong_answer(&stack, traffic.more(300, SOON));
        at_once(&stack, HOST, Some("leaver-key"), if round == 0 { Ok("leaver") } else { Err(401) });
        stack.start_server().unwrap();
        if round == 0 {
            stack.rest().delete("Secret", "team", "leaver").unwrap();
        }
        eventually(&stack, HOST, Some("leaver-key"), Err(401));
        let (name, key) = (format!("late-{round}"), format!("late-key-{round}"));
        stack.rest().create(&secret(&name, &key)).unwrap();
        eventually(&stack, HOST, Some(&key), Ok(&name));
    }
    assert_eq!(stack.envoy_pid().unwrap(), envoy, "the Envoy was adopted, not replaced");
    assert!(no_wrong_answer(&stack, traffic.stop()) > 900);
}

#[test]
fn envoy_dies_and_comes_back_under_traffic() {
    let stack = start();
    // A request that meets a proxy without keys waits, and may get 503: never 401, never a way in.
    let samples: Vec<Sample> = steady().into_iter().map(|sample| sample.or(503)).collect();
    let traffic = Traffic::start(&stack, 4, &samples);
    // Three ends in a row right after a start are taken for a mistake in the settings.
    for round in 0..2 {
        let before = stack.envoy_pid().unwrap();
        stack.kill_envoy().unwrap();
        stack.rest().create(&secret(&format!("late-{round}"), &format!("late-key-{round}"))).unwrap();
        eventually(&stack, HOST, Some(&format!("late-key-{round}")), Ok(&format!("late-{round}")));
        assert_ne!(stack.envoy_pid().unwrap(), before);
        no_wrong_answer(&stack, traffic.more(100, SOON));
    }
    let (answers, dropped) = no_wrong_answer(&stack, traffic.stop_leniently());
    assert!(answers > 200 && !dropped.is_empty(), "the kills were not noticed");
    at_once(&stack, HOST, Some("steady-key"), Ok("steady"));
    at_once(&stack, HOST, Some("wrong-key"), Err(401));
}

#[test]
fn both_die_and_everything_is_as_before() {
    let mut stack = start();
    stack.rest().create(&secret("late", "late-key")).unwrap();
    stack.rest().delete("Secret", "team", "steady").unwrap();
    stack.kill_server().unwrap();
    stack.kill_envoy().unwrap();
    stack.start_server().unwrap();
    eventually(&stack, HOST, Some("late-key"), Ok("late"));
    at_once(&stack, HOST, Some("steady-key"), Err(401));
    at_once(&stack, OPEN_HOST, None, Ok(""));
    stack.rest().apply(&virtual_service("open", &[OPEN_HOST], secured(), &[("/", json!({}))])).unwrap();
    eventually(&stack, OPEN_HOST, None, Err(401));
}

#[test]
fn it_stops_in_order_and_leaves_nothing_running() {
    let mut stack = start();
    let envoy = stack.envoy_pid().unwrap();
    stack.server_mut().unwrap().stop().unwrap();
    let left = std::fs::read_to_string(format!("/proc/{envoy}/cmdline")).unwrap_or_default();
    assert!(left.is_empty(), "Envoy is left: {left}");
    assert!(stack.connect().is_err(), "the gateway still listens");
    stack.start_server().unwrap();
    eventually(&stack, HOST, Some("steady-key"), Ok("steady"));
}

#[test]
fn keys_flow_while_requests_of_earlier_configurations_are_still_under_way() {
    let stack = start();
    let (gateway, before) = (stack.gateway(), stack.upstream().total());
    let slow: Vec<_> = (0..6)
        .map(|_| {
            std::thread::spawn(move || {
                let headers = Headers::new()
                    .with("host", HOST)
                    .with("api-key", "steady-key")
                    .with(TEST_HOLD_HEADER, "yes");
                Connection::open(gateway)?.request("GET", "/", &headers).map(|response| response.status)
            })
        })
        .collect();
    wait::until(SOON, "the slow requests to be under way", || {
        anyhow::ensure!(stack.upstream().total() >= before + 6, "not yet");
        Ok(())
    })
    .unwrap();
    // Each of these is a new root context in every VM, and the old ones live on.
    for round in 0..4 {
        let mut policy = auth_config();
        policy["metadata"]["name"] = format!("other-{round}").into();
        stack.rest().create(&policy).unwrap();
        let options =
            json!({ "extauth": { "configRef": { "namespace": "team", "name": format!("other-{round}") } } });
        let host = format!("other-{round}.test");
        let service = virtual_service(&format!("other-{round}"), &[&host], options, &[("/", json!({}))]);
        stack.rest().create(&service).unwrap();
        eventually(&stack, &host, Some("steady-key"), Ok("steady"));
        let (name, key) = (format!("late-{round}"), format!("late-key-{round}"));
        stack.rest().create(&secret(&name, &key)).unwrap();
        eventually(&stack, &host, Some(&key), Ok(&name));
        eventually(&stack, HOST, Some(&key), Ok(&name));
        stack.rest().delete("Secret", "team", &name).unwrap();
        eventually(&stack, &host, Some(&key), Err(401));
    }
    assert!(slow.iter().all(|request| !request.is_finished()), "they were over before the changes were");
    stack.upstream().release();
    for request in slow {
        assert_eq!(request.join().unwrap().unwrap(), 200);
    }
    stack.rest().create(&secret("last", "last-key")).unwrap();
    eventually(&stack, "other-3.test", Some("last-key"), Ok("last"));
}

#[test]
fn a_key_begins_and_another_ends_while_the_control_server_is_dead() {
    let mut stack = start();
    let soon = Timestamp::now() + SignedDuration::from_secs(5);
    for (name, entry) in [("begins", "not-before"), ("ends", "expires-at")] {
        let mut secret = secret(name, &format!("{name}-key"));
        secret["stringData"][entry] = soon.to_string().into();
        stack.rest().create(&secret).unwrap();
    }
    // What a metric says is what one worker holds.
    let arrived = stack.rest().call("GET", "/keyward/v1/sync?wait=15s", None).unwrap();
    assert_eq!(arrived.status, 200, "{}", String::from_utf8_lossy(&arrived.body));
    stack.kill_server().unwrap();
    eventually(&stack, HOST, Some("begins-key"), Ok("begins"));
    let expired = wait::until(SOON, "the key to be denied because it has expired", || {
        let answer = ask(&stack, HOST, Some("ends-key"))?;
        let count = stack.proxy().stat("wasmcustom.keyward.denied.expired")?;
        anyhow::ensure!(count > 0, "the answer was {answer:?}, and none expired");
        Ok(())
    });
    no_wrong_answer(&stack, expired);
    at_once(&stack, HOST, Some("ends-key"), Err(401));
    at_once(&stack, HOST, Some("steady-key"), Ok("steady"));
    at_once(&stack, HOST, Some("begins-key"), Ok("begins"));
}

#[test]
fn a_test_leaves_nothing_behind_even_if_its_server_was_killed() {
    let mut stack = start();
    let pids = [stack.envoy_pid().unwrap(), stack.server_mut().unwrap().pid().unwrap()];
    let folders = [stack.folder().to_path_buf(), stack.data()];
    stack.kill_server().unwrap();
    assert!(folders.iter().all(|folder| folder.exists()));
    drop(stack);
    for pid in pids {
        let left = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!left.contains("keyward-test-"), "process {pid} is left: {left}");
    }
    assert!(!folders.iter().any(|folder| folder.exists()));
}
