//! What may stand behind the question mark: what an endpoint knows, mostly `pretty`, and nothing else.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::Response;

use crate::envelope;

/// Whether the answer is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pretty(pub(crate) bool);

/// Parameters, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters<'a>(BTreeMap<&'a str, &'a str>);

fn parse(query: &str) -> Result<Pretty, String> {
    Ok(Pretty(Parameters::parse(query, &["pretty"])?.pretty()?))
}

/// A number that has to be in a range; `usual` when nobody says which.
pub(crate) fn in_range(
    parameters: &Parameters<'_>,
    name: &str,
    range: RangeInclusive<u64>,
    usual: u64,
) -> Result<u64, String> {
    let Some(text) = parameters.0.get(name) else { return Ok(usual) };
    // Not what else `parse` takes: a plus sign would be a space in a query.
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        format!("the parameter {name:?} is a number from {} to {}, not {text:?}", range.start(), range.end())
    })
}

/// One of some words; the first of them when nobody says which.
pub(crate) fn one_of<T: Copy>(
    parameters: &Parameters<'_>,
    name: &str,
    words: &[(&str, T)],
) -> Result<T, String> {
    let said = parameters.0.get(name).copied();
    let meant = words.iter().find(|(word, _)| said.is_none_or(|said| said == *word));
    meant.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("the parameter {name:?} is {}, not {:?}", words.join(" or "), said.unwrap_or_default())
    })
}

// === impl Parameters ===

impl<'a> Parameters<'a> {
    /// Those of a request: none but `known`, and each once.
    pub(crate) fn of(uri: &'a Uri, known: &[&str]) -> Result<Self, String> {
        Self::parse(uri.query().unwrap_or_default(), known)
    }

    fn parse(query: &'a str, known: &[&str]) -> Result<Self, String> {
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !known.contains(&name) {
                let there = if known.len() == 1 { "there is" } else { "there are" };
                return Err(format!("{name:?} is no parameter: {there} {}", known.join(", ")));
            }
            if parameters.insert(name, value).is_some() {
                return Err(format!("the parameter {name:?} is there twice"));
            }
        }
        Ok(Self(parameters))
    }

    /// What one says.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    /// Whether the answer is for people.
    pub(crate) fn pretty(&self) -> Result<bool, String> {
        match self.get("pretty") {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(_) => Err("the parameter \"pretty\" is true or false".to_owned()),
        }
    }
}

// === impl Pretty ===

impl<S: Sync> FromRequestParts<S> for Pretty {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        parse(parts.uri.query().unwrap_or_default())
            .map_err(|why| envelope::failed(StatusCode::BAD_REQUEST, &why, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_is_the_only_parameter() {
        for (query, expected) in
            [("", false), ("pretty", true), ("pretty=", true), ("pretty=true", true), ("pretty=false", false)]
        {
            assert_eq!(parse(query), Ok(Pretty(expected)), "{query}");
        }
        for query in ["pretty=1", "prety", "level=debug", "pretty&x=y", "pretty&pretty"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }

    #[test]
    fn numbers_are_in_their_range_and_words_are_known() {
        let number = |query: &str| in_range(&Parameters::parse(query, &["n"]).unwrap(), "n", 1..=60, 10);
        assert_eq!((number(""), number("n=1"), number("n=60")), (Ok(10), Ok(1), Ok(60)));
        for query in ["n=0", "n=61", "n=", "n=+5", "n=1.5", "n=-1", "n=99999999999999999999"] {
            let why = number(query).unwrap_err();
            assert!(why.contains("from 1 to 60"), "{query}: {why}");
        }
        let words = [("pprof", 1), ("folded", 2)];
        let word = |query: &str| one_of(&Parameters::parse(query, &["f"]).unwrap(), "f", &words);
        assert_eq!((word(""), word("f=folded")), (Ok(1), Ok(2)));
        assert!(word("f=svg").unwrap_err().contains("pprof or folded"));
    }
}
