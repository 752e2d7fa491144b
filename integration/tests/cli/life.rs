//! The life of a key on the real Envoy: what the commands say has happened, has.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Options, Sample, Stack, Traffic, wait};
use serde_json::{Value, json};

pub(crate) const HOST: &str = "site.test";
const SOON: Duration = Duration::from_secs(20);
/// Two workers, and the main thread, which runs the filter as well.
const CONFIRMED: &str = "confirmed by 3 of 3 workers in ";

/// What a command said.
#[derive(Debug)]
struct Said {
    data: String,
    notes: String,
    code: Option<i32>,
}

fn keyward(stack: &Stack, words: &[&str]) -> Said {
    let run = || {
        let output = Command::new(paths::keyward()?)
            .args(words)
            .env("KEYWARD_SERVER", format!("http://{}", stack.rest().address()))
            .env("HOME", stack.folder())
            .stdin(Stdio::null())
            .output()?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).map(|text| text.trim_end().to_owned());
        let (data, notes) = (text(output.stdout)?, text(output.stderr)?);
        Ok(Said { data, notes, code: output.status.code() })
    };
    run().unwrap_or_else(|error: anyhow::Error| panic!("{words:?}: {error:#}"))
}

/// A command that does it; answers with its data.
#[track_caller]
pub(crate) fn does(stack: &Stack, words: &[&str]) -> String {
    let said = keyward(stack, words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}\n{}", stack.logs());
    said.data
}

/// A command that does it, and says that all workers have confirmed it.
#[track_caller]
pub(crate) fn confirms(stack: &Stack, words: &[&str]) -> String {
    let said = keyward(stack, words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}\n{}", stack.logs());
    assert!(said.notes.contains(CONFIRMED), "{words:?}: {said:?}");
    said.data
}

/// What a request with a key comes to: the identity that the upstream got, or the status.
fn ask(stack: &Stack, key: &str) -> anyhow::Result<Result<String, u16>> {
    let (response, arrived) = stack.send(HOST, "/", &Headers::new().with("api-key", key))?;
    Ok(match arrived {
        Some(arrived) => {
            let identity = arrived.headers.first("x-user-id").context("no identity")?;
            Ok(String::from_utf8_lossy(identity).into_owned())
        }
        None => Err(response.status),
    })
}

/// It is so on every worker, now: a connection is for one of them, taken at random.
#[track_caller]
pub(crate) fn everywhere(stack: &Stack, key: &str, expected: Result<&str, u16>) {
    for _ in 0..12 {
        let got = ask(stack, key).unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
        assert_eq!(got.as_deref().map_err(|status| *status), expected, "{}", stack.logs());
    }
}

/// What is served.
pub(crate) struct Site {
    pub(crate) domain: &'static str,
    /// Of the Secrets whose keys count.
    pub(crate) labels: Value,
}

/// A secured host whose keys are those with the label `team: infra`.
fn start() -> Stack {
    start_with(&Site { domain: HOST, labels: json!({ "team": "infra" }) })
}

/// A secured host, with one key, when all workers have both.
pub(crate) fn start_with(site: &Site) -> Stack {
    let stack = Stack::start(Options::default()).unwrap();
    let auth = json!({
        "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
        "metadata": { "namespace": "keyward-system", "name": "keys" },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": site.labels } }] },
    });
    let virtual_service = json!({
        "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService",
        "metadata": { "namespace": "keyward-system", "name": "site" },
        "spec": { "virtualHost": {
            "domains": [site.domain],
            "options": { "extauth": { "configRef": { "namespace": "keyward-system", "name": "keys" } } },
            "routes": [{
                "matchers": [{ "prefix": "/" }],
                "routeAction": { "single": { "upstream": { "namespace": "test", "name": "echo" } } },
            }],
        } },
    });
    stack.rest().apply(&auth).unwrap();
    stack.rest().apply(&virtual_service).unwrap();
    let label = format!("team={}", site.labels["team"].as_str().unwrap());
    does(&stack, &["create", "secret", "apikey", "first", "--apikey", "first", "--apikey-labels", &label]);
    let ready = wait::until(SOON, "the site to serve on all workers", || {
        for _ in 0..12 {
            ensure!(ask(&stack, "first")? == Ok("first".to_owned()), "not yet");
        }
        let said = keyward(&stack, &["proxy", "status", "-o", "json"]);
        let answer: Value = serde_json::from_str(&said.data).with_context(|| said.notes.clone())?;
        ensure!(answer["synced"] == true && answer["workers"] == 3, "{answer:#}");
        Ok(())
    });
    ready.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    stack
}

