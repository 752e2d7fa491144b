//! A client of the REST API of a control server, and which server that is.
//!
//! ```text
//! flags, environment, contexts ─▶ Target ─▶ Client ─▶ Answer, or a ClientError that says what to do
//! ```

mod answer;
mod config;
mod error;
mod place;
mod target;
mod text;
mod tls;
mod version;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::slow;

pub(crate) use answer::{Answer, Refusal};
pub(crate) use config::Config;
pub(crate) use error::ClientError;
pub(crate) use place::{Collection, Place, query};
pub(crate) use target::{
    Environment, ServerArgs, Target, USUAL_NAMESPACE, server as server_url, usual_namespace,
};
pub(crate) use text::{Stream, Text};
pub(crate) use tls::gateway_connector;
pub(crate) use version::{VERSION, VERSION_HEADER};

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long an answer may take that waits for nothing.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// The longest answer. Lists come in pages.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;
/// Who writes, in the managed fields of an object.
pub(crate) const FIELD_MANAGER: &str = "keyward-cli";

/// A client of one control server. Cheap to clone; connections are kept and shared.
#[derive(Clone)]
pub(crate) struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    server: String,
    authorization: Option<HeaderValue>,
    notice: version::Notice,
}

/// How a change is made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// The server checks it and answers, and makes no change.
    pub(crate) dry_run: bool,
    /// How long the answer may wait for the workers of all proxies.
    pub(crate) wait: Option<Duration>,
}

// === impl Client ===

impl Client {
    /// A client of a server. It connects when it is asked for something.
    pub(crate) fn new(target: &Target) -> Result<Self, ClientError> {
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(CONNECT_LIMIT));
        http.set_nodelay(true);
        http.enforce_http(false);
        let https = tls::connector(target.ca.as_deref(), target.is_https(), http)?;
        let authorization = target.token.as_ref().map(target::Token::header).transpose()?;
        let http = legacy::Client::builder(TokioExecutor::new()).build(https);
        Ok(Self { http, server: target.server.clone(), authorization, notice: version::Notice::default() })
    }

    /// The URL of the server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Reads something.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer, ClientError> {
        self.told(self.patiently(path, Duration::ZERO)).await
    }

    /// The same, where whoever watches is told already what is waited for, and where the server may wait so
    /// long before it answers.
    pub(crate) async fn patiently(&self, path: &str, wait: Duration) -> Result<Answer, ClientError> {
        self.send(Method::GET, path, None, ANSWER_LIMIT.saturating_add(wait)).await
    }

    /// Says on a terminal who is waited for, where it takes long.
    async fn told<T>(&self, doing: impl Future<Output = T>) -> T {
        slow::told(&format!("waiting for {}", self.server), doing).await
    }

    /// Asks for something that changes nothing and is not said in a URL.
    pub(crate) async fn ask(&self, path: &str, question: &Value) -> Result<Answer, ClientError> {
        let body = Some(("application/json", question));
        self.told(self.send(Method::POST, path, body, ANSWER_LIMIT)).await
    }

    /// Creates an object in a collection.
    pub(crate) async fn create(
        &self,
        path: &str,
        object: &Value,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let body = Some(("application/json", object));
        self.change(Method::POST, path, body, manner).await
    }

    /// Merges what is said into an object: RFC 7396, where null removes.
    pub(crate) async fn merge(
        &self,
        path: &str,
        patch: &Value,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let body = Some(("application/merge-patch+json", patch));
        self.change(Method::PATCH, path, body, manner).await
    }

    /// Replaces an object by another version of it.
    pub(crate) async fn replace(
        &self,
        path: &str,
        object: &Value,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let body = Some(("application/json", object));
        self.change(Method::PUT, path, body, manner).await
    }

    /// Applies what is wanted of an object, and creates it where there is none: server-side apply. What this
    /// client applied before and does not any more is removed. `force` takes fields from others who have
    /// them, where the answer would be a conflict.
    pub(crate) async fn apply(
        &self,
        path: &str,
        object: &Value,
        force: bool,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let path = if force { query(path, &[("force", "true")]) } else { path.to_owned() };
        let body = Some(("application/apply-patch+yaml", object));
        self.change(Method::PATCH, &path, body, manner).await
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, path: &str, manner: Manner) -> Result<Answer, ClientError> {
        self.change(Method::DELETE, path, None, manner).await
    }

    async fn change(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
        manner: Manner,
    ) -> Result<Answer, ClientError> {
        let mut path = path.to_owned();
        let mut add = |name: &str, value: &str| {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&format!("{name}={value}"));
        };
        if method != Method::DELETE {
            add("fieldManager", FIELD_MANAGER);
        }
        if manner.dry_run {
            add("dryRun", "All");
        }
        if let Some(wait) = manner.wait {
            add("wait", &format!("{}ms", wait.as_millis()));
        }
        let limit = ANSWER_LIMIT.saturating_add(manner.wait.unwrap_or_default());
        let sent = self.send(method, &path, body, limit);
        match manner.wait {
            Some(_) => slow::told("waiting for the workers of all proxies to confirm it", sent).await,
            None => self.told(sent).await,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
        limit: Duration,
    ) -> Result<Answer, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server))
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("keyward/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let bytes = match body {
            Some((content_type, body)) => {
                request = request.header(CONTENT_TYPE, content_type);
                body.to_string().into()
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(bytes)).map_err(|source| self.malformed(path, source))?;
        let answer = tokio::time::timeout(limit, self.answer(request)).await;
        answer.unwrap_or_else(|_| Err(ClientError::Slow { server: self.server.clone(), limit }))
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Answer, ClientError> {
        let server = || self.server.clone();
        let response = self
            .http
            .request(request)
            .await
            .map_err(|source| ClientError::of_connection(server(), source))?;
        let (head, body) = response.into_parts();
        self.notice.compare(&self.server, &head.headers);
        let body = Limited::new(body, LONGEST_ANSWER).collect().await;
        let bytes = body.map_err(|source| ClientError::Broken { server: server(), source })?.to_bytes();
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        if head.status.is_success() {
            let body = value.ok_or_else(|| ClientError::NotOurs { server: server() })?;
            return Ok(Answer { code: head.status, headers: head.headers, body });
        }
        let refusal = Refusal::read(head.status, value.unwrap_or_default());
        Err(match head.status {
            StatusCode::UNAUTHORIZED => {
                ClientError::Unknown { server: server(), with_token: self.authorization.is_some(), refusal }
            }
            _ => ClientError::Refused { server: server(), refusal },
        })
    }

    fn malformed(&self, path: &str, source: http::Error) -> ClientError {
        ClientError::Url { url: format!("{}{path}", self.server), why: source.to_string() }
    }
}
