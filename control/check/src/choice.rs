//! What is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::Deserialize;

use crate::section::Section;
use crate::world::World;

/// What is looked at, and what is not.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The namespace of the installation.
    pub namespace: String,
    /// The namespaces whose objects are looked at; none means all.
    pub namespaces: BTreeSet<String>,
    /// What is left out.
    pub exclude: BTreeSet<Section>,
    /// The components and proxies that are looked at.
    pub pods: PodSelector,
}

/// Selects components and proxies by their labels: `keyward`, `role`, `node`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PodSelector {
    text: String,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Exists(String),
    Is(String, String),
    IsNot(String, String),
}

/// A selector that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{term:?} is no selector: write name, name=value or name!=value, separated by commas")]
pub struct SelectorError {
    term: String,
}

// === impl Choice ===

impl Choice {
    /// Whether a section is left out.
    #[must_use]
    pub fn excludes(&self, section: Section) -> bool {
        self.exclude.contains(&section)
    }

    /// Whether the objects of a namespace are looked at.
    #[must_use]
    pub fn includes(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }

    pub(crate) fn watches_any(&self, world: &World) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|namespace| world.watches(namespace))
    }
}

// === impl PodSelector ===

impl PodSelector {
    /// What every component and proxy is labelled with.
    pub const DEFAULT: &str = "keyward";

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn selects(&self, labels: &BTreeMap<&str, &str>) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Exists(name) => labels.contains_key(name.as_str()),
            Term::Is(name, value) => labels.get(name.as_str()) == Some(&value.as_str()),
            Term::IsNot(name, value) => labels.get(name.as_str()) != Some(&value.as_str()),
        })
    }
}

impl Default for PodSelector {
    fn default() -> Self {
        Self { text: Self::DEFAULT.to_owned(), terms: vec![Term::Exists(Self::DEFAULT.to_owned())] }
    }
}

impl FromStr for PodSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let term = |term: &str| {
            let term = term.trim();
            let pair = |sign: &str| {
                let (name, value) = term.split_once(sign)?;
                Some((name.trim().to_owned(), value.trim().to_owned()))
            };
            let read = if let Some((name, value)) = pair("!=") {
                Term::IsNot(name, value)
            } else if let Some((name, value)) = pair("==").or_else(|| pair("=")) {
                Term::Is(name, value)
            } else {
                Term::Exists(term.to_owned())
            };
            let (Term::Exists(name) | Term::Is(name, _) | Term::IsNot(name, _)) = &read;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(SelectorError { term: term.to_owned() });
            }
            Ok(read)
        };
        let terms = text.split(',').map(term).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), terms })
    }
}

impl TryFrom<String> for PodSelector {
    type Error = SelectorError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_selects_by_labels() {
        let labels = BTreeMap::from([("keyward", "gateway-proxy"), ("node", "one")]);
        for (text, selects) in [
            ("keyward", true),
            ("keyward=gateway-proxy", true),
            ("keyward==gateway-proxy,node=one", true),
            ("keyward = gateway-proxy , node != two", true),
            ("keyward=control", false),
            ("node!=one", false),
            ("gloo", false),
        ] {
            let selector: PodSelector = text.parse().expect(text);
            assert_eq!((selector.selects(&labels), selector.as_str()), (selects, text));
        }
        for text in ["", "a,,b", "=a", "a b"] {
            let refused = text.parse::<PodSelector>().expect_err(text);
            assert!(refused.to_string().contains("is no selector"), "{refused}");
        }
    }
}
