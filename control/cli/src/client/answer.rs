//! What a server answers.

use http::header::WARNING;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

/// An answer of success.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) code: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: Value,
}

/// An answer of failure: the `Status` of Kubernetes, as far as it was one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub(crate) code: StatusCode,
    /// For programs: `NotFound`.
    pub(crate) reason: String,
    /// For people.
    pub(crate) message: String,
    /// Each mistake for itself.
    pub(crate) causes: Vec<Cause>,
}

/// One thing that is wrong with what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Cause {
    /// For programs: `FieldValueInvalid`.
    #[serde(default)]
    pub(crate) reason: String,
    /// For people.
    #[serde(default)]
    pub(crate) message: String,
    /// Where it is: `spec.virtualHost.domains[0]`.
    #[serde(default)]
    pub(crate) field: String,
}

// === impl Answer ===

impl Answer {
    /// A header, as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The warnings that came with it.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.headers.get_all(WARNING).iter().filter_map(|value| {
            // 299 - "the text, with \" and \\"
            let text = std::str::from_utf8(value.as_bytes()).ok()?.splitn(3, ' ').nth(2)?;
            let text = text.strip_prefix('"')?.strip_suffix('"')?;
            Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
        })
    }
}

// === impl Refusal ===

impl Refusal {
    /// Whether others manage fields that would change.
    pub(crate) fn is_of_managers(&self) -> bool {
        !self.causes.is_empty() && self.causes.iter().all(|cause| cause.reason == "FieldManagerConflict")
    }

    pub(super) fn read(code: StatusCode, body: Value) -> Self {
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        Self {
            code,
            reason: text("reason").unwrap_or_default(),
            message: text("message").unwrap_or_else(|| format!("it answered {code}")),
            causes: Vec::<Cause>::deserialize(&body["details"]["causes"]).unwrap_or_default(),
        }
    }
}
