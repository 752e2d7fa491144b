//! A case: its folder, and what is in it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::model::Requests;
use super::objects::{self, Objects};

/// Why a case has no `requests.yaml`.
const WHY_NOT: &str = "no-requests.txt";

/// A case.
pub struct Case {
    /// The name of its folder.
    pub name: String,
    /// What was served before.
    pub(super) before: Option<Objects>,
    /// What is served.
    pub(super) objects: Objects,
    /// What is asked.
    pub(super) requests: Requests,
}

/// The folders with cases in a folder, sorted. `KEYWARD_CASES` names another folder, such as one in
/// which cases are being written, and `CASE` a part of the names that are wanted.
///
/// # Errors
///
/// When there is none.
pub fn folders() -> anyhow::Result<Vec<PathBuf>> {
    let root =
        std::env::var_os("KEYWARD_CASES").map_or_else(|| crate::paths::testdata("translate"), PathBuf::from);
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&root).with_context(|| root.display().to_string())? {
        let path = entry?.path();
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().contains(&wanted));
        if named && path.join("in.yaml").is_file() {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), "{} has no cases", root.display());
    folders.sort();
    Ok(folders)
}

// === impl Case ===

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    ///
    /// When a file of it is wrong, or when it has neither `requests.yaml` nor `no-requests.txt`.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let name = folder.file_name().context("a folder without a name")?.to_string_lossy().into_owned();
        let before = folder.join("before.yaml");
        Ok(Self {
            name,
            before: before.is_file().then(|| objects::read(&before)).transpose()?,
            objects: objects::read(&folder.join("in.yaml"))?,
            requests: requests(folder)?,
        })
    }
}

fn requests(folder: &Path) -> anyhow::Result<Requests> {
    let (path, why_not) = (folder.join("requests.yaml"), folder.join(WHY_NOT));
    if !path.is_file() {
        let why = std::fs::read_to_string(&why_not).unwrap_or_default();
        ensure!(!why.trim().is_empty(), "there is neither requests.yaml nor a reason in {WHY_NOT}");
        return Ok(Requests::default());
    }
    ensure!(!why_not.exists(), "there are both requests.yaml and {WHY_NOT}");
    let text = std::fs::read_to_string(&path)?;
    let requests: Requests = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
    ensure!(!requests.requests.is_empty(), "{} asks nothing", path.display());
    Ok(requests)
}
