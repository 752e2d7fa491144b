//! What is explained of the requests of all cases is what the real Envoy answers, but for what is said to be
//! out of reach.

use std::collections::BTreeSet;
use std::path::PathBuf;

use keyward_integration::paths::case_dirs;
use keyward_integration::routing::{Case, explained, explanations, folders, told, untold};

#[test]
fn every_request_is_explained_as_it_is_answered() {
    let mut untold: BTreeSet<(String, String)> =
        untold().unwrap().into_iter().map(|one| (one.case, one.request)).collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for folder in folders().unwrap() {
        let case = Case::read(&folder).unwrap();
        let (asked, disagreements) = explained(&case).unwrap();
        count += asked;
        for one in disagreements {
            let which = (one.case, one.request);
            if !untold.remove(&which) {
                wrong.push(format!("{}: {}: {}", which.0, which.1, one.what));
            }
        }
    }
    if std::env::var_os("CASE").is_none() {
        wrong.extend(untold.iter().map(|(case, request)| format!("{case}: {request}: it can be told")));
        assert!(count > 500, "only {count} requests are explained");
    }
    assert!(wrong.is_empty(), "{}\n{} of {count} requests", wrong.join("\n"), wrong.len());
}

/// What was told of cases that are gone.
fn orphans() -> Vec<PathBuf> {
    let folders =
        case_dirs("explain").unwrap().into_iter().filter(|folder| !folder.join("in.yaml").is_file());
    folders.map(|folder| folder.join("told.txt")).filter(|path| path.exists()).collect()
}

#[test]
fn explanations_are_told_as_before() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut wrong = Vec::new();
    for path in orphans() {
        if update {
            std::fs::remove_file(&path).unwrap();
        } else {
            wrong.push(format!("{}: there is no in.yaml beside it", path.display()));
        }
    }
    for folder in explanations().unwrap() {
        let (path, told) = (folder.join("told.txt"), told(&folder).unwrap());
        if update {
            std::fs::write(&path, told).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != told {
            wrong.push(format!("{}: it would be\n{told}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_GOLDENS=1 takes it over", wrong.join("\n"));
}
