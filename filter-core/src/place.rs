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
            Self::Header(name, None) => facts.first_value(name).into_iter().collect(),
            Self::Header(name, Some(prefix)) => {
                let value = facts.first_value(name).unwrap_or_default();
                behind(&value, prefix).map(<[u8]>::to_vec).into_iter().collect()
            }
            Self::Query(name) => query::values(&facts.first_value(PATH).unwrap_or_default(), name),
            Self::Cookie(name) => cookie::values(&facts.first_value(COOKIE).unwrap_or_default(), name),
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
                let value = host.request_header(name).unwrap_or_default();
                if behind(&value, prefix).is_some() { host.remove_request_header(name) } else { Ok(()) }
            }
            Self::Query(name) => {
                let path = host.request_header(PATH).unwrap_or_default();
                query::without(&path, name).map_or(Ok(()), |path| host.set_request_header(PATH, &path))
            }
            Self::Cookie(name) => {
                let cookies = host.request_header(COOKIE).unwrap_or_default();
                match cookie::without(&cookies, name) {
                    None => Ok(()),
                    Some(rest) if rest.is_empty() => host.remove_request_header(COOKIE),
                    Some(rest) => host.set_request_header(COOKIE, &rest),
                }
            }
        }
    }
}
