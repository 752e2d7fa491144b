//! The cases in `testdata/print`: objects as a server answers them (`in.yaml`), and every form in which they
//! are shown. `UPDATE_GOLDENS=1` writes what is, and removes what is none any more.

use std::path::{Path, PathBuf};

use keyward_resource::{Format, kind, parse_documents};

use super::*;

/// Fewer would mean that they were not found.
const LEAST: usize = 12;
/// What can be written of a case.
const GOLDENS: [&str; 7] =
    ["table.txt", "wide.txt", "out.json", "out.yaml", "kube.yaml", "routes.txt", "routes-wide.txt"];
/// What stands in the Secrets of the cases.
const CONTENTS: &[&str] = &["secret-one", "c2VjcmV0LW9uZQ"];

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/print");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// Every form, by the name of its file.
fn forms(case: &Path) -> Vec<(&'static str, String)> {
    let text = std::fs::read(case.join("in.yaml")).unwrap();
    let objects = parse_documents(&text, Format::Yaml).unwrap();
    let kind = kind::by_name(objects[0]["kind"].as_str().unwrap()).unwrap();
    let now = "2026-06-01T00:05:30Z".parse().unwrap();
    let view = |wide| View { wide, namespaces: false, now };
    let document = |form| documents(kind, objects.clone(), form).unwrap();
    let mut forms = vec![
        ("table.txt", table(kind, &objects, view(false))),
        ("wide.txt", table(kind, &objects, view(true))),
        ("out.json", document(Form::Json)),
        ("out.yaml", document(Form::Yaml)),
        ("kube.yaml", document(Form::KubeYaml)),
    ];
    if objects.iter().any(|object| routes_of(object).next().is_some()) {
        let both = |wide| objects.iter().map(|object| routes(object, wide)).collect::<Vec<_>>().join("\n");
        forms.extend([("routes.txt", both(false)), ("routes-wide.txt", both(true))]);
    }
    forms
}

#[test]
fn every_kind_is_shown_as_it_was() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let cases = cases();
    assert!(cases.len() >= LEAST, "only {} cases were found", cases.len());
    let mut failed = Vec::new();
    for case in cases {
        let forms = if case.join("in.yaml").is_file() { forms(&case) } else { Vec::new() };
        for orphan in GOLDENS.iter().filter(|file| !forms.iter().any(|(known, _)| known == *file)) {
            let path = case.join(orphan);
            if path.exists() && update {
                std::fs::remove_file(&path).unwrap();
            } else if path.exists() {
                failed.push(format!("{}: it is a form of nothing", path.display()));
            }
        }
        if update && forms.is_empty() {
            // Only where nothing else is in it.
            let _ = std::fs::remove_dir(&case);
        }
        for (file, shown) in forms {
            let path = case.join(file);
            for contents in CONTENTS {
                assert!(!shown.contains(contents), "{}: the contents of a Secret are shown", path.display());
            }
            if update {
                std::fs::write(&path, format!("{shown}\n")).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != format!("{shown}\n") {
                failed.push(format!("{}:\n{shown}", path.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{}\n\nUPDATE_GOLDENS=1 takes it over", failed.join("\n\n"));
}

#[test]
fn namespaces_stand_in_front_where_they_are_asked_for() {
    let object = serde_json::json!({ "metadata": { "namespace": "team", "name": "a" } });
    let view = View { wide: false, namespaces: true, now: Timestamp::UNIX_EPOCH };
    let shown = |kind| table(kind::by_name(kind).unwrap(), std::slice::from_ref(&object), view);
    assert!(shown("Settings").contains("\n| NAMESPACE | SETTINGS | STATUS  |\n"), "{}", shown("Settings"));
    assert_eq!(shown("Proxy").matches("NAMESPACE").count(), 1, "{}", shown("Proxy"));
}

#[test]
fn no_object_shows_its_documents_as_nothing() {
    let upstream = kind::by_name("Upstream").unwrap();
    assert_eq!(documents(upstream, Vec::new(), Form::Json).unwrap(), "[]");
    assert_eq!(documents(upstream, Vec::new(), Form::Yaml).unwrap(), "");
}
