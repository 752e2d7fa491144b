//! The proof: when the control server says that a change has arrived, it has, on every worker.

use anyhow::{Context as _, ensure};
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Sample, Stack, Traffic, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::{
    HOST, OwnProxy, SOON, at_once, auth_config, eventually, secret, secured, site, virtual_service,
};

/// Two workers, and the main thread, which runs the filter as well.
const WORKERS: usize = 3;
pub(crate) const SECRETS: &str = "/api/v1/namespaces/team/secrets";
const ROLE: &str = "keyward-system~gateway-proxy";

/// What the headers of an answer to a write say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) synced: bool,
    workers: usize,
    confirmed: usize,
    revision: u64,
    pub(crate) warning: String,
}

/// A write that waits.
pub(crate) fn write(stack: &Stack, method: &str, path: &str, body: Option<&Value>) -> Proof {
    let attempt = || {
        let response = stack.rest().call(method, path, body)?;
        let text = |name: &str| {
            let value = response.headers.first(name).unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        };
        let body = String::from_utf8_lossy(&response.body);
        ensure!((200..300).contains(&response.status), "{method} {path}: {} {body}", response.status);
        text("keyward-milliseconds").parse::<u64>().context("no milliseconds")?;
        Ok(Proof {
            synced: text("keyward-synced") == "true",
            workers: text("keyward-workers").parse()?,
            confirmed: text("keyward-confirmed").parse()?,
            revision: text("keyward-revision").parse()?,
            warning: text("warning"),
        })
    };
    attempt().unwrap_or_else(|error: anyhow::Error| panic!("{error:#}\n{}", stack.logs()))
}

pub(crate) fn create(stack: &Stack, name: &str, key: &str) -> Proof {
    write(stack, "POST", &format!("{SECRETS}?wait=15s"), Some(&secret(name, key)))
}

fn revoke(stack: &Stack, name: &str, wait: &str) -> Proof {
    write(stack, "DELETE", &format!("{SECRETS}/{name}?wait={wait}"), None)
}

/// Every worker has confirmed it.
#[track_caller]
pub(crate) fn whole(stack: &Stack, proof: &Proof) {
    let Proof { synced, workers, confirmed, warning, .. } = proof;
    let whole = *synced && *workers == WORKERS && *confirmed == WORKERS && warning.is_empty();
    assert!(whole, "{proof:?}\n{}", stack.logs());
}

/// It is so on every worker, at the first try: a connection is for one of them.
#[track_caller]
pub(crate) fn everywhere(stack: &Stack, key: &str, expected: Result<&str, u16>) {
    for _ in 0..12 {
        at_once(stack, HOST, Some(key), expected);
    }
}

/// What the proof says, whatever it is.
pub(crate) fn sync(stack: &Stack, query: &str) -> (u16, Value) {
    let response = stack.rest().call("GET", &format!("/keyward/v1/sync{query}"), None).unwrap();
    (response.status, serde_json::from_slice(&response.body).unwrap())
}

pub(crate) fn start() -> Stack {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("steady", "steady-key")]);
    let (status, answer) = sync(&stack, "?wait=15s");
    assert_eq!(status, 200, "{answer:#}\n{}", stack.logs());
    stack
}

