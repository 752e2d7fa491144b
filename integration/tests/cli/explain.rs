//! `keyward explain` beside the real Envoy: what is explained is what is answered.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use keyward_integration::stack::Stack;
use serde_json::{Value, json};

use crate::life::{HOST, Site, confirms, start_with};

/// What a command said.
#[derive(Debug)]
struct Said {
    told: Value,
    code: Option<i32>,
}

/// Explains a request, and sends it.
fn explain(stack: &Stack, key: Option<&str>, words: &[&str]) -> anyhow::Result<Said> {
    let mut command = Command::new(paths::keyward()?);
    command
        .args(["explain", "--host", HOST, "--send", "-o", "json"])
        .args(words)
        .env("KEYWARD_SERVER", format!("http://{}", stack.rest().address()))
        .env("HOME", stack.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if key.is_some() {
        command.arg("--key-stdin");
    }
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    stdin.write_all(key.unwrap_or_default().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    let (data, notes) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    if let Some(secret) = key {
        ensure!(!data.contains(secret) && !notes.contains(secret), "the key is shown: {data} {notes}");
    }
    let told = serde_json::from_str(&data).with_context(|| format!("{words:?}: {data} {notes}"))?;
    Ok(Said { told, code: output.status.code() })
}

fn key(stack: &Stack, name: &str, words: &[&str]) {
    let create = ["create", "secret", "apikey", name, "--apikey-labels", "team=infra", "--wait=20s"];
    confirms(stack, &[&create[..], words].concat());
}

#[test]
fn what_is_explained_is_what_is_answered() {
    let stack = start_with(&Site { domain: HOST, labels: json!({ "team": "infra" }) });
    // The command makes no key that has expired already.
    let bob = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "keyward-system", "name": "bob", "labels": { "team": "infra" } },
        "stringData": { "api-key": "key-of-bob", "expires-at": "2001-01-01T00:00:00Z" },
    });
    stack.rest().apply(&bob).unwrap();
    key(&stack, "alice", &["--apikey", "key-of-alice"]);
    key(&stack, "carol", &["--apikey", "key-of-carol"]);
    confirms(&stack, &["secret", "apikey", "disable", "carol", "--wait=20s"]);
    for (key, code, verdict, reason, status) in [
        (Some("key-of-alice"), 0, "allowed", Value::Null, 200),
        (None, 4, "denied", json!("missing"), 401),
        (Some("key-of-bob"), 4, "denied", json!("expired"), 401),
        (Some("key-of-carol"), 4, "denied", json!("disabled"), 401),
        (Some("key-of-dave"), 4, "denied", json!("unknown"), 401),
    ] {
        let said = explain(&stack, key, &["--path", "//a/./b"]).unwrap();
        let told = &said.told;
        assert_eq!(said.code, Some(code), "{key:?}: {said:#?}\n{}", stack.logs());
        assert_eq!((&told["verdict"], &told["reason"]), (&json!(verdict), &reason), "{told:#}");
        assert_eq!(told["sent"]["status"], status, "{told:#}");
        assert_eq!(told["authConfig"], "keyward-system/keys");
        assert_eq!(told["virtualHost"]["virtualService"], "keyward-system/site");
    }
    let allowed = explain(&stack, Some("key-of-alice"), &[]).unwrap().told;
    assert_eq!((&allowed["identity"], &allowed["keys"][0]["state"]), (&json!("alice"), &json!("valid")));
    assert_eq!(allowed["upstreams"][0]["upstream"], "test/echo");
    // Whoever answers there is no gateway, and asks nobody for a key.
    let elsewhere = format!("http://{}", stack.upstream().address());
    let said = explain(&stack, None, &["--url", &elsewhere]).unwrap();
    assert_eq!(said.code, Some(6), "{said:#?}");
    assert!(said.told["sent"]["difference"].is_string() && said.told["reason"] == "missing", "{said:#?}");
}
