//! `testdata/surfaces/surfaces.yaml`: where something is shown, and what is asked there.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use keyward_integration::paths::testdata;
use regex::Regex;
use serde::Deserialize;

/// The whole list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// By port and path.
    pub(crate) ports: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    pub(crate) resources: Resources,
    /// Lines for a shell.
    pub(crate) commands: Vec<String>,
    /// By command: why it is asked nothing.
    pub(crate) silent: BTreeMap<String, String>,
    pub(crate) shown: Vec<Shown>,
}

/// What is asked of each resource.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resources {
    pub(crate) all: Vec<String>,
    pub(crate) namespaced: Vec<String>,
    pub(crate) one: Vec<String>,
}

/// What shows keys by definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    /// A pattern of its name.
    of: String,
    /// Of these those that all the same do not.
    #[serde(default)]
    but: Option<String>,
    pub(crate) why: String,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) accept: Option<String>,
    pub(crate) body: String,
}

pub(crate) fn read() -> List {
    let path = testdata("surfaces").join("surfaces.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// === impl Ask ===

impl Ask {
    /// Reads `GET ?query accept: type` and `POST body: text`, below a path; behind `!` is another path.
    pub(crate) fn parse(below: &str, text: &str) -> anyhow::Result<Self> {
        let (text, body) = text.split_once(" body: ").unwrap_or((text, ""));
        let (text, accept) = match text.split_once(" accept: ") {
            Some((text, accept)) => (text, Some(accept.to_owned())),
            None => (text, None),
        };
        let (method, rest) = text.split_once(' ').unwrap_or((text, ""));
        let path = match rest.chars().next() {
            None => below.to_owned(),
            Some('?' | '/') => format!("{below}{rest}"),
            Some('!') => rest.get(1..).context("a path")?.to_owned(),
            Some(_) => bail!("{text:?} is no request"),
        };
        Ok(Self { method: method.to_owned(), path, accept, body: body.to_owned() })
    }
}

impl std::fmt::Display for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.accept.iter().try_for_each(|accept| write!(f, " as {accept}"))
    }
}

// === impl Shown ===

impl Shown {
    pub(crate) fn is_meant(&self, name: &str) -> bool {
        let fits = |pattern: &str| Regex::new(pattern).expect("a pattern").is_match(name);
        fits(&self.of) && !self.but.as_deref().is_some_and(fits)
    }
}

#[test]
fn a_request_is_read_as_it_is_written() {
    let ask = |below: &str, text: &str| Ask::parse(below, text).unwrap();
    let plain = |method: &str, path: &str| Ask {
        method: method.to_owned(),
        path: path.to_owned(),
        accept: None,
        body: String::new(),
    };
    assert_eq!(ask("/a", "GET"), plain("GET", "/a"));
    assert_eq!(ask("/a", "GET ?b=c"), plain("GET", "/a?b=c"));
    assert_eq!(ask("/a/{x}", "GET !/a/y"), plain("GET", "/a/y"));
    let typed = Ask { accept: Some("x;as=y".to_owned()), ..plain("GET", "/a/b") };
    assert_eq!(ask("/a", "GET /b accept: x;as=y"), typed);
    assert_eq!(
        ask("/a", "PUT body: {\"l\": 1}"),
        Ask { body: "{\"l\": 1}".to_owned(), ..plain("PUT", "/a") }
    );
    assert!(Ask::parse("/a", "GET b").is_err());
}
