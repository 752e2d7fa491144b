//! What ports answer: everything that each lists itself has to be in the list, and is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::list::{Ask, List};
use crate::planted::key;
use crate::scene::Scene;

/// Who is told to come later is asked again after this, so often.
const AGAIN: Duration = Duration::from_millis(200);
const TRIES: usize = 50;

/// A request to a port.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) port: SocketAddr,
    pub(crate) ask: Ask,
}

fn text(scene: &Scene, port: SocketAddr, path: &str) -> String {
    let (status, said) = scene.ask(port, "GET", path, None, "").unwrap();
    assert_eq!(status, 200, "{path}");
    String::from_utf8_lossy(&said).into_owned()
}

fn json(scene: &Scene, path: &str) -> Value {
    let said = text(scene, scene.stack.rest().address(), path);
    // Behind the headers.
    serde_json::from_str(said.split_once('\n').unwrap().1).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn port(scene: &Scene, name: &str) -> SocketAddr {
    match name {
        "rest" => scene.stack.rest().address(),
        "stats" => scene.stats,
        "snapshots" => scene.stack.snapshots(),
        "dev" => scene.dev,
        "proxy" => scene.stack.admin(),
        other => panic!("there is no port {other}"),
    }
}

/// The paths that a port says it has, without those of resources.
fn listed(scene: &Scene, name: &str) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = match name {
        "rest" => {
            let root = json(scene, "/");
            let all = root["paths"].as_array().unwrap().iter().filter_map(Value::as_str);
            all.filter(|path| !path.starts_with("/api/") && !path.starts_with("/apis/"))
                .map(str::to_owned)
                .collect()
        }
        "proxy" => {
            let help = text(scene, port(scene, name), "/help");
            let own = |line: &str| Some(line.strip_prefix("  /")?.split([':', ' ']).next()?.to_owned());
            help.lines().filter_map(own).map(|path| format!("/{path}")).collect()
        }
        // `GET  /path  what it is for`.
        _ => {
            let index = text(scene, port(scene, name), "/");
            let path = |line: &str| {
                line.split_whitespace().nth(1).filter(|it| it.starts_with('/')).map(str::to_owned)
            };
            index.lines().filter_map(path).collect()
        }
    };
    paths.insert("/".to_owned());
    paths
}

/// Everything that is asked of ports. Fails where a port has what nobody has listed.
pub(crate) fn all(scene: &Scene, list: &List) -> Vec<(String, Asked)> {
    let mut all = Vec::new();
    for (name, paths) in &list.ports {
        let known: BTreeSet<String> = paths.keys().cloned().collect();
        let there = listed(scene, name);
        let (missing, gone) = (&there - &known, &known - &there);
        assert!(
            missing.is_empty() && gone.is_empty(),
            "testdata/surfaces/surfaces.yaml: of the port {name} it lacks {missing:?}, and has {gone:?} in vain"
        );
        for (path, asks) in paths {
            for text in asks {
                let text = text.replace("{key}", &key("plain")).replace("{short-digest}", &digest());
                let ask = Ask::parse(path, &text).unwrap();
                all.push((format!("{name} {ask}"), Asked { port: port(scene, name), ask }));
            }
        }
    }
    let rest = port(scene, "rest");
    for (path, templates) in resources(scene, list) {
        for template in templates {
            let ask = Ask::parse(&path, &template).unwrap();
            all.push((format!("rest {ask}"), Asked { port: rest, ask }));
        }
    }
    all
}

fn digest() -> String {
    let digest = keyward_filter_core::key::digest(key("plain").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// By path what is asked of each resource that discovery lists.
fn resources(scene: &Scene, list: &List) -> BTreeMap<String, Vec<String>> {
    let root = json(scene, "/");
    let versions = root["paths"].as_array().unwrap().iter().filter_map(Value::as_str);
    let mut all = BTreeMap::new();
    // The versions of groups alone: `/api/v1`, `/apis/group/v1`.
    let depth = |path: &str| path.matches('/').count();
    for version in versions.filter(|path| {
        (path.starts_with("/api/") && depth(path) == 2) || (path.starts_with("/apis/") && depth(path) == 3)
    }) {
        for resource in json(scene, version)["resources"].as_array().unwrap() {
            let plural = resource["name"].as_str().unwrap();
            // The status of an object is a part of it; and who asks about himself is shown no object.
            let is_review = resource["verbs"] == serde_json::json!(["create"]);
            if plural.contains('/') || (is_review && version.contains(".k8s.io/")) {
                continue;
            }
            let collection = format!("{version}/{plural}");
            // What nobody can watch is not watched.
            let can_watch =
                resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|it| it == "watch"));
            let asked = list.resources.all.iter().filter(|ask| can_watch || !ask.contains("watch=true"));
            all.insert(collection.clone(), asked.cloned().collect());
            if resource["namespaced"] == true {
                all.insert(format!("{version}/namespaces/team/{plural}"), list.resources.namespaced.clone());
            }
            for object in json(scene, &collection)["items"].as_array().unwrap() {
                let name = object["metadata"]["name"].as_str().unwrap();
                let path = match object["metadata"]["namespace"].as_str() {
                    Some(namespace) => format!("{version}/namespaces/{namespace}/{plural}/{name}"),
                    None => format!("{collection}/{name}"),
                };
                all.insert(path, list.resources.one.clone());
            }
        }
    }
    all
}

// === impl Asked ===

impl Asked {
    pub(crate) fn run(&self, scene: &Scene) -> anyhow::Result<Vec<u8>> {
        let Ask { method, path, accept, body } = &self.ask;
        let ask = || scene.ask(self.port, method, path, accept.as_deref(), body);
        let mut answer = ask()?;
        // Profiles are taken one at a time.
        for _ in 0..TRIES {
            if answer.0 != 429 {
                break;
            }
            std::thread::sleep(AGAIN);
            answer = ask()?;
        }
        let (status, said) = answer;
        let is_refused = body.contains(&key("plain"));
        let right = if is_refused { 400..500 } else { 200..300 };
        let about = || said.escape_ascii().to_string().chars().take(300).collect::<String>();
        ensure!(right.contains(&status), "{status}: {}", about());
        // Profiles are compressed.
        let at = said.iter().position(|byte| *byte == b'\n').context("no headers")? + 1;
        if said.get(at..at + 2) == Some(&[0x1f, 0x8b]) {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&said[at..]), &mut plain)?;
            return Ok(plain);
        }
        Ok(said)
    }
}
