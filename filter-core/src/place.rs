//! Where in a request a key may stand, and how it is read there and taken out.

use serde::{Deserialize, Serialize};

use crate::decide::Facts;
use crate::host::{HostError, RequestHost};

mod cookie;
mod query;
#[cfg(test)]
mod tests;

/// The pseudo header that holds the path and the query.
const PATH: &str = ":path";
/// The header that holds cookies.
pub const COOKIE: &str = "cookie";
/// Joins the values of a header that stands several times. A value may have one too.
pub(crate) const JOINT: u8 = b',';

/// Where a key may stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Place {
    /// In a request header.
    Header {
        /// Its name, in lower case.
        name: String,
        /// What stands before the key, such as `Bearer`, in letters of any case. A value without it is
        /// no key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
    /// In a query parameter of this name.
    Query(String),
    /// In a cookie of this name.
    Cookie(String),
}

/// A [`Place`] of a step, wherever it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceRef<'a> {
    /// See [`Place::Header`].
    Header(&'a str, Option<&'a str>),
    /// See [`Place::Query`].
    Query(&'a str),
    /// See [`Place::Cookie`].
    Cookie(&'a str),
}

/// What follows a prefix: one that ends in a letter or a digit needs a blank behind it.
fn behind<'a>(value: &'a [u8], prefix: &str) -> Option<&'a [u8]> {
    let (start, rest) = value.split_at_checked(prefix.len())?;
    let blank = rest.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    let ends = blank || !prefix.ends_with(|last: char| last.is_ascii_alphanumeric());
    (start.eq_ignore_ascii_case(prefix.as_bytes()) && ends).then(|| rest.trim_ascii())
}

/// The values of a header one by one. They come joined, for the price of one, and only where there is a comma
/// is it worth to ask how they stand apart.
fn apart(joined: Option<Vec<u8>>, each: impl FnOnce() -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let Some(joined) = joined else { return Vec::new() };
    let values = if joined.contains(&JOINT) { each() } else { Vec::new() };
    if values.is_empty() { vec![joined] } else { values }
}

/// The values that a proxy has made one of, as Envoy does with `authorization`: behind a comma stands the
/// prefix again.
fn joints<'a>(value: &'a [u8], prefix: &str) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = value;
    let mut from = 0_usize;
    while let Some(at) = rest.iter().skip(from).position(|byte| *byte == JOINT) {
        let at = from.saturating_add(at);
        let Some((part, next)) = rest.split_at_checked(at) else { break };
        let next = next.split_first().map_or(next, |(_, next)| next);
        if behind(next.trim_ascii_start(), prefix).is_some() {
            parts.push(part.trim_ascii_end());
            rest = next.trim_ascii_start();
            from = 0;
        } else {
            from = at.saturating_add(1);
        }
    }
    parts.push(rest);
    parts
}

// === impl Place ===

impl Place {
    /// The place, as all steps tell of theirs.
    #[must_use]
    pub fn as_ref(&self) -> PlaceRef<'_> {
        match self {
            Self::Header { name, prefix } => PlaceRef::Header(name, prefix.as_deref()),
            Self::Query(name) => PlaceRef::Query(name),
            Self::Cookie(name) => PlaceRef::Cookie(name),
        }
    }
}

// === impl PlaceRef ===

impl PlaceRef<'_> {
    /// The keys that stand there, none of them empty.
    pub(crate) fn keys(self, facts: &mut impl Facts) -> Vec<Vec<u8>> {
        let keys = match self {
            Self::Header(name, None) => apart(facts.joined_values(name), || facts.values(name)),
            Self::Header(name, Some(prefix)) => {
                let values = apart(facts.joined_values(name), || facts.values(name));
                let parts = values.iter().flat_map(|value| joints(value, prefix));
                parts.filter_map(|part| behind(part, prefix)).map(<[u8]>::to_vec).collect()
            }
            Self::Query(name) => query::values(&facts.joined_values(PATH).unwrap_or_default(), name),
            Self::Cookie(name) => {
                let headers = apart(facts.joined_values(COOKIE), || facts.values(COOKIE));
                headers.iter().flat_map(|cookies| cookie::values(cookies, name)).collect()
            }
        };
        keys.into_iter().filter(|key: &Vec<u8>| !key.is_empty()).collect()
    }

    /// Takes out of the request what stands there.
    ///
    /// # Errors
    ///
    /// When the proxy refuses.
    pub(crate) fn clear(self, host: &mut impl RequestHost) -> Result<(), HostError> {
        match self {
            Self::Header(name, None) => host.remove_request_header(name),
            Self::Header(name, Some(prefix)) => {
                // Of another scheme it is nobody's key, and may be meant for the upstream.
                let values = apart(host.joined_values(name), || host.request_values(name));
                let parts: Vec<&[u8]> = values.iter().flat_map(|value| joints(value, prefix)).collect();
                let others = || parts.iter().filter(|part| behind(part, prefix).is_none());
                match others().count() {
                    0 if parts.is_empty() => Ok(()),
                    0 => host.remove_request_header(name),
                    all if all == parts.len() => Ok(()),
                    _ => {
                        let others: Vec<&[u8]> = others().copied().collect();
                        host.set_request_header(name, &others.join(&JOINT))
                    }
                }
            }
            Self::Query(name) => {
                let path = host.request_header(PATH).unwrap_or_default();
                query::without(&path, name).map_or(Ok(()), |path| host.set_request_header(PATH, &path))
            }
            Self::Cookie(name) => {
                let headers = apart(host.joined_values(COOKIE), || host.request_values(COOKIE));
                // As if it were one header, which is what several are.
                match cookie::without(&headers.join(&b"; "[..]), name) {
                    None => Ok(()),
                    Some(rest) if rest.is_empty() => host.remove_request_header(COOKIE),
                    Some(rest) => host.set_request_header(COOKIE, &rest),
                }
            }
        }
    }
}
