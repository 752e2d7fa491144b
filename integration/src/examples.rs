//! The files of `examples/`, as the tests run them.

use anyhow::{Context as _, ensure};
use keyward_resource::{Format, parse_documents};
use serde_json::Value;

use crate::paths;

/// A file of `examples/`.
///
/// # Errors
///
/// When it is not there.
pub fn text(name: &str) -> anyhow::Result<String> {
    let path = paths::workspace_root().join("examples").join(name);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The documents of a file of `examples/`.
///
/// # Errors
///
/// When it is not YAML.
pub fn documents(name: &str) -> anyhow::Result<Vec<Value>> {
    let text = text(name)?;
    let documents = parse_documents(text.as_bytes(), Format::Yaml);
    documents.map_err(|error| anyhow::anyhow!("{name}: {error}"))
}

/// The one document of a kind.
///
/// # Errors
///
/// When there is none.
pub fn of_kind(name: &str, kind: &str) -> anyhow::Result<Value> {
    let found = documents(name)?.into_iter().find(|document| document["kind"] == kind);
    found.with_context(|| format!("{name} has no {kind}"))
}

/// The file with other words: each has to stand there exactly once.
///
/// # Errors
///
/// When one does not.
pub fn with(name: &str, words: &[(&str, &str)]) -> anyhow::Result<String> {
    let mut text = text(name)?;
    for (word, other) in words {
        ensure!(text.matches(word).count() == 1, "{name} does not have {word:?} once");
        text = text.replace(word, other);
    }
    Ok(text)
}
