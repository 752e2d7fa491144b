//! Sending the request that was explained, and holding the answer against it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use clap::Args;
use http::header::HOST;
use http::{HeaderMap, Uri};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use keyward_explain::{Explanation, Request, Verdict};
use keyward_filter_core::request::{UNAUTHORIZED, UNAVAILABLE};
use serde::Serialize;

use crate::client::gateway_connector;
use crate::slow;

/// Headers that say nothing, and those of the filter's answers.
const OF_EVERY_ANSWER: [&str; 6] =
    ["content-length", "date", "connection", "server", "www-authenticate", "retry-after"];
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Whether it is sent, and where to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sending")]
pub(super) struct SendArgs {
    /// Sends the request too, and compares.
    #[arg(long)]
    send: bool,

    /// The gateway, `http://address:port` [default: the listener, on this machine].
    #[arg(long, value_name = "URL", requires = "send")]
    url: Option<String>,

    /// The authority of the gateway's certificate (PEM) [default: those that this machine trusts].
    #[arg(long, value_name = "FILE", requires = "send")]
    gateway_ca: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sent {
    /// To where.
    url: String,
    /// None where there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// What is not as explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difference: Option<String>,
}

/// What tells answers apart. Who answers is not said in so many words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    status: u16,
    /// It says what the filter says to whoever has no valid key.
    unauthorized: bool,
    /// It says when to come back, as the filter does while there are no keys.
    comes_back: bool,
    /// There is nothing in it, as in the answers of the filter.
    empty: bool,
}

/// What is not as explained.
fn difference(explanation: &Explanation, answer: Option<&Answer>) -> Option<String> {
    let Explanation { verdict, status, reason, .. } = explanation;
    let closed = *verdict == Verdict::NoRoute && status.is_none();
    let Some(answer) = answer else {
        return (!closed).then(|| "there is no answer".to_owned());
    };
    if closed {
        return Some(format!("it is answered with {}, and no connection was expected", answer.status));
    }
    if explanation.faults.iter().any(|fault| fault.status == answer.status) {
        return None;
    }
    let Some(status) = status else {
        return answer.is_refusal().then(|| format!("the gateway refuses it with {}", answer.status));
    };
    if answer.status != *status {
        return Some(format!("the status is {}, not {status}", answer.status));
    }
    // All that clients are told of the reason.
    let by_filter = *verdict == Verdict::Denied && is_of_filter(*reason);
    (by_filter && !answer.is_refusal()).then(|| format!("the {status} is not the gateway's"))
}

/// Whether it is the filter that denies for this reason.
fn is_of_filter(reason: Option<&str>) -> bool {
    !matches!(reason, Some("fault" | "bad-path" | "upgrade-refused" | "no-identity"))
}

fn uri(base: &str, path: &str) -> anyhow::Result<Uri> {
    let base = base.trim_end_matches('/');
    let uri: Uri = format!("{base}{path}").parse().map_err(|_| {
        anyhow!("the path cannot be sent as it is\nhint: escape what is no letter, such as %20 for a blank")
    })?;
    Ok(uri)
}

fn answer(status: u16, headers: &HeaderMap) -> Answer {
    let says = |(name, value): &(&str, &str)| {
        headers.get(*name).is_some_and(|found| found.as_bytes() == value.as_bytes())
    };
    Answer {
        status,
        unauthorized: UNAUTHORIZED.headers.iter().all(says),
        comes_back: UNAVAILABLE.headers.iter().all(says),
        empty: says(&("content-length", "0"))
            && headers.keys().all(|name| OF_EVERY_ANSWER.contains(&name.as_str())),
    }
}

// === impl Answer ===

impl Answer {
    /// Whether it looks like a refusal of the gateway, and not like what an upstream answers.
    fn is_refusal(self) -> bool {
        match self.status {
            401 => self.unauthorized && self.empty,
            // An upstream may say the same, but hardly so little.
            403 => self.empty,
            503 => self.comes_back && self.empty,
            _ => false,
        }
    }
}

// === impl SendArgs ===

impl SendArgs {
    /// To where it is sent, if it is. A listener on all addresses is reached on this machine's.
    pub(super) fn gateway(&self, address: &str, port: u16, tls: bool) -> Option<String> {
        let scheme = if tls { "https" } else { "http" };
        let address = match address {
            "0.0.0.0" | "::" => "127.0.0.1".to_owned(),
            six if six.contains(':') => format!("[{six}]"),
            four => four.to_owned(),
        };
        self.send.then(|| self.url.clone().unwrap_or_else(|| format!("{scheme}://{address}:{port}")))
    }

