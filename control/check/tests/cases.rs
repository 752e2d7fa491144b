//! Every case in `testdata/check`: what there is, and what is said of it.
//!
//! `input.yaml` holds the objects. One without a status is accepted; otherwise `status` is a state, or a
//! list of a state and a reason, or `null` where nobody has looked at it. `state.json` is the answer to
//! `GET /keyward/v1/proxies`; without it nobody asked. `args.json` says what is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use keyward_check::{CODES, Choice, PodSelector, Section, State, World, check};
use keyward_resource::{Report, Saying, State as ObjectState, kind};
use serde::Deserialize;
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z.
const NOW: u64 = 1_767_225_600_000;
/// What is written of each case.
const GOLDENS: [&str; 3] = ["stdout", "stderr", "json"];
/// Fewer would mean that they were not found.
const LEAST: usize = 10;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Args {
    namespace: Option<String>,
    namespaces: BTreeSet<String>,
    exclude: Vec<String>,
    pods: Option<PodSelector>,
    /// By kind: why its objects could not be read.
    lacks: BTreeMap<String, String>,
    more_secrets: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/check")
}

fn cases_and_rests() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("testdata/check");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("a folder").path()).collect();
    cases.sort();
    assert!(cases.len() >= LEAST, "only {} cases were found", cases.len());
    cases
}

fn cases() -> Vec<PathBuf> {
    let cases: Vec<_> =
        cases_and_rests().into_iter().filter(|case| case.join("input.yaml").is_file()).collect();
    assert!(cases.len() >= LEAST, "only {} cases were found", cases.len());
    cases
}

/// The status that the server would store.
fn status(said: &Value, namespace: &str) -> Value {
    let (state, reasons) = match said {
        Value::Array(said) => (said[0].clone(), vec![said[1].as_str().expect("a reason").to_owned()]),
        state => (state.clone(), Vec::new()),
    };
    let state = match state.as_str().expect("a state") {
        "Accepted" => ObjectState::Accepted,
        "Warning" => ObjectState::Warning,
        "Rejected" => ObjectState::Rejected,
        "Pending" => ObjectState::Pending,
        other => panic!("{other} is no state"),
    };
    let report = Report { state, reasons };
    let report =
        Some(&report).filter(|report| report.state != ObjectState::Pending || !report.reasons.is_empty());
    let proxies = BTreeMap::new();
    Saying { system_namespace: namespace, generation: 1, report, proxies: &proxies }
        .status(None, "2026-01-01T00:00:00Z")
}

fn world(case: &Path, args: &Args, namespace: &str) -> World {
    let mut world = World::new(namespace);
    let text = fs::read_to_string(case.join("input.yaml")).expect("input.yaml");
    for document in text.split("\n---\n") {
        let mut object: Value = serde_saphyr::from_str(document).expect("an object");
        let name = object["kind"].as_str().expect("a kind");
        let kind = kind::by_name(name).unwrap_or_else(|| panic!("{name} is no kind"));
        object["apiVersion"] = kind.api_version().into();
        object["metadata"]["generation"] = 1.into();
        object["status"] = match object.get("status") {
            None => status(&json!("Accepted"), namespace),
            Some(Value::Null) => Value::Null,
            Some(said) => status(said, namespace),
        };
        world.take(kind, object);
    }
    for (name, why) in &args.lacks {
        world.lacks(kind::by_name(name).expect("a kind"), why.clone());
    }
    if args.more_secrets {
        world.lacks_secrets();
    }
    world
}

/// What is said of a case, by the names of the files that hold it.
fn said(case: &Path) -> [(&'static str, String); 3] {
    let args: Args = match fs::read_to_string(case.join("args.json")) {
        Ok(text) => serde_json::from_str(&text).expect("args.json"),
        Err(_) => Args::default(),
    };
    let namespace = args.namespace.clone().unwrap_or_else(|| "keyward-system".to_owned());
    let state: Option<State> = fs::read_to_string(case.join("state.json"))
        .ok()
        .map(|text| serde_json::from_str(&text).expect("state.json"));
    let choice = Choice {
        namespaces: args.namespaces.clone(),
        exclude: args.exclude.iter().map(|word| Section::of_word(word).expect("a section")).collect(),
        pods: args.pods.clone().unwrap_or_default(),
        namespace: namespace.clone(),
    };
    let outcome = check(&world(case, &args, &namespace), state.as_ref(), &choice, NOW);
    let json = serde_json::to_string_pretty(&outcome.json()).expect("JSON");
    [
        ("stdout", format!("{}\n", outcome.text())),
        ("stderr", outcome.errors().unwrap_or_default()),
        ("json", format!("{json}\n")),
    ]
}

/// Goldens whose case is gone; deleted where all are written anew.
fn orphans(update: bool) -> Vec<String> {
    let gone = |case: &PathBuf| !case.join("input.yaml").is_file();
    let files =
        cases_and_rests().into_iter().filter(gone).flat_map(|case| GOLDENS.map(|file| case.join(file)));
    let mut found = Vec::new();
    for path in files.filter(|path| path.exists()) {
        if update {
            fs::remove_file(&path).expect("the orphan can be removed");
            // Only where nothing else is in it.
            let _ = fs::remove_dir(path.parent().expect("a folder"));
        } else {
            found.push(format!("{}: there is no input.yaml beside it", path.display()));
        }
    }
    found
}

#[test]
fn every_case_is_said_as_it_is_written() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut failed = orphans(update);
    for case in cases() {
        for (file, said) in said(&case) {
            let path = case.join(file);
            if update {
                fs::write(&path, said).expect("the golden can be written");
            } else if fs::read_to_string(&path).ok().as_ref() != Some(&said) {
                failed.push(format!("{}:\n{said}", path.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{}\n\nUPDATE_GOLDENS=1 takes over what is said", failed.join("\n\n"));
}

#[test]
fn every_code_has_a_case() {
    let errors: String = cases().iter().flat_map(|case| said(case)).map(|(_, said)| said).collect();
    let without: Vec<_> =
        CODES.iter().map(|code| code.id).filter(|id| !errors.contains(&format!("[{id}]"))).collect();
    assert!(without.is_empty(), "no case shows {without:?}");
}

#[test]
fn nothing_confidential_is_said() {
    for case in cases() {
        for (file, said) in said(&case) {
            assert!(!said.contains("c2VjcmV0") && !said.contains("a-key-"), "{} {file}", case.display());
        }
    }
}