#[test]
fn what_a_command_confirms_holds_on_every_worker() {
    let stack = start();
    let create = ["create", "secret", "apikey", "alice", "--apikey-generate", "--digest-only"];
    let create = [&create[..], &["--apikey-labels", "team=infra", "--wait=20s"]].concat();
    let key = confirms(&stack, &create);
    everywhere(&stack, &key, Ok("alice"));
    confirms(&stack, &["secret", "apikey", "disable", "alice", "--wait=20s"]);
    everywhere(&stack, &key, Err(401));
    confirms(&stack, &["secret", "apikey", "enable", "alice", "--wait=20s"]);
    everywhere(&stack, &key, Ok("alice"));
    let next = confirms(&stack, &["secret", "apikey", "rotate", "alice", "--wait=20s"]);
    everywhere(&stack, &next, Ok("alice"));
    everywhere(&stack, &key, Ok("alice"));
    let whose = does(&stack, &["secret", "apikey", "whoami", &key]);
    assert!(whose.contains("active (previous)") && whose.contains("keyward-system/keys"), "{whose}");
    confirms(&stack, &["secret", "apikey", "revoke", "alice", "--previous", "--wait=20s"]);
    everywhere(&stack, &key, Err(401));
    everywhere(&stack, &next, Ok("alice"));
    confirms(&stack, &["secret", "apikey", "revoke", "alice", "--wait=20s"]);
    everywhere(&stack, &next, Err(401));
    everywhere(&stack, "first", Ok("first"));
}

#[test]
fn the_list_says_when_a_key_was_used_and_how_often() {
    let stack = start();
    everywhere(&stack, "first", Ok("first"));
    // Workers report every ten seconds.
    let counted = wait::until(3 * SOON, "the uses to be reported", || {
        let list = does(&stack, &["secret", "apikey", "list", "first", "-o", "json"]);
        let list: Value = serde_json::from_str(&list)?;
        ensure!(list[0]["uses"].as_u64() >= Some(12) && list[0]["lastUsed"].is_string(), "{list:#}");
        Ok(())
    });
    counted.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    let unused = keyward(&stack, &["secret", "apikey", "unused", "--since", "1d"]);
    assert!(unused.code == Some(0) && unused.data.is_empty(), "{unused:?}");
}

#[test]
fn a_rotation_under_load_gives_no_wrong_answer() {
    let stack = start();
    let label = ["--apikey-labels", "team=infra", "--wait=20s"];
    confirms(&stack, &[&["create", "secret", "apikey", "alice", "--apikey", "key-0"], &label[..]].concat());
    let always = |key: &str| Sample::new(HOST, Some(key), 200);
    let mut previous = Traffic::start(&stack, 3, &[always("key-0"), always("first")]);
    previous.more(50, SOON).unwrap();
    for round in 1..=6 {
        let new = format!("key-{round}");
        // Whoever has the old key goes on, all through the rotation and beyond.
        let said = keyward(
            &stack,
            &["secret", "apikey", "rotate", "alice", "--apikey", &new, "--overlap", "1h", "--wait=20s"],
        );
        assert!(said.code == Some(0) && said.notes.contains(CONFIRMED), "{said:?}\n{}", stack.logs());
        // From here on the new one is right, without exception and on every worker.
        let next = Traffic::start(&stack, 3, &[always(&new), always("first")]);
        next.more(50, SOON).unwrap();
        previous.more(50, SOON).unwrap();
        let answers = previous.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
        assert!(answers >= 100, "{answers}");
        previous = next;
        if round > 1 {
            // Never are more than two valid: the one before those two is over.
            everywhere(&stack, &format!("key-{}", round - 2), Err(401));
        }
    }
    previous.stop().unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

#[test]
fn the_old_key_ends_with_the_overlap_on_the_clock_of_the_proxy() {
    let mut stack = start();
    let label = ["--apikey-labels", "team=infra", "--wait=20s"];
    confirms(&stack, &[&["create", "secret", "apikey", "alice", "--apikey", "old"], &label[..]].concat());
    confirms(
        &stack,
        &["secret", "apikey", "rotate", "alice", "--apikey", "new", "--overlap", "4s", "--wait=20s"],
    );
    // Nobody has to tell it.
    stack.kill_server().unwrap();
    let over = wait::until(SOON, "the overlap to end", || {
        for _ in 0..12 {
            ensure!(ask(&stack, "old")? == Err(401), "it is valid");
        }
        Ok(())
    });
    over.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    everywhere(&stack, "new", Ok("alice"));
}

#[test]
fn who_lags_is_named_and_the_exit_code_tells() {
    let stack = start();
    let pid = rustix::process::Pid::from_raw(stack.envoy_pid().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let said = keyward(&stack, &["secret", "apikey", "disable", "first", "--wait=300ms"]);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(said.code, Some(3), "{said:?}");
    let lags = "error: the change is made, but 3 of 3 workers have not confirmed";
    assert!(said.notes.contains(lags) && said.notes.contains("hint: `keyward proxy status`"), "{said:?}");
    let over = wait::until(SOON, "the key to be refused", || {
        ensure!(ask(&stack, "first")? == Err(401), "it is valid");
        Ok(())
    });
    over.unwrap();
}

#[test]
fn the_status_of_a_proxy_names_its_workers_and_what_they_hold() {
    let stack = start();
    let table = does(&stack, &["proxy", "status"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("PROXY") && lines[0].contains("LISTENERS"), "{table}");
    assert!(lines[1].contains("gateway-proxy") && lines[1].contains("SYNCED"), "{table}");
    assert!(!table.contains("NACKED") && !table.contains("STALE"), "{table}");
    let workers = lines.iter().filter(|line| line.contains(" ms ")).collect::<Vec<_>>();
    assert_eq!(workers.len(), 3, "{table}");
    assert!(workers.iter().all(|line| line.contains("SYNCED") && line.contains(" 0 ms")), "{table}");
}
