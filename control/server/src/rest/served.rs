//! `GET /keyward/v1/served?role=<namespace>~<proxy>`: what the proxies of a role are told, as xDS in the JSON
//! of protobuf, whole, but for what Envoy calls sensitive and the code of the filter.
//!
//! For whoever may look at the snapshots: it is about all namespaces.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Extension, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use keyward_admin::{Gate, Need, Refusal, xds};
use keyward_resource::{ApiStatus, kind};
use keyward_translate::xds::{CLUSTER, ENDPOINT, EXTENSION, LISTENER, ROUTE, SECRET};
use keyward_xds::{Cache, Snapshot, printable};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sync::failure;

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/served";
/// So much is repeated of a role that nobody has.
const MAX_WORDS: usize = 256;

/// What it asks.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) xds: Cache,
    pub(crate) gate: Arc<dyn Gate>,
}

/// What is asked of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    role: String,
}

/// The answer. Each list is in order of name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    role: String,
    /// Names the content.
    version: String,
    listeners: Vec<Value>,
    routes: Vec<Value>,
    clusters: Vec<Value>,
    endpoints: Vec<Value>,
    extension_configs: Vec<Value>,
    /// Their names, and nothing else of them.
    secrets: Vec<String>,
}

/// Answers.
pub(super) async fn served(
    State(served): State<Served>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    question: Result<Query<Question>, QueryRejection>,
) -> Response {
    let peer = peer.map(|Extension(ConnectInfo(peer))| peer);
    let admitted = served.gate.admit(Need::Operate, &headers, peer).map_err(refused);
    let answer = admitted.and_then(|_| {
        let Query(Question { role }) = question.map_err(|_| {
            ApiStatus::bad_request("the query must be role=<namespace>~<proxy>, and nothing else")
        })?;
        served.answer(role)
    });
    answer.map_or_else(failure, |answer| Json(answer).into_response())
}

fn refused(Refusal { code, message }: Refusal) -> ApiStatus {
    match code.as_u16() {
        401 => ApiStatus::unauthorized(message),
        403 => ApiStatus::forbidden(message),
        _ => ApiStatus::internal(&message),
    }
}

/// Nobody has this role.
fn nobody(role: &str, cache: &Cache) -> ApiStatus {
    let roles: Vec<_> = cache.keys().iter().map(|role| printable(role, MAX_WORDS)).collect();
    if roles.is_empty() {
        return ApiStatus::unavailable("no proxy is told anything yet", 1);
    }
    let role = printable(role, MAX_WORDS);
    let message =
        format!("nothing is told to proxies of the role {role:?}; there are the roles: {}", roles.join(", "));
    let Some(kind) = kind::by_name("Proxy") else { return ApiStatus::internal(&message) };
    let mut status = ApiStatus::not_found(kind, &role);
    status.message = message;
    status
}

// === impl Served ===

impl Served {
    fn answer(&self, role: String) -> Result<Answer, ApiStatus> {
        let snapshot = self.xds.get(&role).ok_or_else(|| nobody(&role, &self.xds))?;
        Ok(Answer::new(role, &snapshot))
    }
}

// === impl Answer ===

impl Answer {
    fn new(role: String, snapshot: &Snapshot) -> Self {
        let all = |type_url: &str| {
            let resources = snapshot.resources(type_url);
            resources.map(|resource| xds::whole(type_url, resource.body())).collect()
        };
        Self {
            kind: "Served",
            api_version: "keyward.io/v1",
            role,
            version: snapshot.version().to_owned(),
            listeners: all(LISTENER),
            routes: all(ROUTE),
            clusters: all(CLUSTER),
            endpoints: all(ENDPOINT),
            extension_configs: all(EXTENSION),
            secrets: snapshot.resources(SECRET).map(|secret| secret.name().to_string()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use keyward_admin::Who;
    use serde_json::json;

    use super::*;

    /// Admits whoever has an `authorization` header.
    struct Doorman;

    impl Gate for Doorman {
        fn admit(&self, need: Need, headers: &HeaderMap, _: Option<SocketAddr>) -> Result<Who, Refusal> {
            assert_eq!(need, Need::Operate);
            let refusal = Refusal { code: StatusCode::FORBIDDEN, message: "no admin".to_owned() };
            headers.get("authorization").map(|_| Who("ann".to_owned())).ok_or(refusal)
        }
    }

    async fn ask(cache: &Cache, query: &str, may: bool) -> (u16, Value) {
        let served = Served { xds: cache.clone(), gate: Arc::new(Doorman) };
        let mut headers = HeaderMap::new();
        if may {
            headers.insert("authorization", axum::http::HeaderValue::from_static("Bearer x"));
        }
        let uri = format!("http://127.0.0.1{PATH}?{query}").parse().unwrap();
        let question = Query::try_from_uri(&uri);
        let response = super::served(State(served), None, headers, question).await;
        let code = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (code, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn what_is_served_is_shown_whole_and_of_secrets_the_name() {
        let cache = Cache::new();
        assert_eq!(ask(&cache, "role=a~b", true).await.0, 503);
        // A Secret that is called `web`, and a route configuration that is called `routes`.
        let snapshot = Snapshot::builder()
            .insert(SECRET, "web", &b"\x0a\x03web\x12\x09the key, whatever"[..])
            .insert(ROUTE, "routes", &b"\x0a\x06routes"[..])
            .build();
        cache.publish("a~b", snapshot.clone());
        let (code, shown) = ask(&cache, "role=a%7Eb", true).await;
        assert_eq!(code, 200);
        let expected = json!({
            "kind": "Served", "apiVersion": "keyward.io/v1", "role": "a~b", "version": snapshot.version(),
            "listeners": [], "routes": [{ "name": "routes" }], "clusters": [], "endpoints": [],
            "extensionConfigs": [], "secrets": ["web"],
        });
        assert_eq!(shown, expected);
    }

    #[tokio::test]
    async fn who_may_not_and_what_is_not_there_is_said() {
        let cache = Cache::new();
        cache.publish("a~b", Snapshot::builder().build());
        assert_eq!(ask(&cache, "role=a~b", false).await.0, 403);
        let (code, status) = ask(&cache, "role=a~c", true).await;
        assert_eq!((code, &status["reason"]), (404, &json!("NotFound")));
        assert!(status["message"].as_str().unwrap().ends_with("there are the roles: a~b"), "{status}");
        for query in ["", "rol=a~b", "role=a~b&x=y"] {
            assert_eq!(ask(&cache, query, true).await.0, 400, "{query}");
        }
    }
}
