//! How often keys were used: exactly, over all workers, restarts and reconnects.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Connection, Options, Stack, wait};
use serde_json::{Value, json};

use crate::kit::{HOST, SOON, at_once, auth_config, eventually, secret, site, virtual_service};

const SECRETS: &str = "/api/v1/namespaces/team/secrets";
const USAGE: &str = "/keyward/v1/usage?namespace=team";

/// A stack whose workers report every second.
fn start() -> Stack {
    let stack = Stack::start(Options::default()).unwrap();
    let settings = json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Settings",
        "metadata": { "namespace": "keyward-system", "name": "default" },
        "spec": { "extauth": { "usageReportInterval": "1s" } },
    });
    stack.rest().apply(&settings).unwrap();
    site(&stack, &[("steady", "steady-key")]);
    stack
}

/// A write that all workers have confirmed.
fn write(stack: &Stack, method: &str, path: &str, body: Option<&Value>) {
    let written = || {
        let response = stack.rest().call(method, &format!("{path}?wait=15s"), body)?;
        let synced = response.headers.first("keyward-synced");
        ensure!(synced == Some(b"true".as_slice()), "{method} {path}: {}", response.status);
        anyhow::Ok(())
    };
    written().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

fn add(stack: &Stack, name: &str, key: &str) {
    write(stack, "POST", SECRETS, Some(&secret(name, key)));
}

/// Connections to both workers: each is given to the one that has fewer.
fn connections(stack: &Stack) -> Vec<Connection> {
    (0..4).map(|_| stack.connect().unwrap()).collect()
}

/// So many requests with a key, over all connections in turn.
fn use_key(stack: &Stack, connections: &mut [Connection], key: &str, times: usize) {
    let headers = Headers::new().with("api-key", key);
    for at in 0..times {
        let connection = &mut connections[at % 4];
        let (response, _) = stack.send_over(connection, HOST, "/", &headers, &Headers::new()).unwrap();
        assert_eq!(response.status, 200, "{}", stack.logs());
    }
}

fn items(stack: &Stack) -> anyhow::Result<Vec<Value>> {
    let response = stack.rest().call("GET", USAGE, None)?;
    ensure!(response.status == 200, "{}", response.status);
    let answer: Value = serde_json::from_slice(&response.body)?;
    Ok(answer["items"].as_array().context("no items")?.clone())
}

fn uses(stack: &Stack) -> anyhow::Result<BTreeMap<String, u64>> {
    let item = |item: &Value| {
        let name = item["name"].as_str().context("no name")?.to_owned();
        Ok((name, item["uses"].as_u64().context("no uses")?))
    };
    items(stack)?.iter().map(item).collect()
}

/// These keys are reported to have been used so often. More is wrong at once and for good.
#[track_caller]
fn counted(stack: &Stack, expected: &[(&str, u64)]) {
    let counted = wait::until(SOON, "all uses to be counted", || {
        let uses = uses(stack)?;
        for (name, expected) in expected {
            let found = uses.get(*name).copied().unwrap_or(0);
            assert!(found <= *expected, "{name} was used {expected} times and not {found}\n{}", stack.logs());
            ensure!(found == *expected, "{name}: {found} of {expected}");
        }
        Ok(())
    });
    counted.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

#[test]
fn each_use_counts_once_for_its_secret_whichever_worker_it_is_on() {
    let stack = start();
    add(&stack, "ann", "ann-key");
    add(&stack, "bob", "bob-key");
    let mut over = connections(&stack);
    use_key(&stack, &mut over, "ann-key", 60);
    use_key(&stack, &mut over, "bob-key", 25);
    for wrong in ["nobody-key", ""] {
        at_once(&stack, HOST, Some(wrong), Err(401));
    }
    let stats = stack.proxy().stats().unwrap();
    let workers = stats.iter().filter(|(name, connections)| {
        name.contains(".worker_") && name.ends_with("downstream_cx_total") && **connections > 1
    });
    assert!(workers.count() >= 2, "both workers have served: {stats:?}");
    counted(&stack, &[("ann", 60), ("bob", 25)]);
    // Later reports add what is new and nothing else.
    use_key(&stack, &mut over, "bob-key", 3);
    counted(&stack, &[("ann", 60), ("bob", 28)]);

    let items = items(&stack).unwrap();
    let names: Vec<&str> = items.iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ann", "bob", "steady"], "sorted, and nobody else");
    for item in &items {
        let item = item.as_object().unwrap();
        assert!(item.keys().eq(["lastUsed", "name", "namespace", "uses"]), "{item:?}");
        assert!(item["lastUsed"].as_str().unwrap().ends_with('Z'), "{item:?}");
    }
    assert!(!stack.logs().contains("ann-key"), "a key is in the log");
}

#[test]
fn a_rotated_key_counts_on_and_a_deleted_secret_begins_anew() {
    let stack = start();
    add(&stack, "ann", "first-key");
    let mut over = connections(&stack);
    use_key(&stack, &mut over, "first-key", 10);
    // Before anything was reported, the key is another one's.
    write(&stack, "PUT", &format!("{SECRETS}/ann"), Some(&secret("ann", "second-key")));
    add(&stack, "bob", "first-key");
    use_key(&stack, &mut over, "second-key", 7);
    use_key(&stack, &mut over, "first-key", 5);
    counted(&stack, &[("ann", 17), ("bob", 5)]);

    use_key(&stack, &mut over, "first-key", 2);
    write(&stack, "DELETE", &format!("{SECRETS}/bob"), None);
    assert!(!uses(&stack).unwrap().contains_key("bob"));
    add(&stack, "bob", "first-key");
    use_key(&stack, &mut over, "first-key", 4);
    counted(&stack, &[("ann", 17), ("bob", 4)]);
}

#[test]
fn a_server_that_is_killed_forgets_nothing_and_counts_nothing_twice() {
    let mut stack = start();
    add(&stack, "ann", "ann-key");
    let mut over = connections(&stack);
    let mut expected = 0;
    for round in 0_usize..4 {
        use_key(&stack, &mut over, "ann-key", 20);
        expected += 20;
        // Reports are made, sent, counted, saved and acknowledged about now, or not yet.
        if round % 2 == 1 {
            counted(&stack, &[("ann", expected)]);
        }
        stack.kill_server().unwrap();
        use_key(&stack, &mut over, "ann-key", 10 * round);
        expected += 10 * round as u64;
        stack.start_server().unwrap();
        counted(&stack, &[("ann", expected)]);
    }
    use_key(&stack, &mut over, "ann-key", 1);
    counted(&stack, &[("ann", expected + 1)]);
}

#[test]
fn counts_are_kept_when_the_server_stops_and_starts() {
    let mut stack = start();
    add(&stack, "ann", "ann-key");
    use_key(&stack, &mut connections(&stack), "ann-key", 12);
    counted(&stack, &[("ann", 12)]);
    stack.server_mut().unwrap().stop().unwrap();
    stack.start_server().unwrap();
    counted(&stack, &[("ann", 12)]);
    eventually(&stack, HOST, Some("steady-key"), Ok("steady"));
    use_key(&stack, &mut connections(&stack), "ann-key", 3);
    counted(&stack, &[("ann", 15)]);
}

#[test]
fn a_stream_that_moves_with_the_configuration_counts_nothing_twice() {
    let stack = start();
    add(&stack, "ann", "ann-key");
    let mut over = connections(&stack);
    for round in 0..6 {
        use_key(&stack, &mut over, "ann-key", 10);
        // A policy more, which the filter gets with a new configuration.
        let name = format!("guest-{round}");
        let mut policy = auth_config();
        policy["metadata"]["name"] = name.clone().into();
        stack.rest().create(&policy).unwrap();
        let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": name } } });
        let host = format!("{name}.test");
        stack.rest().create(&virtual_service(&name, &[&host], options, &[("/", json!({}))])).unwrap();
    }
    counted(&stack, &[("ann", 60)]);
    use_key(&stack, &mut over, "ann-key", 1);
    counted(&stack, &[("ann", 61)]);
}
