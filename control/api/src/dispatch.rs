//! From a request to its verb.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, State};
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use keyward_resource::ApiStatus;
use tokio::time::Instant;

use crate::access::{Attempt, Identity, Verb};
use crate::api::Api;
use crate::courtesy::{self, Caller};
use crate::discovery;
use crate::openapi;
use crate::query::Query;
use crate::reply::{failure, not_allowed, not_allowed_because};
use crate::request::MAX_BODY;
use crate::table::Form;
use crate::target::{Part, Target};

/// A read of something that is no resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<'a> {
    /// The path.
    pub(crate) path: &'a str,
    /// The query.
    pub(crate) query: Option<&'a str>,
    /// The headers.
    pub(crate) headers: &'a HeaderMap,
    /// The paths of the port that others answer.
    pub(crate) beside: &'a [&'static str],
}

/// A request on a resource by somebody who may make it.
pub(crate) struct Call<'a> {
    pub(crate) path: &'a str,
    pub(crate) target: Target,
    pub(crate) query: Query,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) form: Form,
    pub(crate) identity: Identity,
    /// When it came.
    pub(crate) began: Instant,
}

/// What the verbs answer.
pub(crate) type Answer = Result<Response, ApiStatus>;

/// Answers a request on any path.
pub(crate) async fn dispatch(
    State(api): State<Api>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    extensions: Extensions,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    let body = match body {
        Ok(body) => body,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return failure(ApiStatus::too_large(MAX_BODY));
        }
        Err(_) => return failure(ApiStatus::bad_request("the body of the request did not arrive whole")),
    };
    if headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        // Passed over, it would be answered as if the other had asked.
        return failure(ApiStatus::forbidden(
            "nobody can act as somebody else here: send no Impersonate header",
        ));
    }
    let answer = match Target::of_path(uri.path()) {
        Some(target) => {
            let (kind, asked) = (target.kind, target.asked);
            let answer = api.on_resource(&method, &uri, target, &headers, peer, &body).await;
            answer.map_err(|status| status.as_asked(kind, asked))
        }
        None => api.on_document(&method, &uri, &headers, peer, &body),
    };
    answer.unwrap_or_else(failure)
}

/// The methods that a path serves.
fn methods(target: &Target) -> &'static str {
    match (&target.name, target.part) {
        (Some(_), Part::Main) => "GET, HEAD, PUT, PATCH, DELETE",
        (Some(_), Part::Status) => "GET, HEAD",
        (None, _) if !target.is_one_place() => "GET, HEAD",
        (None, _) => "GET, HEAD, POST, DELETE",
    }
}

fn verb(method: &Method, target: &Target, watch: bool) -> Option<Verb> {
    let one = target.name.is_some();
    Some(match *method {
        Method::GET | Method::HEAD if watch => Verb::Watch,
        Method::GET | Method::HEAD if one => Verb::Get,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST if !one && target.is_one_place() => Verb::Create,
        Method::PUT if one => Verb::Update,
        Method::PATCH if one => Verb::Patch,
        Method::DELETE if target.part == Part::Status => return None,
        Method::DELETE if one => Verb::Delete,
        // A deletion across all namespaces is more than anybody means.
        Method::DELETE if target.is_one_place() => Verb::DeleteCollection,
        _ => return None,
    })
}

// === impl Api ===

impl Api {
    async fn on_resource(
        &self,
        method: &Method,
        uri: &Uri,
        target: Target,
        headers: &HeaderMap,
        peer: Option<SocketAddr>,
        body: &[u8],
    ) -> Answer {
        let began = Instant::now();
        let parsed = Query::parse(uri.query());
        let watch = parsed.as_ref().is_ok_and(|query| query.watch) && target.part == Part::Main;
        let Some(verb) = verb(method, &target, watch) else {
            return Ok(not_allowed(methods(&target)));
        };
        let identity = self.authorizer.authorize(&Attempt {
            verb,
            kind: Some(target.kind),
            namespace: target.namespace.as_deref(),
            name: target.name.as_deref(),
            path: uri.path(),
            headers,
            peer,
        })?;
        if !verb.is_served(target.kind) {
            let why = ApiStatus::written_by_server(target.kind).as_asked(target.kind, target.asked);
            return Ok(not_allowed_because("GET, HEAD", why));
        }
        if target.part == Part::Status && !verb.is_read() {
            let name = target.name.as_deref().unwrap_or_default();
            let why = ApiStatus::status_is_read_only(target.kind, name);
            return Ok(not_allowed_because("GET, HEAD", why.as_asked(target.kind, target.asked)));
        }
        let form = Form::asked(headers, uri.query(), self.writer.origin().now)?;
        let query = parsed?;
        if query.wait.is_some() && verb.is_read() {
            return Err(ApiStatus::bad_request("wait: Forbidden: it is for changes"));
        }
        let call = Call { path: uri.path(), target, query, headers, body, form, identity, began };
        let seen = self.seen_by(&call.identity);
        let answer = match verb {
            Verb::Get => seen.get(&call).await,
            Verb::List => seen.list(&call).await,
            Verb::Watch => seen.watch(&call).await,
            Verb::Create => seen.create(&call).await,
            Verb::Update => seen.update(&call).await,
            Verb::Patch => seen.patch(&call).await,
            Verb::Delete => seen.delete(&call).await,
            Verb::DeleteCollection => seen.delete_collection(&call).await,
        };
        answer.map_err(|status| seen.sight.status(status))
    }

    /// Documents about the API.
    fn on_document(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        peer: Option<SocketAddr>,
        body: &[u8],
    ) -> Answer {
        let path = uri.path();
        let attempt =
            Attempt { verb: Verb::Get, kind: None, namespace: None, name: None, path, headers, peer };
        let identity = self.authorizer.authorize(&attempt)?;
        let lookup = Lookup { path, query: uri.query(), headers, beside: &self.beside };
        let caller = Caller { authorizer: &*self.authorizer, identity: &identity, peer };
        if let Some(answer) = courtesy::answer(caller, method, &lookup, body) {
            return answer;
        }
        let Some(document) = discovery::answer(&lookup).or_else(|| openapi::answer(&lookup)) else {
            return Err(ApiStatus::no_such_path());
        };
        match *method {
            Method::GET | Method::HEAD => Ok(document),
            _ => Ok(not_allowed("GET, HEAD")),
        }
    }
}
