//! Explanations as they are told, of the cases of `testdata/explain`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use keyward_explain::Request;
use keyward_translate::LastGood;
use serde::Deserialize;

use super::explained::{Stage, request};
use super::model;
use super::objects;
use super::run::translated;
use crate::paths;

/// `asks.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asks {
    now: String,
    #[serde(default)]
    without_keys: bool,
    asks: Vec<Ask>,
}

#[derive(Debug, Deserialize)]
struct Ask {
    name: String,
    key: Option<String>,
    #[serde(flatten)]
    request: Rest,
}

/// What is left is a request as in other cases.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Rest(serde_json::Map<String, serde_json::Value>);

/// The cases.
///
/// # Errors
///
/// When there is none.
pub fn explanations() -> anyhow::Result<Vec<PathBuf>> {
    let root = paths::testdata("explain");
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&root).with_context(|| root.display().to_string())? {
        let path = entry?.path();
        if path.join("in.yaml").is_file() {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), "{} has no cases", root.display());
    folders.sort();
    Ok(folders)
}

/// What is explained in a case.
///
/// # Errors
///
/// When it cannot be worked with.
pub fn told(folder: &Path) -> anyhow::Result<String> {
    let path = folder.join("asks.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let asks: Asks = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
    let objects = objects::read(&folder.join("in.yaml"))?;
    let output = translated(&objects, &LastGood::default());
    let now = milliseconds(&asks.now)?;
    let mut all = Vec::new();
    for ask in asks.asks {
        let asked: model::Request =
            serde_json::from_value(ask.request.0.into()).with_context(|| ask.name.clone())?;
        let role = format!("keyward-system~{}", asked.proxy);
        let proxy = output.proxies.get(&role).with_context(|| format!("there is no proxy {role}"))?;
        let stage = Stage::of(&role, proxy, &output.settings, &objects)?;
        let stage = if asks.without_keys { stage.without_keys() } else { stage };
        let mut request: Request = request(&asked)?;
        if let Some(key) = &ask.key {
            let place = stage.plan(&asked, &request)?.key_place();
            request.put_key(&place, key.as_bytes())?;
        }
        let explanation = stage.explain(&asked, &request, now)?;
        let shown = serde_json::to_string(&explanation)?;
        ensure!(!shown.contains("key-of-"), "{}: there is a key in {shown}", ask.name);
        let Some(reason) = explanation.reason else {
            all.push(format!("# {}\n{explanation}\n", ask.name));
            continue;
        };
        all.push(format!("# {} ({}, {reason})\n{explanation}\n", ask.name, explanation.verdict.word()));
    }
    Ok(all.join("\n"))
}

/// A time, in milliseconds since 1970.
fn milliseconds(time: &str) -> anyhow::Result<u64> {
    let time: jiff::Timestamp = time.parse()?;
    Ok(u64::try_from(time.as_millisecond())?)
}
