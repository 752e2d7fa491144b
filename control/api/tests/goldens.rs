//! The cases in `testdata/api`: requests one after the other (`in.yaml`), and how each is answered
//! (`out.yaml`).
//!
//! A step is `do: METHOD PATH` with `body` (or `text`, sent as it stands), `type` (the content type),
//! `headers`, and `managed: true` where `managedFields` matter; they are left out otherwise. In paths
//! and bodies `${2/metadata/uid}` stands for what the answer to step 2 holds there. A step `compact`
//! forgets the log of the store. The clock stands still, and time passes only where everybody waits.
//! `UPDATE_GOLDENS=1` writes what is, and removes what has no `in.yaml` any more.

mod kit;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use keyward_resource::{Format, parse_body};
use serde_json::{Value, json};

use self::kit::{Answer, Server, sorted};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/api")
}

/// Puts in what earlier answers hold.
fn fill(text: &str, answers: &[Value]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("${") {
        let (inside, after) = tail.split_once('}').unwrap_or_else(|| panic!("{text}: no }}"));
        let (step, pointer) = inside.split_at(inside.find('/').unwrap_or(inside.len()));
        let step: usize = step.parse().unwrap_or_else(|_| panic!("{text}: {step} is no step"));
        let value = answers.get(step - 1).and_then(|answer| answer.pointer(pointer));
        let value = value.unwrap_or_else(|| panic!("{text}: nothing at {inside}"));
        filled.push_str(before);
        filled.push_str(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str());
        rest = after;
    }
    filled + rest
}

/// Leaves out `managedFields`.
fn unmanaged(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("managedFields");
            map.values_mut().for_each(unmanaged);
        }
        Value::Array(items) => items.iter_mut().for_each(unmanaged),
        _ => {}
    }
}

/// Numbers the ids as they appear.
fn name_ids(value: &mut Value, known: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(uid) if key == "uid" && uid.len() == 36 => {
                        let at = known.iter().position(|known| known == uid).unwrap_or_else(|| {
                            known.push(uid.clone());
                            known.len() - 1
                        });
                        *uid = format!("<uid {}>", at + 1);
                    }
                    other => name_ids(other, known),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_ids(item, known)),
        _ => {}
    }
}

/// The one place that touches the API: runs the steps of a case.
async fn run(case: &Path) -> Value {
    let bytes = std::fs::read(case.join("in.yaml")).expect("in.yaml is readable");
    let steps =
        parse_body(&bytes, Format::Yaml).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    kit::restart_ids();
    let server = Server::start().await;
    let (mut answers, mut shown, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps.as_array().expect("a list of steps") {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let todo = text("do").expect("what to do");
        if todo == "compact" {
            server.compact().await;
            answers.push(Value::Null);
            continue;
        }
        let (method, path) = todo.split_once(' ').unwrap_or_else(|| panic!("{todo}: no path"));
        let body = match (step.get("body"), text("text")) {
            (Some(body), _) => fill(&body.to_string(), &answers),
            (None, text) => fill(text.unwrap_or_default(), &answers),
        };
        let mut headers = vec![("user-agent".to_owned(), "golden/1".to_owned())];
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), text("type").unwrap_or("application/json").to_owned()));
        }
        for (name, value) in step.get("headers").and_then(Value::as_object).into_iter().flatten() {
            headers.push((name.clone(), value.as_str().expect("a header is text").to_owned()));
        }
        let path = fill(path, &answers);
        let Answer { code, headers, body } = server.send(method, &path, &headers, body).await;
        answers.push(body.clone());
        let mut answer = json!({ "do": todo, "code": code, "body": body });
        for (name, value) in headers {
            answer["headers"][name] = value.into();
        }
        if step.get("managed") != Some(&json!(true)) {
            unmanaged(&mut answer);
        }
        name_ids(&mut answer, &mut ids);
        shown.push(sorted(answer));
    }
    Value::Array(shown)
}

#[tokio::test(start_paused = true)]
async fn goldens() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let folders: BTreeSet<PathBuf> = std::fs::read_dir(cases())
        .expect("testdata/api")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(folders.len() > 10, "the cases are missing: {}", folders.len());
    let mut wrong = Vec::new();
    for case in folders {
        let golden = case.join("out.yaml");
        if !case.join("in.yaml").exists() {
            assert!(update, "{}: out.yaml without in.yaml", case.display());
            std::fs::remove_dir_all(&case).expect("the orphan can be removed");
            continue;
        }
        let answers = run(&case).await;
        if update {
            let text = serde_saphyr::to_string(&answers).expect("answers are YAML");
            std::fs::write(&golden, text).expect("the golden can be written");
            continue;
        }
        let expected = std::fs::read(&golden).unwrap_or_else(|_| panic!("{}: no out.yaml", case.display()));
        let expected = parse_body(&expected, Format::Yaml).expect("out.yaml is YAML");
        if sorted(expected.clone()) != answers {
            let steps =
                expected.as_array().into_iter().flatten().zip(answers.as_array().into_iter().flatten());
            let first =
                steps.filter(|(expected, answer)| expected != answer).map(|(_, answer)| answer).next();
            wrong.push(format!("{}: {}", case.display(), first.unwrap_or(&answers)));
        }
    }
    assert!(wrong.is_empty(), "not as in out.yaml (UPDATE_GOLDENS=1 writes what is):\n{}", wrong.join("\n"));
}
