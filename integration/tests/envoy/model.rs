//! Random histories of resources on two planes side by side: the pure crates with the filter in
//! wasmtime say what has to come, and the real Envoy with the real control server has to get there.

use anyhow::ensure;
use keyward_integration::cases::{Answer, Plane, WasmPlane};
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack, wait};
use keyward_integration::wasm_host::Host;
use serde_json::{Value, json};

use crate::kit::{SOON, secret};

const STEPS: usize = 25;
const NAMES: [&str; 4] = ["ann", "ben", "cat", "dan"];
const KEYS: [&str; 4] = ["key-one", "key-two", "key-three", ""];
const CONFIGS: [&str; 2] = ["first", "second"];
const HOSTS: [&str; 2] = ["one.test", "two.test"];

struct Random(u64);

/// A change of one object: its new content, or its deletion.
enum Change {
    Apply(Value),
    Delete(&'static str, String),
}

fn service(name: &str, host: &str, first: &Value, second: &Value) -> Value {
    crate::kit::virtual_service(name, &[host], first.clone(), &[("/sub", second.clone()), ("/", json!({}))])
}

fn apply(plane: &mut dyn Plane, change: &Change) -> anyhow::Result<()> {
    match change {
        Change::Apply(object) => plane.apply(object),
        // There may be none: the planes agree on that.
        Change::Delete(kind, name) => match plane.status(kind, "team", name) {
            Ok(_) => plane.delete(kind, "team", name),
            Err(_) => Ok(()),
        },
    }
}

/// What of an answer is the same on every plane: the status, and the identity that the upstream got.
type Essence = (u16, Option<Vec<Vec<u8>>>);

fn essence(answer: &Answer) -> Essence {
    let identity = |headers: &Headers| headers.all("x-user-id").into_iter().map(<[u8]>::to_vec).collect();
    (answer.status, answer.forwarded.as_ref().map(identity))
}

/// A request, and the essence of its answer.
type Expected = (&'static str, &'static str, &'static str, Essence);

/// What has to come of every request that there is.
fn expected(model: &mut WasmPlane) -> anyhow::Result<Vec<Expected>> {
    let mut all = Vec::new();
    for host in HOSTS {
        for path in ["/", "/sub"] {
            let secured = model.control().route(host, path).map(|route| route.auth.auth_id().is_some());
            for key in KEYS {
                let headers = Headers::new().with("api-key", key);
                let essence = match secured {
                    Some(true) => essence(&model.send(host, path, &headers, &Headers::new())?),
                    Some(false) => (200, Some(Vec::new())),
                    None => (404, None),
                };
                all.push((host, path, key, essence));
            }
        }
    }
    Ok(all)
}

fn compare(expected: &[Expected], stack: &mut Stack) -> anyhow::Result<()> {
    for (host, path, key, expected) in expected {
        let headers = Headers::new().with("api-key", key);
        let got = essence(&stack.send(host, path, &headers, &Headers::new())?);
        ensure!(got == *expected, "{host}{path} with {key:?}: {got:?}, expected {expected:?}");
    }
    Ok(())
}

fn history(seed: u64) {
    let mut random = Random(seed);
    let mut stack = Stack::start(Options { concurrency: 2, ..Options::default() }).unwrap();
    let mut model = WasmPlane::new(Host::load_by_itself().unwrap());
    model.apply(&stack.rest().get("Upstream", "test", "echo").unwrap()).unwrap();
    let mut log = Vec::new();
    for step in 0..STEPS {
        // One change, or several that come so fast that they may be seen as one.
        for _ in 0..=random.below(4) {
            let change = random.change();
            log.push(match &change {
                Change::Apply(object) => format!("{step}: apply {object}"),
                Change::Delete(kind, name) => format!("{step}: delete {kind} {name}"),
            });
            let done = (apply(&mut model, &change).is_ok(), apply(&mut stack, &change).is_ok());
            assert_eq!(done.0, done.1, "the planes disagree on {:?}", log.last());
        }
        let mut agreed = 0;
        let expected = expected(&mut model).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
        wait::until(SOON, "both planes to agree", || {
            let outcome = compare(&expected, &mut stack);
            agreed = if outcome.is_ok() { agreed + 1 } else { 0 };
            outcome?;
            ensure!(agreed >= 6, "not yet on every worker");
            Ok(())
        })
        .and_then(|()| compare(&expected, &mut stack))
        .unwrap_or_else(|error| panic!("seed {seed}: {error:#}\n{}\n{}", log.join("\n"), stack.logs()));
    }
}

#[test]
fn random_histories_come_to_the_same_on_both_planes() {
    for seed in [1, 2] {
        history(seed);
    }
}

// === impl Random ===

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // The generator of Lehmer and Park-Miller; its high bits are good enough here.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn extauth(&mut self) -> Value {
        match self.below(4) {
            0 => json!({}),
            1 => json!({ "extauth": { "disable": true } }),
            _ => json!({ "extauth": { "configRef": { "namespace": "team", "name": self.of(&CONFIGS) } } }),
        }
    }

    fn change(&mut self) -> Change {
        match self.below(12) {
            0..=4 => {
                let mut object = secret(self.of(&NAMES), self.of(&KEYS));
                object["metadata"]["labels"] = json!({ "group": self.of(&["a", "b"]) });
                Change::Apply(object)
            }
            5 | 6 => Change::Delete("Secret", self.of(&NAMES).to_owned()),
            7 | 8 => {
                let name = self.of(&CONFIGS);
                let mut auth = json!({ "labelSelector": { "group": self.of(&["a", "b"]) } });
                if self.below(3) == 0 {
                    auth["apiKeySecretRefs"] = json!([{ "namespace": "team", "name": self.of(&NAMES) }]);
                }
                if self.below(6) == 0 {
                    auth = json!({});
                }
                Change::Apply(json!({
                    "apiVersion": "enterprise.keyward.io/v1",
                    "kind": "AuthConfig",
                    "metadata": { "namespace": "team", "name": name },
                    "spec": { "configs": [{ "apiKeyAuth": auth }] },
                }))
            }
            9 if self.below(2) == 0 => Change::Delete("AuthConfig", self.of(&CONFIGS).to_owned()),
            10 if self.below(3) == 0 => Change::Delete("VirtualService", self.of(&["one", "two"]).to_owned()),
            _ => {
                let which = self.below(2);
                let (first, second) = (self.extauth(), self.extauth());
                Change::Apply(service(["one", "two"][which], HOSTS[which], &first, &second))
            }
        }
    }
}
