//! Port 19000: the admin of the gateway proxy, behind a gate.
//!
//! Envoy's own admin asks nobody who they are, so it listens where only the control server reaches it. What
//! arrives here passes through as it is, but for `/logging` (see [`logging`]) and for what this port is told to
//! refuse. Answers to mistakes are Envoy's own words.

mod levels;
mod loggers;
mod logging;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use axum::response::Response;
use futures::future::BoxFuture;

pub use levels::{LEVELS, Levels, Loggers, more_verbose};
pub use loggers::{QUIET, writes_requests};

use crate::gate::{Gate, Need, Refusal, Who};

/// Reaches the admin of a proxy.
pub trait ProxyAdmin: Send + Sync + 'static {
    /// Sends a request; answers with the head of the answer once that is there. `changes` says who changes
    /// something by it, for the log.
    ///
    /// # Errors
    ///
    /// When the proxy does not answer; for people.
    fn send(&self, request: Request, changes: Option<Who>) -> BoxFuture<'_, Result<Response, String>>;
}

/// What the port lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// Refuses whatever changes anything.
    pub read_only: bool,
    /// When loggers that write whole requests may be set to levels at which they do.
    pub header_logging: HeaderLogging,
}

/// When loggers that write whole requests, API keys included, are let down to the levels at which they do. What
/// they write is in the file of the proxy's log alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderLogging {
    /// Never: they stay at info.
    Never,
    /// When somebody asks for them by name; a level for all loggers leaves them at info.
    #[default]
    Named,
    /// Always.
    Always,
}

/// Everything that the port needs.
#[derive(Clone)]
struct Front {
    admin: Arc<dyn ProxyAdmin>,
    gate: Arc<dyn Gate>,
    manner: Manner,
}

/// Counts, states and levels. Everybody who may look at all may look at them.
const OPEN: [&str; 13] = [
    "/",
    "/clusters",
    "/help",
    "/hot_restart_version",
    "/listeners",
    "/logging",
    "/memory",
    "/memory/tcmalloc",
    "/ready",
    "/server_info",
    "/stats",
    "/stats/prometheus",
    "/stats/recentlookups",
];
/// What else changes nothing, also when it is asked by POST.
const READING: [&str; 7] =
    ["/certs", "/config_dump", "/contention", "/heap_dump", "/init_dump", "/peak_heap_dump", "/runtime"];
/// The headers of a request that say anything to the admin. The others, credentials among them, end here.
const PASSED: [HeaderName; 3] = [ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE];
/// The path on which levels are set.
const LOGGING: &str = "/logging";

/// Everything on the port.
pub fn router(admin: Arc<dyn ProxyAdmin>, gate: Arc<dyn Gate>, manner: Manner) -> Router {
    Router::new().fallback(pass).with_state(Front { admin, gate, manner })
}

async fn pass(State(front): State<Front>, request: Request) -> Response {
    match front.admit(&request) {
        Ok(who) if request.uri().path() == LOGGING => logging::answer(&front, request, who).await,
        Ok(who) => {
            let who = (!reads(request.method(), request.uri().path())).then_some(who);
            front.forward(request, who).await
        }
        Err(Refusal { code, message }) => text(code, &message),
    }
}

/// Whether a request changes nothing. Envoy demands POST of whatever changes something.
fn reads(method: &Method, path: &str) -> bool {
    match *method {
        Method::GET | Method::HEAD => true,
        Method::POST => path != LOGGING && (OPEN.contains(&path) || READING.contains(&path)),
        _ => false,
    }
}

/// Whether a path is one that Envoy reads as it stands here. It takes others for one of its own: `//logging`,
/// `/x/../logging`.
fn is_plain(path: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let part = |part: &str| !part.is_empty() && part.bytes().all(fits) && !matches!(part, "." | "..");
    path.strip_prefix('/').is_some_and(|rest| rest.is_empty() || rest.split('/').all(part))
}

/// An answer of ours, in the form of Envoy's.
fn text(code: StatusCode, message: &str) -> Response {
    let mut response = Response::new(Body::from(format!("{}\n", message.trim_end())));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

// === impl Front ===

impl Front {
    fn admit(&self, request: &Request) -> Result<Who, Refusal> {
        let path = request.uri().path();
        let is_change = !reads(request.method(), path) && !logging::is_list(request);
        let need = if is_change || !OPEN.contains(&path) { Need::Operate } else { Need::Look };
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
        let who = self.gate.admit(need, request.headers(), peer)?;
        let refused = |code, message: &str| Err(Refusal { code, message: message.to_owned() });
        if !is_plain(path) {
            return refused(StatusCode::NOT_FOUND, "there is no such path; /help lists what there is");
        }
        if is_change && self.manner.read_only {
            return refused(
                StatusCode::FORBIDDEN,
                "this port is read-only: it changes nothing (--proxy-admin-read-only of keyward serve)",
            );
        }
        Ok(who)
    }

    /// Passes a request through, and its answer.
    async fn forward(&self, request: Request, who: Option<Who>) -> Response {
        let (mut head, body) = request.into_parts();
        let mut headers: HeaderMap = PASSED
            .into_iter()
            .filter_map(|name| Some((name.clone(), head.headers.get(name)?.clone())))
            .collect();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        head.headers = headers;
        head.extensions.clear();
        head.version = Version::HTTP_11;
        head.uri = head.uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
        match self.admin.send(Request::from_parts(head, body), who).await {
            Ok(mut response) => {
                // They are about the connection behind this one.
                response.headers_mut().remove(CONNECTION);
                response.headers_mut().remove(TRANSFER_ENCODING);
                response
            }
            Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, &why),
        }
    }
}

#[cfg(test)]
mod tests;
