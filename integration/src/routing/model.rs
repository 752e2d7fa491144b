//! `requests.yaml`. What each field means is in `testdata/translate/README.md`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::pattern::Pattern;

/// The file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requests {
    /// How upstream hosts are, by `address:port` as the case writes them. All others are well.
    #[serde(default)]
    pub(super) hosts: BTreeMap<String, HostSetup>,
    /// What Envoy refuses, as `Kind name`, and why.
    #[serde(default)]
    pub(super) refused: BTreeMap<String, Pattern>,
    /// What is asked.
    pub(super) requests: Vec<Exchange>,
}

/// How an upstream host is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostSetup {
    /// Nobody listens there.
    #[serde(default)]
    pub(super) down: bool,
    /// The status for every request that does not come from a test: health checks.
    pub(super) health: Option<u16>,
    /// Headers of the answers to those.
    #[serde(default)]
    pub(super) health_headers: BTreeMap<String, Values>,
    /// The status for every request, unless the request says otherwise.
    pub(super) status: Option<u16>,
    /// It speaks TLS.
    pub(super) tls: Option<HostTls>,
}

/// How an upstream host speaks TLS.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTls {
    /// Its certificate, by its name in `testdata/tls`.
    pub(super) certificate: String,
    /// Clients need a certificate of this authority.
    pub(super) client_ca: Option<String>,
    /// The only version that it speaks: `1.2` or `1.3`.
    pub(super) version: Option<String>,
}

/// A request and what has to become of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    /// What is shown.
    pub(super) name: String,
    /// What is sent.
    #[serde(default)]
    pub(super) request: Request,
    /// How the upstream that gets it answers.
    #[serde(default)]
    pub(super) answer: Answer,
    /// It is sent this many times.
    #[serde(default = "once")]
    pub(super) repeat: usize,
    /// All of these at once instead of one after the other.
    #[serde(default)]
    pub(super) together: bool,
    /// What has to come back.
    pub(super) expect: Expect,
}

/// What is sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Request {
    /// The proxy that is asked.
    pub(super) proxy: String,
    /// The Gateway that is asked, `name` or `namespace/name`.
    pub(super) gateway: Option<String>,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, Values>,
    pub(super) body: String,
    /// The version of HTTP.
    pub(super) http: u8,
    /// Asks for this upgrade.
    pub(super) upgrade: Option<String>,
    /// Speaks TLS.
    pub(super) tls: Option<ClientTls>,
}

/// One value or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    /// One.
    One(String),
    /// Several headers of one name.
    Many(Vec<String>),
}

/// How the client speaks TLS.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClientTls {
    /// The server name; the host when not said.
    pub(super) sni: Option<String>,
    /// The authority that it trusts, by its name in `testdata/tls`.
    pub(super) ca: String,
    /// The only version that it speaks: `1.2` or `1.3`.
    pub(super) version: Option<String>,
    /// The protocols that it offers.
    pub(super) alpn: Vec<String>,
    /// Its certificate, by its name in `testdata/tls`.
    pub(super) certificate: Option<String>,
}

/// How the upstream answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Answer {
    pub(super) status: Option<u16>,
    /// Only so many attempts are answered so; those after them are answered well.
    pub(super) times: Option<usize>,
    /// After so many milliseconds.
    pub(super) delay_ms: u64,
    pub(super) headers: BTreeMap<String, Values>,
    pub(super) body: Option<String>,
}

/// What has to come back.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    pub(super) status: Option<u16>,
    pub(super) headers: BTreeMap<String, Pattern>,
    pub(super) body: Option<Pattern>,
    /// The host that answered; null for none.
    #[serde(deserialize_with = "said")]
    pub(super) upstream: Option<Option<String>>,
    /// How the request arrived there.
    pub(super) seen: Option<Seen>,
    /// Hosts that got a copy.
    pub(super) shadow: Vec<String>,
    /// How every copy arrived.
    pub(super) copied: Option<Seen>,
    /// How many attempts arrived at hosts, copies aside.
    pub(super) attempts: Option<usize>,
    /// How many of the repetitions each host answered.
    pub(super) shares: BTreeMap<String, usize>,
    /// How far a share may be off.
    pub(super) tolerance: usize,
    /// All repetitions were answered by one host, whichever.
    pub(super) same_upstream: bool,
    /// How many of the repetitions had each status.
    pub(super) statuses: BTreeMap<String, usize>,
    /// The answer took at least so many milliseconds.
    pub(super) at_least_ms: u64,
    /// There is no answer: `connect`, `tls`, or `closed`.
    pub(super) error: Option<String>,
    /// The certificate that the gateway showed, by its name in `testdata/tls`.
    pub(super) certificate: Option<String>,
    /// The protocol that was agreed on.
    pub(super) alpn: Option<String>,
}

/// How a request arrived at a host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Seen {
    pub(super) method: Option<Pattern>,
    pub(super) path: Option<Pattern>,
    pub(super) host: Option<Pattern>,
    pub(super) headers: BTreeMap<String, Pattern>,
    pub(super) body: Option<Pattern>,
    pub(super) http: Option<u8>,
    /// The server name that Envoy asked for; null for none, or no TLS.
    pub(super) sni: Option<Pattern>,
    /// Whether Envoy showed a certificate.
    pub(super) client_certificate: Option<bool>,
}

fn once() -> usize {
    1
}

/// Tells "not said" from null.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

// === impl Request ===

impl Default for Request {
    fn default() -> Self {
        Self {
            proxy: "gateway-proxy".to_owned(),
            gateway: None,
            method: "GET".to_owned(),
            host: "example.com".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: String::new(),
            http: 1,
            upgrade: None,
            tls: None,
        }
    }
}

// === impl ClientTls ===

impl Default for ClientTls {
    fn default() -> Self {
        Self { sni: None, ca: "ca".to_owned(), version: None, alpn: Vec::new(), certificate: None }
    }
}

// === impl Values ===

impl Values {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        };
        all.iter().map(String::as_str)
    }
}
