//! What a case says, and reading it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use super::bytes::Written;
use crate::headers::Headers;

/// Where a case, or a part of it, runs; everywhere unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// The filter alone, in wasmtime.
    Wasm,
    /// The whole, with the real Envoy.
    Envoy,
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name of its folder.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// What is applied before the first step.
    pub resources: Vec<Value>,
    /// What happens then.
    pub steps: Vec<Step>,
    on: Vec<On>,
}

/// Changes of resources, then requests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it shows.
    #[serde(default)]
    pub about: String,
    /// Objects to create or to replace.
    #[serde(default)]
    pub apply: Vec<Value>,
    /// Objects to delete, each as `<kind> <namespace>/<name>`.
    #[serde(default)]
    pub delete: Vec<String>,
    /// The state of objects by `<kind> <namespace>/<name>`: the state, or `<state>: <part of the
    /// reason>`.
    #[serde(default)]
    pub status: BTreeMap<String, String>,
    /// What is sent.
    #[serde(default)]
    pub requests: Vec<Request>,
    #[serde(default)]
    on: Vec<On>,
}

/// One request and what comes of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What it shows.
    #[serde(default)]
    pub about: String,
    /// The host, `<case>.test` unless given.
    #[serde(default)]
    pub host: Option<String>,
    /// The path.
    pub path: String,
    /// What comes of it.
    pub expect: Expect,
    #[serde(default)]
    headers: Vec<(Written, Written)>,
    #[serde(default)]
    upstream: Vec<(Written, Written)>,
    #[serde(default)]
    on: Vec<On>,
}

/// What is expected of a request. A 401 has to be the one of the contract to the byte, and what is
/// not forwarded must not reach the upstream, without saying so.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Expect {
    /// The HTTP status; 200 when `as` is given.
    #[serde(default)]
    pub status: Option<u16>,
    /// The one value of `x-user-id` that the upstream gets.
    #[serde(default, rename = "as")]
    pub identity: Option<String>,
    /// The values that the upstream gets of these headers; an empty list: none.
    #[serde(default)]
    forwarded: BTreeMap<String, Vec<Written>>,
    /// The values that the client gets of these headers.
    #[serde(default)]
    reply: BTreeMap<String, Vec<Written>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    about: String,
    #[serde(default)]
    on: Vec<On>,
    steps: Vec<Step>,
}

fn headers(written: &[(Written, Written)]) -> anyhow::Result<Headers> {
    let mut headers = Headers::new();
    for (name, value) in written {
        headers.add(name.bytes()?, value.bytes()?);
    }
    Ok(headers)
}

fn values(written: &BTreeMap<String, Vec<Written>>) -> anyhow::Result<Vec<(String, Vec<Vec<u8>>)>> {
    let mut all = Vec::new();
    for (name, values) in written {
        let values: anyhow::Result<Vec<_>> = values.iter().map(Written::bytes).collect();
        all.push((name.clone(), values?));
    }
    Ok(all)
}

fn runs(here: On, on: &[On]) -> bool {
    on.is_empty() || on.contains(&here)
}

// === impl Case ===

impl Case {
    /// Reads a case from its folder.
    ///
    /// # Errors
    ///
    /// When a file is missing or says something that has no meaning.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = |file: &str| {
            let path = folder.join(file);
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let file: CaseFile = serde_saphyr::from_str(&text("case.yaml")?)
            .map_err(|error| anyhow!("{}/case.yaml: {error}", folder.display()))?;
        let resources = serde_saphyr::from_multiple(&text("resources.yaml")?)
            .map_err(|error| anyhow!("{}/resources.yaml: {error}", folder.display()))?;
        let name = folder.file_name().context("a case has a name")?.to_string_lossy().into_owned();
        let case = Self { name, about: file.about, resources, steps: file.steps, on: file.on };
        case.check()?;
        Ok(case)
    }

    /// Whether it runs here.
    #[must_use]
    pub fn runs(&self, here: On) -> bool {
        runs(here, &self.on)
    }

    /// The host that requests go to unless they say otherwise.
    #[must_use]
    pub fn host(&self) -> String {
        format!("{}.test", self.name)
    }

    fn check(&self) -> anyhow::Result<()> {
        let expectations = self.steps.iter().map(|step| step.requests.len() + step.status.len());
        if self.about.is_empty() || expectations.sum::<usize>() == 0 {
            bail!("case {} expects nothing, or does not say what it shows", self.name);
        }
        for request in self.steps.iter().flat_map(|step| &step.requests) {
            request.headers()?;
            request.upstream()?;
            request.expect.forwarded()?;
            request.expect.reply()?;
            if request.expect.status.is_none() && request.expect.identity.is_none() {
                bail!("case {}: a request to {} expects nothing", self.name, request.path);
            }
        }
        Ok(())
    }
}

// === impl Step ===

impl Step {
    /// Whether it runs here.
    #[must_use]
    pub fn runs(&self, here: On) -> bool {
        runs(here, &self.on)
    }
}

// === impl Request ===

impl Request {
    /// Whether it runs here.
    #[must_use]
    pub fn runs(&self, here: On) -> bool {
        runs(here, &self.on)
    }

    /// The headers to send.
    ///
    /// # Errors
    ///
    /// When one has an unknown escape; [`Case::read`] has checked that.
    pub fn headers(&self) -> anyhow::Result<Headers> {
        headers(&self.headers)
    }

    /// The headers that the upstream answers with.
    ///
    /// # Errors
    ///
    /// When one has an unknown escape; [`Case::read`] has checked that.
    pub fn upstream(&self) -> anyhow::Result<Headers> {
        headers(&self.upstream)
    }
}

// === impl Expect ===

impl Expect {
    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status.unwrap_or(200)
    }

    /// Headers and the values that the upstream gets of them.
    ///
    /// # Errors
    ///
    /// When a value has an unknown escape; [`Case::read`] has checked that.
    pub fn forwarded(&self) -> anyhow::Result<Vec<(String, Vec<Vec<u8>>)>> {
        let mut expected = values(&self.forwarded)?;
        if let Some(identity) = &self.identity {
            expected.push(("x-user-id".to_owned(), vec![identity.clone().into_bytes()]));
        }
        Ok(expected)
    }

    /// Headers and the values that the client gets of them.
    ///
    /// # Errors
    ///
    /// When a value has an unknown escape; [`Case::read`] has checked that.
    pub fn reply(&self) -> anyhow::Result<Vec<(String, Vec<Vec<u8>>)>> {
        values(&self.reply)
    }
}