fn signal(stack: &Stack, signal: Signal) {
    kill_process(Pid::from_raw(stack.envoy_pid().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn what_was_waited_for_holds_on_every_worker_at_once() {
    let stack = start();
    let traffic = Traffic::start(&stack, 4, &[Sample::new(HOST, Some("steady-key"), 200)]);
    for round in 0..10 {
        let (name, key) = (format!("guest-{round}"), format!("guest-key-{round}"));
        whole(&stack, &create(&stack, &name, &key));
        everywhere(&stack, &key, Ok(&name));
        whole(&stack, &revoke(&stack, &name, "15s"));
        everywhere(&stack, &key, Err(401));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 100, "{answers}");
}

#[test]
fn the_proof_names_each_worker_with_what_it_holds() {
    let stack = start();
    let revision = create(&stack, "ann", "ann-key").revision;
    let (status, answer) = sync(&stack, &format!("?revision={revision}&wait=15s"));
    assert_eq!(status, 200, "{answer:#}");
    assert_eq!(
        (&answer["synced"], &answer["workers"], &answer["confirmed"]),
        (&json!(true), &json!(3), &json!(3))
    );
    let [proxy] = answer["proxies"].as_array().unwrap().as_slice() else { panic!("{answer:#}") };
    assert_eq!((&proxy["node"], &proxy["role"]), (&json!("gateway-proxy"), &json!(ROLE)));
    assert_eq!(proxy["configuration"], "Accepted");
    for worker in proxy["workers"].as_array().unwrap() {
        assert_eq!(worker["state"], "Synced", "{answer:#}");
        assert_eq!(worker["lagMilliseconds"], 0, "{answer:#}");
        assert!(worker["revision"].as_str().unwrap().parse::<u64>().unwrap() >= revision, "{answer:#}");
        assert!(worker["lastAcknowledged"].is_string() && worker["build"].is_string(), "{answer:#}");
        assert!(worker["tables"]["team/keys"]["held"].is_string(), "{answer:#}");
    }
    assert!(!answer.to_string().contains("ann-key"), "a key is told: {answer:#}");
    let refused = "call to restricted";
    assert!(!stack.logs().contains(refused), "the filter may not do what it needs:\n{}", stack.logs());
}

#[test]
fn who_lags_is_named_and_the_write_is_made_all_the_same() {
    let stack = start();
    whole(&stack, &create(&stack, "ann", "ann-key"));
    signal(&stack, Signal::STOP);
    let late = revoke(&stack, "ann", "500ms");
    assert_eq!((late.synced, late.workers, late.confirmed), (false, WORKERS, 0), "{late:?}");
    assert!(late.warning.contains("the change is made, but 3 of 3 workers have not confirmed"), "{late:?}");
    let revision = late.revision;
    let (status, answer) = sync(&stack, &format!("?revision={revision}&wait=100ms"));
    assert_eq!((status, &answer["reason"]), (504, &json!("Timeout")), "{answer:#}");
    assert_eq!(answer["details"]["causes"].as_array().map(Vec::len), Some(WORKERS), "{answer:#}");
    let (status, answer) = sync(&stack, "");
    assert_eq!((status, &answer["synced"]), (200, &json!(false)), "{answer:#}");
    let worker = &answer["proxies"][0]["workers"][0];
    assert_eq!(worker["state"], "Behind", "{answer:#}");
    assert!(worker["lagMilliseconds"].as_u64().unwrap() >= 500, "{answer:#}");

    signal(&stack, Signal::CONT);
    let (status, answer) = sync(&stack, &format!("?revision={revision}&wait=15s"));
    assert_eq!((status, &answer["synced"]), (200, &json!(true)), "{answer:#}");
    everywhere(&stack, "ann-key", Err(401));
}

#[test]
fn no_worker_is_lost_sight_of_while_the_configuration_of_the_filter_changes() {
    let stack = start();
    let traffic = Traffic::start(
        &stack,
        4,
        &[Sample::new(HOST, Some("steady-key"), 200), Sample::new(HOST, None, 401)],
    );
    for round in 0..12 {
        let (name, key) = (format!("guest-{round}"), format!("guest-key-{round}"));
        whole(&stack, &create(&stack, &name, &key));
        everywhere(&stack, &key, Ok(&name));
        // A policy more, which the filter gets with a new configuration. Nobody waits for that.
        let mut policy = auth_config();
        policy["metadata"]["name"] = name.clone().into();
        stack.rest().create(&policy).unwrap();
        let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": name } } });
        let host = format!("{name}.test");
        stack.rest().create(&virtual_service(&name, &[&host], options, &[("/", json!({}))])).unwrap();
        whole(&stack, &revoke(&stack, &name, "15s"));
        everywhere(&stack, &key, Err(401));
    }
    let answers = traffic.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(answers > 100, "{answers}");
}

#[test]
fn a_policy_that_was_waited_for_is_in_force_on_every_worker() {
    let stack = start();
    let path = "/apis/enterprise.keyward.io/v1/namespaces/team/authconfigs";
    for round in 0..6 {
        let mut policy = auth_config();
        let header = if round % 2 == 0 { "other-key" } else { "api-key" };
        policy["spec"]["configs"][0]["apiKeyAuth"]["headerName"] = header.into();
        let proof = write(&stack, "PUT", &format!("{path}/keys?wait=15s"), Some(&policy));
        whole(&stack, &proof);
        let expected = if round % 2 == 0 { Err(401) } else { Ok("steady") };
        everywhere(&stack, "steady-key", expected);
    }
}

#[test]
fn who_is_taken_off_a_list_is_refused_once_that_is_confirmed() {
    let stack = start();
    whole(&stack, &create(&stack, "ann", "ann-key"));
    let path = "/apis/gateway.keyward.io/v1/namespaces/team/virtualservices/site?wait=15s";
    for round in 0..8 {
        let allowed = if round % 2 == 0 { json!(["steady"]) } else { json!(["steady", "ann"]) };
        let mut options = secured();
        options["extauth"]["allowed"] = json!({ "identities": allowed });
        let service = virtual_service("site", &[HOST], options, &[("/", json!({}))]);
        whole(&stack, &write(&stack, "PUT", path, Some(&service)));
        everywhere(&stack, "ann-key", if round % 2 == 0 { Err(403) } else { Ok("ann") });
        everywhere(&stack, "steady-key", Ok("steady"));
    }
}

#[test]
fn a_key_of_a_policy_that_goes_is_not_confirmed_as_revoked_while_it_opens_anything() {
    let stack = start();
    let services = "/apis/gateway.keyward.io/v1/namespaces/team/virtualservices";
    for round in 0..6 {
        let (name, key) = (format!("guest-{round}"), format!("guest-key-{round}"));
        whole(&stack, &create(&stack, &name, &key));
        // A second policy that selects the same, and a host that asks for it.
        let (policy_name, host) = (format!("brief-{round}"), format!("brief-{round}.test"));
        let mut policy = auth_config();
        policy["metadata"]["name"] = policy_name.clone().into();
        stack.rest().create(&policy).unwrap();
        let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": policy_name } } });
        let service = virtual_service(&policy_name, &[&host], options, &[("/", json!({}))]);
        whole(&stack, &write(&stack, "POST", &format!("{services}?wait=15s"), Some(&service)));
        at_once(&stack, &host, Some(&key), Ok(&name));
        // The policy goes and right after it the key; the route may still be on its way out.
        stack.rest().delete("AuthConfig", "team", &policy_name).unwrap();
        whole(&stack, &revoke(&stack, &name, "15s"));
        for _ in 0..12 {
            let (answer, _) = stack.send(&host, "/", &Headers::new().with("api-key", &key)).unwrap();
            assert!(answer.status >= 400, "it still opens: {}\n{}", answer.status, stack.logs());
        }
        everywhere(&stack, &key, Err(401));
    }
}

#[test]
fn an_envoy_that_dies_is_waited_for_a_moment_and_called_lost() {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let own = OwnProxy::start(&stack, ROLE);
    site(&stack, &[("ann", "ann-key")]);
    whole(&stack, &create(&stack, "bob", "bob-key"));
    drop(own);
    // It may be cut off as well as dead: nobody can tell, and who is cut off serves on.
    let proof = revoke(&stack, "bob", "20s");
    assert_eq!((proof.synced, proof.workers, proof.confirmed), (false, WORKERS, 0), "{proof:?}");
    assert!(proof.warning.contains("was lost meanwhile"), "{proof:?}");
    // Nobody is there any more who could hold it.
    let proof = revoke(&stack, "ann", "20s");
    assert_eq!((proof.synced, proof.workers), (true, 0), "{proof:?}\n{}", stack.logs());
}

#[test]
fn a_control_server_that_comes_back_does_not_say_so_before_its_workers_are_back() {
    let mut stack = start();
    whole(&stack, &create(&stack, "ann", "ann-key"));
    for round in 0..2 {
        stack.kill_server().unwrap();
        stack.start_server().unwrap();
        let proof = if round == 0 { revoke(&stack, "ann", "20s") } else { create(&stack, "bob", "bob-key") };
        whole(&stack, &proof);
        everywhere(&stack, "ann-key", Err(401));
    }
    everywhere(&stack, "bob-key", Ok("bob"));
    everywhere(&stack, "steady-key", Ok("steady"));
}

#[test]
fn a_key_that_is_rewritten_or_selected_no_more_is_waited_for_as_well() {
    let stack = start();
    whole(&stack, &create(&stack, "ann", "first-key"));
    let put = format!("{SECRETS}/ann?wait=15s");
    whole(&stack, &write(&stack, "PUT", &put, Some(&secret("ann", "second-key"))));
    everywhere(&stack, "second-key", Ok("ann"));
    everywhere(&stack, "first-key", Err(401));
    // A label that the AuthConfig does not select takes the key away.
    let mut moved = secret("ann", "second-key");
    moved["metadata"]["labels"] = json!({ "team": "b" });
    whole(&stack, &write(&stack, "PUT", &put, Some(&moved)));
    everywhere(&stack, "second-key", Err(401));
    everywhere(&stack, "steady-key", Ok("steady"));
}

#[test]
fn a_proxy_is_sent_the_keys_that_its_own_routes_need_and_no_others() {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let _front = OwnProxy::start(&stack, ROLE);
    site(&stack, &[("ann", "ann-key")]);
    // AuthConfigs that no route asks for.
    for name in ["idle", "inner"] {
        let mut policy = auth_config();
        policy["metadata"]["name"] = name.into();
        stack.rest().create(&policy).unwrap();
    }
    whole(&stack, &create(&stack, "bob", "bob-key"));
    let tables = || -> Vec<String> {
        let (_, answer) = sync(&stack, "");
        let proxies = answer["proxies"].as_array().unwrap().iter();
        let workers = proxies.flat_map(|proxy| proxy["workers"].as_array().unwrap());
        let tables = workers.flat_map(|worker| worker["tables"].as_object().unwrap().keys().cloned());
        tables.collect()
    };
    assert_eq!(tables(), ["team/keys"; WORKERS]);
    // Now a route of its own needs it.
    let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": "inner" } } });
    let service = virtual_service("inner", &["inner.test"], options, &[("/", json!({}))]);
    stack.rest().create(&service).unwrap();
    eventually(&stack, "inner.test", Some("ann-key"), Ok("ann"));
    let mut now = tables();
    now.sort();
    assert_eq!(now, [["team/inner"; WORKERS], ["team/keys"; WORKERS]].concat());
    // Both select the same, so it is one table by two names: what changes does so by both.
    whole(&stack, &create(&stack, "cat", "cat-key"));
    whole(&stack, &revoke(&stack, "bob", "15s"));
    for _ in 0..12 {
        for host in [HOST, "inner.test"] {
            at_once(&stack, host, Some("cat-key"), Ok("cat"));
            at_once(&stack, host, Some("bob-key"), Err(401));
        }
    }
    // And no more.
    stack.rest().delete("VirtualService", "team", "inner").unwrap();
    let gone = wait::until(SOON, "the table to be taken back", || {
        let now = tables();
        ensure!(now == ["team/keys"; WORKERS], "{now:?}");
        Ok(())
    });
    gone.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

#[test]
fn a_worker_without_room_says_so_keeps_its_keys_and_still_revokes() {
    let flags = ["--max-table-bytes", "16384"].map(str::to_owned).to_vec();
    let stack = Stack::start(Options { concurrency: 2, flags, ..Options::default() }).unwrap();
    site(&stack, &[("alice", "alice-key"), ("bob", "bob-key")]);
    let long = "n".repeat(200);
    for n in 0..80 {
        stack.rest().apply(&secret(&format!("{long}-{n}"), &format!("key-{n}"))).unwrap();
    }
    let shown = wait::until(SOON, "every worker to say that it has no room", || {
        let response = stack.rest().call("GET", "/keyward/v1/sync", None)?;
        let text = String::from_utf8_lossy(&response.body).into_owned();
        let workers = text.matches("\"refused\":\"the tables would need more than 16384 bytes").count();
        ensure!(workers == WORKERS, "{workers} do: {text}");
        ensure!(stack.proxy().stat("wasmcustom.keyward.changes.no_room")? > 0, "it is not counted");
        Ok(())
    });
    shown.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    for _ in 0..4 {
        at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
        at_once(&stack, HOST, Some("wrong"), Err(401));
    }
    stack.rest().delete("Secret", "team", "bob").unwrap();
    // Whatever of the rest is refused, and with no other change to come.
    let revoked = wait::until(SOON, "the key to be revoked on every worker", || {
        for _ in 0..8 {
            let (response, _) = stack.send(HOST, "/", &Headers::new().with("api-key", "bob-key"))?;
            ensure!(response.status == 401, "it answers {}", response.status);
        }
        Ok(())
    });
    revoked.unwrap();
    for _ in 0..4 {
        at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    }
    let died = stack.proxy().stats().unwrap();
    let died: Vec<_> =
        died.iter().filter(|(name, count)| name.contains("vm_reload") && **count > 0).collect();
    assert!(died.is_empty(), "a VM died: {died:?}");
}
