//! `testdata/translate/<case>/{in.yaml,status.yaml,proxy.yaml,xds.yaml}`. A case may have a
//! `before.yaml`: a state of the resources that was translated before, so that there are last good
//! versions. A `requests.yaml` is for the real Envoy.
//!
//! `UPDATE_GOLDENS=1` rewrites the last three and deletes those whose case is gone.

use std::fs;
use std::path::{Path, PathBuf};

use keyward_resource::{Resource, admit, decode, kind};
use keyward_translate::{Input, LastGood, translate};
use serde_json::Value;

use crate::support::{Put, root, settings};
use crate::view;

const HEADER: &str = "# Written by UPDATE_GOLDENS=1 cargo test -p keyward-translate.\n";

#[test]
fn goldens() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut cases = 0;
    let mut failures = Vec::new();
    for case in folders(&root().join("testdata/translate")) {
        if !case.join("in.yaml").exists() {
            assert!(update, "{} has no in.yaml", case.display());
            fs::remove_dir_all(&case).expect("an orphan can be deleted");
            continue;
        }
        cases += 1;
        if let Err(failure) = check(&case, update) {
            failures.push(failure);
        }
    }
    assert!(cases >= 8, "only {cases} cases found");
    assert!(failures.is_empty(), "{}\n\nUPDATE_GOLDENS=1 takes the new output over", failures.join("\n\n"));
}

fn check(case: &Path, update: bool) -> Result<(), String> {
    let before = case.join("before.yaml");
    let last_good = if before.exists() {
        translate(&read(&before), &settings(), &LastGood::default()).last_good
    } else {
        LastGood::default()
    };
    let output = translate(&read(&case.join("in.yaml")), &settings(), &last_good);
    let failures: Vec<String> = view::output(&output)
        .iter()
        .filter_map(|(file, shown)| {
            let shown = serde_saphyr::to_string(shown).expect("YAML");
            compare(&case.join(file), &format!("{HEADER}{shown}"), update)
        })
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn compare(golden: &Path, actual: &str, update: bool) -> Option<String> {
    if update {
        fs::write(golden, actual).expect("the golden can be written");
        return None;
    }
    let expected = fs::read_to_string(golden).unwrap_or_default();
    let differs = expected.lines().zip(actual.lines()).position(|(expected, actual)| expected != actual);
    let line =
        differs.or((expected != actual).then(|| expected.lines().count().min(actual.lines().count())))?;
    Some(format!(
        "{} differs from line {}:\n- {}\n+ {}",
        golden.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(end)"),
        actual.lines().nth(line).unwrap_or("(end)"),
    ))
}

fn read(path: &Path) -> Input {
    let mut input = Input::default();
    for object in documents(path) {
        put(object, path, &mut input);
    }
    input
}

/// The objects of a file, as they are written.
pub(crate) fn documents(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a readable case");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
    assert!(!objects.is_empty() || text.starts_with('#'), "{} is empty", path.display());
    objects
}

fn put(object: Value, path: &Path, input: &mut Input) {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (kind, _) = kind::by_type(&text("apiVersion"), &text("kind")).expect("a known kind");
    // Admission drops what servers own; here the case plays the server.
    let owned: Vec<(String, Value)> = ["creationTimestamp", "generation"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), object["metadata"].get(name)?.clone())))
        .collect();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
    let mut admitted = admit(kind, &namespace, None, object)
        .unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
    for (name, value) in owned {
        admitted["metadata"][name] = value;
    }
    match decode(kind, &admitted).expect("an admitted object decodes") {
        Resource::Gateway(gateway) => gateway.put(input),
        Resource::VirtualService(virtual_service) => virtual_service.put(input),
        Resource::Upstream(upstream) => upstream.put(input),
        Resource::AuthConfig(auth_config) => auth_config.put(input),
        Resource::TlsSecret(secret) => secret.put(input),
        Resource::RouteTable(table) => table.put(input),
        Resource::VirtualHostOption(option) => option.put(input),
        Resource::RouteOption(option) => option.put(input),
        Resource::UpstreamGroup(group) => group.put(input),
        Resource::Settings(said) => said.put(input),
        // Keys are no part of what is translated.
        Resource::ApiKeySecret(_) => {}
        other => panic!("translation knows no {}", other.key()),
    }
}

pub(crate) fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