    /// Sends it, and compares.
    pub(super) async fn send(
        &self,
        url: &str,
        request: &Request,
        explanation: &Explanation,
    ) -> anyhow::Result<Sent> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        let connector = gateway_connector(self.gateway_ca.as_deref(), request.tls.as_deref(), http)?;
        let client: legacy::Client<_, Full<Bytes>> =
            legacy::Client::builder(TokioExecutor::new()).build(connector);
        let mut message = http::Request::builder()
            .method(request.method.as_str())
            .uri(uri(url, &request.path)?)
            .header(HOST, &request.host);
        for (name, value) in request.headers() {
            message = message.header(name, value);
        }
        let message = message.body(Full::default()).context("the request cannot be sent as it is")?;
        let told = |answer: Option<&Answer>| Sent {
            url: url.to_owned(),
            status: answer.map(|answer| answer.status),
            difference: difference(explanation, answer),
        };
        let answered = tokio::time::timeout(LIMIT, client.request(message));
        let answered = slow::told(&format!("waiting for {url}"), answered).await;
        match answered.with_context(|| format!("{url} does not answer within {} s", LIMIT.as_secs()))? {
            Ok(response) => Ok(told(Some(&answer(response.status().as_u16(), response.headers())))),
            // Where there is to be no connection, there is none.
            Err(_) if difference(explanation, None).is_none() => Ok(told(None)),
            Err(error) => Err(anyhow::Error::new(error).context(format!(
                "the request could not be sent to {url}\nhint: --url says where the gateway is"
            ))),
        }
    }
}

// === impl Sent ===

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, status, difference } = self;
        match status {
            Some(status) => write!(f, "sent to {url}: {status}")?,
            None => write!(f, "sent to {url}: no answer")?,
        }
        match difference {
            None => f.write_str(", as explained"),
            Some(difference) => write!(f, "\nnot as explained: {difference}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use keyward_explain::{Entry, Fault, Keys, Served, plan};
    use serde_json::json;

    use super::*;

    /// An explanation, and what it says changed.
    fn explanation(verdict: Verdict, status: Option<u16>, reason: Option<&'static str>) -> Explanation {
        let served = json!({
            "role": "a~b", "version": "1", "routes": [], "clusters": [], "extensionConfigs": [],
            "listeners": [{ "name": "l", "address": { "socketAddress": { "address": "::", "portValue": 1 } } }],
        });
        let served = Served::read(&served).expect("served");
        let request = Request::new("GET", "site.test", "/");
        let plan = plan(&served, &Entry::default(), &request).expect("a plan");
        Explanation { verdict, status, reason, ..plan.explain(&Keys::new(), 0) }
    }

    #[test]
    fn answers_are_held_against_what_was_explained() {
        let empty = |status| Answer { status, unauthorized: false, comes_back: false, empty: true };
        let full = |status| Answer { empty: false, ..empty(status) };
        let unauthorized = || Answer { unauthorized: true, ..empty(401) };
        let unavailable = || Answer { comes_back: true, ..empty(503) };
        let denied = explanation(Verdict::Denied, Some(401), Some("expired"));
        let listed = explanation(Verdict::Denied, Some(403), Some("not-allowed"));
        let allowed = explanation(Verdict::Allowed, None, None);
        let closed = explanation(Verdict::NoRoute, None, Some("closed-connection"));
        for (explanation, answer, same) in [
            (&denied, Some(unauthorized()), true),
            (&denied, Some(full(401)), false),
            (&denied, Some(full(200)), false),
            (&denied, Some(empty(403)), false),
            (&denied, None, false),
            (&listed, Some(empty(403)), true),
            (&listed, Some(full(403)), false),
            (&allowed, Some(full(200)), true),
            (&allowed, Some(empty(204)), true),
            (&allowed, Some(full(401)), true),
            (&allowed, Some(unauthorized()), false),
            (&allowed, Some(empty(403)), false),
            (&allowed, Some(full(503)), true),
            (&allowed, Some(unavailable()), false),
            (&allowed, None, false),
            (&closed, None, true),
            (&closed, Some(full(200)), false),
        ] {
            let difference = difference(explanation, answer.as_ref());
            assert_eq!(difference.is_none(), same, "{:?} {answer:?}: {difference:?}", explanation.verdict);
        }
        let redirect = explanation(Verdict::Allowed, Some(301), None);
        assert_eq!(difference(&redirect, Some(&empty(301))), None);
        assert!(difference(&redirect, Some(&empty(404))).is_some());
        let fault = Explanation { faults: vec![Fault { status: 418, percent: 25.0 }], ..allowed };
        assert_eq!(difference(&fault, Some(&empty(418))), None);
    }

    #[test]
    fn a_listener_on_all_addresses_is_reached_on_this_machine() {
        let send = |url: Option<&str>| SendArgs { send: true, url: url.map(str::to_owned), gateway_ca: None };
        assert_eq!(send(None).gateway("::", 80, false).as_deref(), Some("http://127.0.0.1:80"));
        assert_eq!(send(None).gateway("::1", 443, true).as_deref(), Some("https://[::1]:443"));
        assert_eq!(send(Some("http://a:1")).gateway("::", 80, false).as_deref(), Some("http://a:1"));
        assert_eq!(SendArgs { send: false, ..send(None) }.gateway("::", 80, false), None);
    }
}
