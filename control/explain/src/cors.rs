//! Whether Envoy answers a request as a preflight.

use serde::Deserialize;
use serde_json::Value;

use crate::headers::Headers;
use crate::served::{Rest, StringMatcher};
use crate::text::{Fit, matches};

/// What a route says of other origins, as far as it decides who is answered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Policy {
    allow_origin_string_match: Vec<StringMatcher>,
    /// Known, and without a say in this.
    allow_methods: Value,
    allow_headers: Value,
    expose_headers: Value,
    max_age: Value,
    allow_credentials: Value,
    #[serde(flatten)]
    rest: Rest,
}

/// Whether a request is a preflight from an origin that the policy allows.
pub(crate) fn is_answered(policy: &Value, headers: &Headers) -> Fit {
    let Ok(policy) = Policy::deserialize(policy) else {
        return Fit::Untold("the CORS policy of the route cannot be read".to_owned());
    };
    if let Some(unknown) = policy.rest.keys().find(|field| *field != "@type") {
        return Fit::Untold(format!("the CORS policy of the route has {unknown}"));
    }
    let said = |name: &str| headers.first(name).filter(|value| !value.is_empty());
    let Some(origin) = said("origin") else { return Fit::No("it has no origin".to_owned()) };
    let is_question = headers.first(":method").as_deref() == Some(b"OPTIONS")
        && said("access-control-request-method").is_some();
    if !is_question {
        return Fit::No("it is no preflight".to_owned());
    }
    let mut answer = Fit::No("its origin is not allowed".to_owned());
    for matcher in &policy.allow_origin_string_match {
        for allowed in [&b"*"[..], &origin] {
            match matches(matcher, allowed) {
                Fit::Yes => return Fit::Yes,
                Fit::No(_) => {}
                untold @ Fit::Untold(_) => answer = untold,
            }
        }
    }
    answer
}
