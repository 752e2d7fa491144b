//! Every session in `testdata/cli`.

use std::path::Path;
use std::sync::Mutex;

use keyward_integration::paths::case_dirs;
use keyward_integration::session::Session;

use crate::run::run;

/// Fewer would mean that they were not found.
const LEAST: usize = 6;
/// Most of the time a session waits for processes.
const AT_ONCE: usize = 3;

fn failures(folder: &Path, update: bool) -> anyhow::Result<Vec<String>> {
    let path = folder.join("session.txt");
    let text = std::fs::read_to_string(&path)?;
    let session = Session::parse(&text)?;
    let happened = run(folder, &session)?;
    if update {
        std::fs::write(&path, session.updated(&happened))?;
        return Ok(Vec::new());
    }
    let mut failures: Vec<String> = session.failures(&happened).collect();
    if failures.is_empty() && session.updated(&happened) != text {
        failures
            .push("session.txt would be written otherwise: UPDATE_GOLDENS=1 brings it into form".to_owned());
    }
    Ok(failures)
}

#[test]
fn sessions() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let only = std::env::var("KEYWARD_CASE").ok();
    let mut folders = case_dirs("cli").unwrap();
    folders.retain(|folder| only.as_ref().is_none_or(|only| folder.ends_with(only)));
    let count = folders.len();
    let (waiting, failed) = (Mutex::new(folders.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(folder) = next else { break };
                    let found = failures(folder, update).unwrap_or_else(|error| vec![format!("{error:#}")]);
                    let name = folder.file_name().unwrap_or_default().display();
                    failed.lock().unwrap().extend(found.into_iter().map(|why| format!("{name}: {why}")));
                }
            });
        }
    });
    let enough = if only.is_some() { 1 } else { LEAST };
    assert!(count >= enough, "only {count} sessions were found");
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} steps fail:\n\n{}\n\nUPDATE_GOLDENS=1 takes over what happened; KEYWARD_CASE=NAME runs one",
        failed.len(),
        failed.join("\n\n")
    );
}
