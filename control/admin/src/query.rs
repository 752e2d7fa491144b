//! What may stand behind the question mark: `pretty`, and nothing else.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use crate::envelope;

/// Whether the answer is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pretty(pub(crate) bool);

fn parse(query: &str) -> Result<Pretty, String> {
    let mut pretty = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, value) {
            ("pretty", "" | "true") => pretty = true,
            ("pretty", "false") => pretty = false,
            ("pretty", _) => return Err("the parameter \"pretty\" is true or false".to_owned()),
            _ => return Err(format!("{name:?} is no parameter: there is pretty")),
        }
    }
    Ok(Pretty(pretty))
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
        for query in ["pretty=1", "prety", "level=debug", "pretty&x=y"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
