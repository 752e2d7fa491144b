//! `keyward check` where there is much to look at: it comes to an end soon, and finds what is wrong and nothing
//! else.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;
use keyward_integration::paths;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::{Value, json};

use crate::life::does;

/// Of each there are so many.
const SECRETS: usize = 3_000;
const UPSTREAMS: usize = 1_000;
const AUTH_CONFIGS: usize = 500;
const VIRTUAL_SERVICES: usize = 500;
/// So many are made at a time.
const AT_ONCE: usize = 8;
/// How long it may take in a development build, with other tests on the machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long making all that may take.
const MAKING: Duration = Duration::from_secs(120);

/// Everything but Secrets.
fn objects(stack: &Stack) -> Vec<Value> {
    let address = stack.upstream().address();
    let metadata = |name: String| json!({ "namespace": "many", "name": name });
    let mut all = Vec::new();
    for index in 0..UPSTREAMS {
        all.push(json!({
            "apiVersion": "service.keyward.io/v1", "kind": "Upstream", "metadata": metadata(format!("up-{index}")),
            "spec": { "static": { "hosts": [{ "addr": address.ip().to_string(), "port": address.port() }] } },
        }));
    }
    for index in 0..AUTH_CONFIGS {
        all.push(json!({
            "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig", "metadata": metadata(format!("auth-{index}")),
            "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": format!("t{index}") } } }] },
        }));
    }
    for index in 0..VIRTUAL_SERVICES {
        let reference = |name: String| json!({ "namespace": "many", "name": name });
        let route = |to: usize, prefix: &str| {
            json!({
                "matchers": [{ "prefix": prefix }],
                "routeAction": { "single": { "upstream": reference(format!("up-{to}")) } },
            })
        };
        all.push(json!({
            "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService", "metadata": metadata(format!("vs-{index}")),
            "spec": { "virtualHost": {
                "domains": [format!("d{index}.test")],
                "options": { "extauth": { "configRef": reference(format!("auth-{index}")) } },
                "routes": [route(index, "/a"), route(index + VIRTUAL_SERVICES, "/")],
            } },
        }));
    }
    all
}

/// What it says, how it ends, and how long it takes.
fn check(stack: &Stack) -> (Value, Option<i32>, Duration) {
    let began = Instant::now();
    let output = Command::new(paths::keyward().unwrap())
        .args(["check", "-o", "json"])
        .env("KEYWARD_SERVER", format!("http://{}", stack.rest().address()))
        .env("HOME", stack.folder())
        .output()
        .unwrap();
    let took = began.elapsed();
    let said = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (said, output.status.code(), took)
}

#[test]
fn a_check_of_five_thousand_objects_ends_soon_and_finds_the_one_mistake() {
    let stack = Stack::start(Options::default()).unwrap();
    let file = |name: &str| stack.folder().join(name).display().to_string();
    let mut keys = "name,namespace,labels,api-key\n".to_owned();
    for row in 0..SECRETS {
        let _ = writeln!(keys, "user-{row},many,team=t{},many-key-{row}", row % AUTH_CONFIGS);
    }
    std::fs::write(file("keys.csv"), keys).unwrap();
    let began = Instant::now();
    does(&stack, &["secret", "apikey", "import", &file("keys.csv")]);
    let objects = objects(&stack);
    std::thread::scope(|scope| {
        for part in objects.chunks(objects.len().div_ceil(AT_ONCE)) {
            scope.spawn(|| part.iter().for_each(|object| drop(stack.rest().create(object).unwrap())));
        }
    });
    let healthy = wait::until(MAKING, "everything to be in force", || {
        let (said, code, took) = check(&stack);
        ensure!(code == Some(0), "{code:?}: {}", said["errors"]);
        Ok(took)
    });
    let healthy = healthy.unwrap_or_else(|error| panic!("{error:#}"));
    assert!(began.elapsed() < MAKING * 2, "making it took {:?}", began.elapsed());

    // One mistake: an AuthConfig that asks for keys that nobody has.
    let lonely = json!({
        "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
        "metadata": { "namespace": "many", "name": "lonely" },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "nobody" } } }] },
    });
    stack.rest().apply(&lonely).unwrap();
    let found = wait::until(MAKING, "the mistake to be found", || {
        let (said, code, took) = check(&stack);
        ensure!(code == Some(1), "{code:?}: {said}");
        Ok((said, took))
    });
    let (said, faulty) = found.unwrap_or_else(|error| panic!("{error:#}"));
    let errors = said["findings"].as_array().unwrap();
    let [error] = &errors[..] else { panic!("{} findings: {}", errors.len(), said["findings"]) };
    assert_eq!(
        (&error["object"]["kind"], &error["object"]["name"]),
        (&json!("AuthConfig"), &json!("lonely")),
        "{error}"
    );
    let resources = said["resources"].as_array().unwrap();
    let wrong: Vec<&Value> =
        resources.iter().filter(|it| it["status"] != "OK").map(|it| &it["name"]).collect();
    assert_eq!(wrong, ["AuthConfigs"], "{said}");
    println!("healthy in {healthy:?}, with a mistake in {faulty:?}");
    assert!(healthy < PATIENCE && faulty < PATIENCE, "{healthy:?} and {faulty:?}");
}
