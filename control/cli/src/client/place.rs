//! Where things are in the API.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a part of a URL as it is.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The Secrets of one namespace, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secrets {
    namespace: Option<String>,
}

/// One Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}

fn part(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, PART)
}

/// A path with a query.
pub(crate) fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut path = path.to_owned();
    for (index, (name, value)) in pairs.iter().enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        let _ = write!(path, "{mark}{name}={}", part(value));
    }
    path
}

// === impl Secrets ===

impl Secrets {
    /// Those of a namespace, or of all.
    pub(crate) fn of(namespace: Option<&str>) -> Self {
        Self { namespace: namespace.map(str::to_owned) }
    }

    /// The path of the collection.
    pub(crate) fn path(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("/api/v1/namespaces/{}/secrets", part(namespace)),
            None => "/api/v1/secrets".to_owned(),
        }
    }

    /// The path of the collection with a query.
    pub(crate) fn query(&self, pairs: &[(&str, &str)]) -> String {
        query(&self.path(), pairs)
    }
}

// === impl Place ===

impl Place {
    /// Its path.
    pub(crate) fn path(&self) -> String {
        let collection = Secrets::of(Some(&self.namespace)).path();
        format!("{collection}/{}", part(&self.name))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
