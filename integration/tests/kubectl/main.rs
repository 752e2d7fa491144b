//! The real `kubectl` against the real control server: the sessions in `testdata/kubectl`.

mod mask;
mod run;

use std::path::Path;
use std::sync::Mutex;

use keyward_integration::paths::case_dirs;
use keyward_integration::session::Session;

use crate::run::{Kubectl, run};

/// Fewer would mean that they were not found.
const LEAST: usize = 10;
/// Most of the time a session waits: for a server to be ready, for a change to be seen.
const AT_ONCE: usize = 3;

/// Runs a session; answers with what failed, or none when this `kubectl` is too old for it.
fn failures(kubectl: &Kubectl, folder: &Path, update: bool) -> anyhow::Result<Option<Vec<String>>> {
    let path = folder.join("session.txt");
    let text = std::fs::read_to_string(&path)?;
    let session = Session::parse(&text)?;
    if session.since > kubectl.minor {
        return Ok(None);
    }
    let happened = run(kubectl, folder, &session)?;
    if update {
        std::fs::write(&path, session.updated(&happened))?;
        return Ok(Some(Vec::new()));
    }
    let mut failures: Vec<String> = session.failures(&happened).collect();
    if failures.is_empty() && session.updated(&happened) != text {
        failures
            .push("session.txt would be written otherwise: UPDATE_GOLDENS=1 brings it into form".to_owned());
    }
    Ok(Some(failures))
}

#[test]
fn sessions() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let only = std::env::var("KEYWARD_CASE").ok();
    let kubectl = Kubectl::find().unwrap();
    let mut folders = case_dirs("kubectl").unwrap();
    folders.retain(|folder| only.as_ref().is_none_or(|only| folder.ends_with(only)));
    let (waiting, done) = (Mutex::new(folders.iter()), Mutex::new((0, Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(folder) = next else { break };
                    let outcome = failures(&kubectl, folder, update);
                    let mut done = done.lock().unwrap();
                    done.0 += usize::from(!matches!(outcome, Ok(None)));
                    let failed = outcome.unwrap_or_else(|error| Some(vec![format!("{error:#}")]));
                    let name = folder.file_name().unwrap_or_default().display();
                    done.1.extend(failed.unwrap_or_default().into_iter().map(|why| format!("{name}: {why}")));
                }
            });
        }
    });
    let (ran, failures) = done.into_inner().unwrap();
    let enough = if only.is_some() { 1 } else { LEAST };
    assert!(ran >= enough, "only {ran} sessions were found");
    assert!(
        failures.is_empty(),
        "kubectl 1.{}: {} steps fail:\n\n{}\n\nUPDATE_GOLDENS=1 takes over what happened; KEYWARD_CASE=NAME runs one",
        kubectl.minor,
        failures.len(),
        failures.join("\n\n")
    );
}
