//! What the tests on the real Envoy share.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Process, Proxy, Stack, Tap, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a change may take to be in force, with other tests on the machine.
pub(crate) const SOON: Duration = Duration::from_secs(15);
/// The host of [`site`].
pub(crate) const HOST: &str = "site.test";
/// The same without auth.
pub(crate) const OPEN_HOST: &str = "open.test";

/// A Secret that the AuthConfig of [`site`] selects.
pub(crate) fn secret(name: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name, "labels": { "team": "a" } },
        "stringData": { "api-key": key },
    })
}

pub(crate) fn auth_config() -> Value {
    json!({
        "apiVersion": "enterprise.keyward.io/v1",
        "kind": "AuthConfig",
        "metadata": { "namespace": "team", "name": "keys" },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" } } }] },
    })
}

/// A virtual service whose routes all lead to the upstream.
pub(crate) fn virtual_service(
    name: &str,
    domains: &[&str],
    options: Value,
    routes: &[(&str, Value)],
) -> Value {
    let routes: Vec<Value> = routes
        .iter()
        .map(|(prefix, options)| {
            json!({
                "matchers": [{ "prefix": prefix }],
                "options": options,
                "routeAction": { "single": { "upstream": { "namespace": "test", "name": "echo" } } },
            })
        })
        .collect();
    json!({
        "apiVersion": "gateway.keyward.io/v1",
        "kind": "VirtualService",
        "metadata": { "namespace": "team", "name": name },
        "spec": { "virtualHost": { "domains": domains, "options": options, "routes": routes } },
    })
}

pub(crate) fn secured() -> Value {
    json!({ "extauth": { "configRef": { "namespace": "team", "name": "keys" } } })
}

/// A secured host and an open one, with these keys; returns when both answer right.
pub(crate) fn site(stack: &Stack, keys: &[(&str, &str)]) {
    for (name, key) in keys {
        stack.rest().apply(&secret(name, key)).unwrap();
    }
    stack.rest().apply(&auth_config()).unwrap();
    stack.rest().apply(&virtual_service("site", &[HOST], secured(), &[("/", json!({}))])).unwrap();
    stack.rest().apply(&virtual_service("open", &[OPEN_HOST], json!({}), &[("/", json!({}))])).unwrap();
    eventually(stack, OPEN_HOST, None, Ok(""));
    match keys.first() {
        Some((name, key)) => eventually(stack, HOST, Some(key), Ok(name)),
        None => eventually(stack, HOST, None, Err(401)),
    }
}

/// What a request comes to: the identity that the upstream got (empty without), or the status.
pub(crate) fn ask(stack: &Stack, host: &str, key: Option<&str>) -> anyhow::Result<Result<String, u16>> {
    let headers = key.map(|key| Headers::new().with("api-key", key)).unwrap_or_default();
    let (response, arrived) = stack.send(host, "/", &headers)?;
    ensure!(arrived.is_some() == (response.status == 200), "{} and forwarded: {arrived:?}", response.status);
    Ok(match arrived {
        Some(arrived) => {
            Ok(arrived.headers.all("x-user-id").iter().map(|id| id.escape_ascii().to_string()).collect())
        }
        None => Err(response.status),
    })
}

/// Waits until a request comes to this, and on many connections in a row: each worker of Envoy hears
/// of a change by itself, and a connection stays with one.
pub(crate) fn eventually(stack: &Stack, host: &str, key: Option<&str>, expected: Result<&str, u16>) {
    let got = wait::until(SOON, &format!("{host} to answer {expected:?}"), || {
        for _ in 0..10 {
            let got = ask(stack, host, key)?;
            ensure!(got.as_deref().map_err(|status| *status) == expected, "it answers {got:?}");
        }
        Ok(())
    });
    got.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

/// A request comes to this, now.
#[track_caller]
pub(crate) fn at_once(stack: &Stack, host: &str, key: Option<&str>, expected: Result<&str, u16>) {
    let got = ask(stack, host, key).unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    let got = got.as_deref().map_err(|status| *status);
    assert!(got == expected, "{host} answers {got:?}, not {expected:?}\n{}", stack.logs());
}

/// Base64, so that the tests need no library for it.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
        let word = word << (8 * (3 - group.len()));
        for index in 0..4 {
            let sextet = (word >> (18 - 6 * index)) & 63;
            encoded.push(if index <= group.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    encoded
}

/// An Envoy that nobody supervises, with a tap on what it and the control server say.
pub(crate) struct OwnProxy {
    pub(crate) proxy: Proxy,
    pub(crate) tap: Tap,
    process: Process,
    folder: TempDir,
}

impl OwnProxy {
    pub(crate) fn start(stack: &Stack, role: &str) -> Self {
        Self::start_holding(stack, role, usize::MAX)
    }

    /// Only the first connections to the control server get through.
    pub(crate) fn start_holding(stack: &Stack, role: &str, from: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tap = Tap::start(stack.xds()).unwrap();
        tap.hold_from(from);
        let proxy = stack.proxy();
        let process = proxy.start(folder.path(), role, tap.address()).unwrap();
        wait::until(SOON, "Envoy to be ready", || proxy.ready()).unwrap();
        Self { proxy, tap, process, folder }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.process.pid().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
