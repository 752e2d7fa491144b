//! The REST API as a client sees it, over a real port and an in-memory store.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use keyward_resource::{ObjectKey, Reports};
use keyward_store::{MemoryStore, Revision};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Api, HostGuard};
use crate::published::Published;

const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";
const SECRETS: &str = "/api/v1/namespaces/team/secrets";

struct Server {
    base: String,
    client: Client,
    published: watch::Sender<Arc<Published>>,
}

struct Answer {
    status: StatusCode,
    body: Value,
}

fn upstream(name: &str, port: u16) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": name },
        "spec": { "static": { "hosts": [{ "addr": "example.com", "port": port }] } },
    })
}

impl Server {
    async fn start() -> Self {
        let (published, reports) = watch::channel(Arc::new(Published::default()));
        let api = Api::new(Arc::new(MemoryStore::new()), reports, "keyward-system");
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        tokio::spawn(async move { axum::serve(listener, api.router(HostGuard::Loopback)).await });
        Self { base: format!("http://{address}"), client: Client::new(), published }
    }

    async fn send(&self, method: Method, path: &str, content_type: &str, body: impl Into<String>) -> Answer {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let response = request
            .header("content-type", content_type)
            .body(body.into())
            .send()
            .await
            .expect("the server answers");
        let status = response.status();
        let text = response.text().await.expect("a whole body");
        Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
    }

    async fn json(&self, method: Method, path: &str, body: &Value) -> Answer {
        self.send(method, path, "application/json", body.to_string()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "application/json", "").await
    }
}

