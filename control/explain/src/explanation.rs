//! An explanation: what becomes of a request, and each step that leads there.

use std::fmt;

use serde::Serialize;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Nothing keeps it from its route: it goes upstream, or the gateway answers as its route says.
    Allowed,
    /// The gateway answers it before its route counts, and refuses nothing: a preflight, a redirect.
    Answered,
    /// It is refused.
    Denied,
    /// There is no route for it.
    NoRoute,
    /// That cannot be said without sending it.
    Untold,
}

/// An explanation. No key is in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `Explanation`.
    pub kind: &'static str,
    /// `keyward.io/v1`.
    pub api_version: &'static str,
    /// The role of the proxies that are asked about.
    pub role: String,
    /// Names what they are told.
    pub configuration: String,
    /// What becomes of the request.
    pub verdict: Verdict,
    /// Why, in a word: where the filter decides, the one that it tells the access log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// With what status the gateway answers; none where an upstream does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The listener.
    pub listener: String,
    /// The Gateway that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// The virtual host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_host: Option<VirtualHost>,
    /// The route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// The `AuthConfig` that the route demands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_config: Option<String>,
    /// What it sees of keys, a line for each that it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeySeen>,
    /// As whom the request passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What it may be answered with instead, as its route makes faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Where it goes: one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<Upstream>,
    /// Everything in order, in sentences.
    pub steps: Vec<Step>,
}

/// A virtual host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualHost {
    /// Its name.
    pub name: String,
    /// The domain of it that the host of the request fits.
    pub domain: String,
    /// The `VirtualService`, `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_service: Option<String>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Its place in the virtual host, from 0.
    pub index: usize,
    /// Its name in Envoy.
    pub name: String,
    /// What it asks of requests.
    pub matcher: String,
    /// The object that it is written in: `RouteTable default/a`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The way to it: `vs:default_a_route:first`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What is seen of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeySeen {
    /// Where it may stand.
    pub looked_in: Vec<String>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_in: Option<String>,
    /// The first digits of its SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// `valid`, or what is wrong, in the filter's word.
    pub state: &'static str,
    /// Since or until when that is so, or what else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A share of requests that are answered with an error, for tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// The error.
    pub status: u16,
    /// How many of a hundred.
    pub percent: f64,
}

/// An upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upstream {
    /// Its name in Envoy.
    pub cluster: String,
    /// The `Upstream`, `namespace/name`; none where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Its share among all.
    pub weight: u32,
    /// How many hosts it has.
    pub hosts: usize,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it is about: `route`.
    pub about: &'static str,
    /// What it says.
    pub says: String,
}

// === impl Verdict ===

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Answered => "answered",
            Self::Denied => "denied",
            Self::NoRoute => "no route",
            Self::Untold => "cannot be told",
        }
    }
}

// === impl Explanation ===

impl fmt::Display for Explanation {
    /// A line a step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|step| step.about.len()).max().unwrap_or_default();
        let mut before = "";
        for (index, Step { about, says }) in self.steps.iter().enumerate() {
            // A step that goes on is not named twice.
            let about = if *about == before { "" } else { about };
            before = self.steps[index].about;
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{about:width$}   {says}")?;
        }
        Ok(())
    }
}
