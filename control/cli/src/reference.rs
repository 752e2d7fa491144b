//! References to objects, as people type them: `httpbin`, `team/httpbin`.

use std::str::FromStr;

use serde_json::{Value, json};

/// A reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    namespace: Option<String>,
    name: String,
}

// === impl Reference ===

impl Reference {
    /// One in a namespace, where that is known.
    pub(crate) fn new(namespace: Option<String>, name: String) -> Self {
        Self { namespace, name }
    }

    /// As it stands in an object; in this namespace where it names none.
    pub(crate) fn within(&self, namespace: &str) -> Value {
        json!({ "name": self.name, "namespace": self.namespace.as_deref().unwrap_or(namespace) })
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        if name.is_empty() || namespace.is_some_and(str::is_empty) || name.contains('/') {
            return Err(format!("{text:?} names no object: write NAME or NAMESPACE/NAME"));
        }
        Ok(Self::new(namespace.map(str::to_owned), name.to_owned()))
    }
}

#[test]
fn a_reference_has_a_namespace_or_is_told_one() {
    let within = |text: &str| text.parse::<Reference>().map(|reference| reference.within("here").to_string());
    assert_eq!(within("keys"), Ok(r#"{"name":"keys","namespace":"here"}"#.to_owned()));
    assert_eq!(within("team/keys"), Ok(r#"{"name":"keys","namespace":"team"}"#.to_owned()));
    for wrong in ["", "/a", "a/", "a/b/c"] {
        assert!(within(wrong).is_err(), "{wrong}");
    }
}
