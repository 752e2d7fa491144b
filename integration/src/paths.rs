//! Where the things are that the tests run: built files, tools, test data.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The root of the checkout.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let integration = Path::new(env!("CARGO_MANIFEST_DIR"));
    integration.parent().unwrap_or(integration).to_path_buf()
}

/// The folder that cargo builds into: the one that the running test was built into.
#[must_use]
pub fn target_dir() -> PathBuf {
    let running = std::env::current_exe().unwrap_or_default();
    let deps = running.ancestors().find(|folder| folder.ends_with("deps"));
    let target = deps.and_then(|deps| deps.parent()?.parent());
    target.map_or_else(|| workspace_root().join("target"), Path::to_path_buf)
}

/// The filter, the very file that Envoy loads.
///
/// # Errors
///
/// When it was not built; the message says how to build it.
pub fn filter_wasm() -> anyhow::Result<PathBuf> {
    existing(target_dir().join("wasm32-wasip1/filter/keyward_filter.wasm"), "./x filter")
}

/// The filter with the feature `fault-injection`: it traps, or lets pass, on demand.
///
/// # Errors
///
/// When it was not built; the message says how to build it.
pub fn faulty_filter_wasm() -> anyhow::Result<PathBuf> {
    let path = "fault-injection/wasm32-wasip1/filter/keyward_filter.wasm";
    existing(target_dir().join(path), "./x filter-faulty")
}

/// The keyward binary.
///
/// # Errors
///
/// When it was not built; the message says how to build it.
pub fn keyward() -> anyhow::Result<PathBuf> {
    existing(target_dir().join("debug/keyward"), "cargo build -p keyward")
}

/// The Envoy that the tests run.
///
/// # Errors
///
/// When it is not there; the message says how to get it.
pub fn envoy() -> anyhow::Result<PathBuf> {
    existing(workspace_root().join(".tools/bin/envoy"), "./x")
}

/// The kubectl that the tests drive: the one named by `KUBECTL`, the one that was fetched, or the one on
/// PATH.
///
/// # Errors
///
/// When there is none; the message says how to get one.
pub fn kubectl() -> anyhow::Result<PathBuf> {
    tool("kubectl", "KUBECTL")
}

/// The promtool that the tests ask: the one named by `PROMTOOL`, the one that was fetched, or the one on
/// PATH.
///
/// # Errors
///
/// When there is none; the message says how to get one.
pub fn promtool() -> anyhow::Result<PathBuf> {
    tool("promtool", "PROMTOOL")
}

fn tool(name: &str, variable: &str) -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return existing(named.into(), &format!("unset {variable}"));
    }
    let fetched = workspace_root().join(".tools/bin").join(name);
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join(name));
    let found = std::iter::once(fetched.clone()).chain(on_path).find(|path| path.is_file());
    existing(found.unwrap_or(fetched), &format!("./x {name}"))
}

/// A folder of test data.
#[must_use]
pub fn testdata(area: &str) -> PathBuf {
    workspace_root().join("testdata").join(area)
}

/// The folders in a folder of test data, sorted: one for each case.
///
/// # Errors
///
/// When there is none: a test over no cases proves nothing.
pub fn case_dirs(area: &str) -> anyhow::Result<Vec<PathBuf>> {
    let folder = testdata(area);
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            cases.push(path);
        }
    }
    if cases.is_empty() {
        bail!("{} has no cases", folder.display());
    }
    cases.sort();
    Ok(cases)
}

fn existing(path: PathBuf, recipe: &str) -> anyhow::Result<PathBuf> {
    if !path.is_file() {
        bail!("{} is missing: `{recipe}` makes it", path.display());
    }
    Ok(path)
}
