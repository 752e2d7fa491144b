//! The quickstart objects, and how they get into the store without undoing anybody's work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use serde_json::{Value, json};

use super::rest::{Address, Rest};
use super::state::{read_json, write_json};

#[cfg(test)]
mod tests;

/// The objects in the order in which they are applied: a reference comes after what it names.
const FILES: [(&str, &str); 4] = [
    ("10-upstream.yaml", include_str!("../../../../testdata/quickstart/10-upstream.yaml")),
    ("20-secret.yaml", include_str!("../../../../testdata/quickstart/20-secret.yaml")),
    ("30-auth-config.yaml", include_str!("../../../../testdata/quickstart/30-auth-config.yaml")),
    ("40-virtual-service.yaml", include_str!("../../../../testdata/quickstart/40-virtual-service.yaml")),
];

/// The quickstart objects for one stack.
#[derive(Debug, Clone)]
pub(super) struct Quickstart {
    objects: Vec<Object>,
    /// The key that they admit. It is public: it stands in the documentation.
    pub(super) key: String,
    /// The identity of the key.
    pub(super) user: String,
}

#[derive(Debug, Clone)]
struct Object {
    kind: String,
    address: Address,
    body: Value,
}

/// What is to be done about one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Replace,
    /// It is as it should be.
    Leave,
    /// Somebody changed it.
    Keep,
}

/// What applying did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) created: Vec<String>,
    pub(super) replaced: Vec<String>,
    /// Objects that somebody changed. The gateway may therefore answer otherwise than shown.
    pub(super) kept: Vec<String>,
}

/// What we wrote last, by kind and name, to tell our own older version from somebody's change.
/// Secrets are never in it.
type Written = BTreeMap<String, Value>;

fn written_path(data: &Path) -> PathBuf {
    data.join("quickstart.json")
}

/// An object without what the server keeps about it.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        if let Some(meta) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.retain(|name, _| ["name", "namespace", "labels", "annotations"].contains(&name.as_str()));
        }
        // The server answers with keys in base64.
        if let Some(Value::Object(texts)) = fields.remove("stringData") {
            let data = texts.into_iter().map(|(name, text)| {
                let encoded =
                    base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
                (name, Value::String(encoded))
            });
            fields.insert("data".to_owned(), data.collect());
        }
    }
    object
}

/// Three-way: what there is, what we want, what we wrote last.
fn decide(live: Option<&Value>, wanted: &Value, written: Option<&Value>) -> Step {
    match live.map(content) {
        None => Step::Create,
        Some(live) if live == content(wanted) => Step::Leave,
        Some(live) if Some(&live) == written => Step::Replace,
        Some(_) => Step::Keep,
    }
}

// === impl Quickstart ===

impl Quickstart {
    /// The objects, with the echo upstream on its port.
    pub(super) fn new(upstream_port: u16) -> anyhow::Result<Self> {
        let objects = FILES
            .iter()
            .map(|(file, text)| {
                Object::parse(text).with_context(|| format!("testdata/quickstart/{file} is broken"))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let mut quickstart = Self { objects, key: String::new(), user: String::new() };
        for object in &mut quickstart.objects {
            match object.kind.as_str() {
                "Upstream" => {
                    let port = object.body.pointer_mut("/spec/static/hosts/0/port");
                    *port.context("the quickstart upstream has no port")? = json!(upstream_port);
                }
                "Secret" => {
                    let key = object.body.pointer("/stringData/api-key").and_then(Value::as_str);
                    key.context("the quickstart secret has no key")?.clone_into(&mut quickstart.key);
                    quickstart.user.clone_from(&object.address.name);
                }
                _ => {}
            }
        }
        ensure!(!quickstart.key.is_empty(), "the quickstart has no secret");
        Ok(quickstart)
    }

    /// Creates what is missing, replaces what we wrote and nobody changed, and keeps the rest.
    pub(super) async fn apply(&self, rest: &Rest, data: &Path) -> anyhow::Result<Applied> {
        let mut written: Written = read_json(&written_path(data)).unwrap_or_default();
        let mut applied = Applied::default();
        for object in &self.objects {
            let name = object.describe();
            let live = rest.get(&object.address).await?;
            let answer = match decide(live.as_ref(), &object.body, written.get(&name)) {
                Step::Create => {
                    applied.created.push(name.clone());
                    rest.create(&object.address, &object.body).await?
                }
                Step::Replace => {
                    applied.replaced.push(name.clone());
                    rest.replace(&object.address, &object.over(live.as_ref())).await?
                }
                Step::Leave => continue,
                Step::Keep => {
                    applied.kept.push(name);
                    continue;
                }
            };
            if object.kind != "Secret" {
                written.insert(name, content(&answer));
                write_json(&written_path(data), &written)?;
            }
        }
        Ok(applied)
    }
}

// === impl Object ===

impl Object {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let body: Value = serde_saphyr::from_str(text).context("not YAML")?;
        let field = |pointer: &str| {
            let value = body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            value.with_context(|| format!("{pointer} is missing"))
        };
        let (version, kind) = (field("/apiVersion")?, field("/kind")?);
        let (namespace, name) = (field("/metadata/namespace")?, field("/metadata/name")?);
        // The core group stands under /api, all others under /apis.
        let root = if version.contains('/') { "/apis" } else { "/api" };
        let collection = format!("{root}/{version}/namespaces/{namespace}/{}s", kind.to_lowercase());
        Ok(Self { kind, address: Address { collection, name }, body })
    }

    fn describe(&self) -> String {
        format!("{} {}", self.kind, self.address.name)
    }

    /// The wanted object as the next version of the live one, so that a change by somebody else
    /// in between is a conflict and not lost.
    fn over(&self, live: Option<&Value>) -> Value {
        let mut body = self.body.clone();
        if let Some(version) = live.and_then(|live| live.pointer("/metadata/resourceVersion"))
            && let Some(Value::Object(meta)) = body.get_mut("metadata")
        {
            meta.insert("resourceVersion".to_owned(), version.clone());
        }
        body
    }
}

// === impl Applied ===

impl Applied {
    /// For people; none when there is nothing to tell.
    pub(super) fn summary(&self) -> Option<String> {
        let parts: Vec<String> = [
            ("created", &self.created),
            ("brought up to date", &self.replaced),
            ("kept as you changed it:", &self.kept),
        ]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