#[tokio::test]
async fn an_object_lives_through_all_verbs() {
    let server = Server::start().await;
    let item = format!("{UPSTREAMS}/a");

    let created = server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let metadata = &created.body["metadata"];
    assert_eq!(metadata["namespace"], "team");
    assert_eq!(metadata["generation"], 1);
    assert!(metadata["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{metadata}");
    assert!(metadata["creationTimestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{metadata}");
    assert_eq!(created.body["status"]["state"], "Pending");

    let again = server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await;
    assert_eq!((again.status, again.body["reason"].as_str()), (StatusCode::CONFLICT, Some("AlreadyExists")));

    let read = server.get(&item).await;
    assert_eq!(read.body, created.body);

    let same = server.json(Method::PUT, &item, &upstream("a", 80)).await;
    assert_eq!(same.body["metadata"], *metadata, "a replacement that changes nothing is no change");

    let replaced = server.json(Method::PUT, &item, &upstream("a", 81)).await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.body);
    assert_eq!(replaced.body["metadata"]["generation"], 2);
    assert_eq!(replaced.body["metadata"]["uid"], metadata["uid"]);
    assert_eq!(replaced.body["metadata"]["creationTimestamp"], metadata["creationTimestamp"]);
    assert_ne!(replaced.body["metadata"]["resourceVersion"], metadata["resourceVersion"]);

    let list = server.get("/apis/service.keyward.io/v1/upstreams").await;
    assert_eq!(list.body["kind"], "UpstreamList");
    assert_eq!(list.body["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(list.body["metadata"]["resourceVersion"], replaced.body["metadata"]["resourceVersion"]);

    let deleted = server.send(Method::DELETE, &item, "application/json", "").await;
    assert_eq!((deleted.status, deleted.body["status"].as_str()), (StatusCode::OK, Some("Success")));
    for method in [Method::GET, Method::DELETE] {
        let gone = server.send(method, &item, "application/json", "").await;
        assert_eq!((gone.status, gone.body["kind"].as_str()), (StatusCode::NOT_FOUND, Some("Status")));
        assert_eq!(gone.body["message"], "upstreams.service.keyward.io \"a\" not found");
    }
    let missing = server.json(Method::PUT, &item, &upstream("a", 80)).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_write_on_an_outdated_version_is_a_conflict_and_changes_nothing() {
    let server = Server::start().await;
    let item = format!("{UPSTREAMS}/a");
    let first = server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await.body;
    let mut fresh = upstream("a", 81);
    fresh["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"].clone();
    let second = server.json(Method::PUT, &item, &fresh).await;
    assert_eq!(second.status, StatusCode::OK, "{}", second.body);

    let mut stale = upstream("a", 82);
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"].clone();
    let conflict = server.json(Method::PUT, &item, &stale).await;
    assert_eq!((conflict.status, conflict.body["reason"].as_str()), (StatusCode::CONFLICT, Some("Conflict")));
    let preconditions =
        json!({ "preconditions": { "resourceVersion": first["metadata"]["resourceVersion"] } });
    let conflict = server.json(Method::DELETE, &item, &preconditions).await;
    assert_eq!(conflict.status, StatusCode::CONFLICT);
    assert_eq!(server.get(&item).await.body["metadata"], second.body["metadata"]);

    let malformed =
        json!({ "metadata": { "name": "a", "resourceVersion": "x" }, "spec": upstream("a", 1)["spec"] });
    assert_eq!(server.json(Method::PUT, &item, &malformed).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_deletion_looks_at_its_conditions() {
    let server = Server::start().await;
    let item = format!("{UPSTREAMS}/a");
    let created = server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await.body;
    for (options, expected) in [
        (json!({ "preconditions": { "uid": "another" } }), StatusCode::CONFLICT),
        (json!({ "preconditions": { "resourceVersion": "999" } }), StatusCode::CONFLICT),
        (json!([1]), StatusCode::BAD_REQUEST),
        (json!({ "dryRun": ["All"] }), StatusCode::BAD_REQUEST),
        (json!({ "preconditions": { "uid": created["metadata"]["uid"] } }), StatusCode::OK),
    ] {
        let answer = server.json(Method::DELETE, &item, &options).await;
        assert_eq!(answer.status, expected, "{options}: {}", answer.body);
    }
    assert_eq!(server.get(&item).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_would_not_be_done_as_asked_is_refused() {
    let server = Server::start().await;
    let dry = server.json(Method::POST, &format!("{UPSTREAMS}?dryRun=All"), &upstream("a", 80)).await;
    assert_eq!(dry.status, StatusCode::BAD_REQUEST, "{}", dry.body);
    assert_eq!(server.get(&format!("{UPSTREAMS}/a")).await.status, StatusCode::NOT_FOUND);
    for query in ["labelSelector=team%3Dnone", "fieldSelector=metadata.name%3Da", "watch=1"] {
        assert_eq!(
            server.get(&format!("{UPSTREAMS}?{query}")).await.status,
            StatusCode::BAD_REQUEST,
            "{query}"
        );
    }
    assert_eq!(server.get(&format!("{UPSTREAMS}?limit=500&pretty=true")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn replacements_without_a_condition_all_get_through() {
    let server = Arc::new(Server::start().await);
    server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await;
    let mut writers = tokio::task::JoinSet::new();
    for port in 1000..1100 {
        let server = Arc::clone(&server);
        writers.spawn(async move {
            server.json(Method::PUT, &format!("{UPSTREAMS}/a"), &upstream("a", port)).await.status
        });
    }
    let answers = writers.join_all().await;
    assert!(answers.iter().all(|status| *status == StatusCode::OK), "{answers:?}");
    assert_eq!(server.get(&format!("{UPSTREAMS}/a")).await.body["metadata"]["generation"], 101);
}

#[tokio::test]
async fn all_mistakes_are_told_at_once_with_their_fields() {
    let server = Server::start().await;
    let yaml = "apiVersion: service.keyward.io/v1\nkind: Upstream\nmetadata: {name: a}\nspec:\n  static:\n    hosts:\n    - {addr: '', port: 99999}\n  colour: blue\n";
    let answer = server.send(Method::POST, UPSTREAMS, "application/yaml", yaml).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.body);
    assert_eq!(answer.body["reason"], "Invalid");
    let causes = answer.body["details"]["causes"].as_array().expect("causes").clone();
    let mut fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["spec.colour", "spec.static.hosts[0].addr", "spec.static.hosts[0].port"]);
    assert_eq!(server.get(&format!("{UPSTREAMS}/a")).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused_with_the_place() {
    let server = Server::start().await;
    let yaml = server.send(Method::POST, UPSTREAMS, "application/yaml", "a: 1\na: 2\n").await;
    assert_eq!(yaml.status, StatusCode::BAD_REQUEST);
    assert!(yaml.body["message"].as_str().is_some_and(|text| text.contains("line 2")), "{}", yaml.body);
    let json = server.send(Method::POST, UPSTREAMS, "application/json", "{\"a\": }").await;
    assert_eq!(json.status, StatusCode::BAD_REQUEST);
    let form = server.send(Method::POST, UPSTREAMS, "application/x-www-form-urlencoded", "a=1").await;
    assert_eq!(form.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = " ".repeat(super::request::MAX_BODY + 1);
    let large = server.send(Method::POST, UPSTREAMS, "application/json", large).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(large.body["kind"], "Status", "{}", large.body);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_answered_as_status() {
    let server = Server::start().await;
    for (method, path, expected) in [
        (Method::GET, "/nothing", StatusCode::NOT_FOUND),
        (Method::GET, "/apis/service.keyward.io/v1/namespaces/team/nothings", StatusCode::NOT_FOUND),
        (Method::POST, "/apis/service.keyward.io/v1/upstreams", StatusCode::METHOD_NOT_ALLOWED),
        (
            Method::PATCH,
            "/apis/service.keyward.io/v1/namespaces/team/upstreams/a",
            StatusCode::METHOD_NOT_ALLOWED,
        ),
    ] {
        let answer = server.json(method, path, &json!({})).await;
        assert_eq!((answer.status, answer.body["kind"].as_str()), (expected, Some("Status")), "{path}");
    }
}

#[tokio::test]
async fn the_original_groups_name_the_same_objects() {
    let server = Server::start().await;
    let mut original = upstream("a", 80);
    original["apiVersion"] = "gloo.solo.io/v1".into();
    let created =
        server.json(Method::POST, "/apis/gloo.solo.io/v1/namespaces/team/upstreams", &original).await;
    assert_eq!(
        (created.status, created.body["apiVersion"].as_str()),
        (StatusCode::CREATED, Some("gloo.solo.io/v1"))
    );
    let read = server.get(&format!("{UPSTREAMS}/a")).await;
    assert_eq!(read.body["apiVersion"], "service.keyward.io/v1");
    assert_eq!(read.body["metadata"], created.body["metadata"]);
}

#[tokio::test]
async fn a_secret_that_is_refused_is_not_repeated() {
    let server = Server::start().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "name": "a" },
        "data": { "api-key": "not-base64-but-secret!" },
    });
    let answer = server.json(Method::POST, SECRETS, &secret).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!answer.body.to_string().contains("but-secret"), "{}", answer.body);
}

#[tokio::test]
async fn the_type_of_a_secret_stays() {
    let server = Server::start().await;
    let secret =
        |kind: &str| json!({ "metadata": { "name": "a" }, "type": kind, "stringData": { "api-key": "k" } });
    let created = server.json(Method::POST, SECRETS, &secret("extauth.keyward.io/apikey")).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let changed = server.json(Method::PUT, &format!("{SECRETS}/a"), &secret("Opaque")).await;
    assert_eq!(changed.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", changed.body);
    assert_eq!(changed.body["details"]["causes"][0]["field"], "type");
}

#[tokio::test]
async fn a_status_shows_what_was_published_for_this_version_and_nothing_older() {
    let server = Server::start().await;
    let created = server.json(Method::POST, UPSTREAMS, &upstream("a", 80)).await.body;
    let version: u64 =
        created["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    let mut reports = Reports::default();
    reports.warn(ObjectKey::new("Upstream", "team", "a"), "looks odd");
    server.published.send_replace(Arc::new(Published {
        revision: Some(Revision(version)),
        reports,
        ..Published::default()
    }));
    let read = server.get(&format!("{UPSTREAMS}/a")).await.body;
    assert_eq!(
        (&read["status"]["state"], &read["status"]["reason"]),
        (&json!("Warning"), &json!("looks odd"))
    );
    assert_eq!(read["status"]["statuses"]["keyward-system"]["reportedBy"], "keyward");
    let replaced = server.json(Method::PUT, &format!("{UPSTREAMS}/a"), &upstream("a", 81)).await.body;
    assert_eq!(replaced["status"]["state"], "Pending");
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_reach_the_port() {
    let server = Server::start().await;
    let request = server.client.get(format!("{}{SECRETS}", server.base)).header("host", "rebound.example");
    let response = request.send().await.expect("the server answers");
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}
