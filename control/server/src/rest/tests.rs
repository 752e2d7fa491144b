//! The port as a client sees it. What the resource API does is tested in its own crate.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use keyward_admin::{Gate, Need, Refusal, Who};
use keyward_api::{Attempt, AuditLog, Authorizer, Everybody, Identity, Origin, Sight, Writer};
use keyward_filter_core::wire::Version;
use keyward_keys::{Holds, SessionEvent};
use keyward_resource::{ApiStatus, ObjectKey, Reports};
use keyward_store::{MemoryStore, Revision, UsageFile};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{HostGuard, LogReader, Own, Served, Sync, Uses, router};
use crate::logs::Logs;
use crate::published::Published;
use crate::usage::Usage;
use crate::workers::WorkersHandle;

const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";

struct Server {
    base: String,
    client: Client,
    published: watch::Sender<Arc<Published>>,
    workers: WorkersHandle,
    _folder: TempDir,
}

/// Lets everybody do everything, and look at the namespace `team` alone.
struct OfTheTeam;

impl Authorizer for OfTheTeam {
    fn authorize(&self, _: &Attempt<'_>) -> Result<Identity, ApiStatus> {
        Ok(Identity { sight: Sight::of(&["team".to_owned()]), ..Identity::internal("ann") })
    }
}

/// Admits nobody.
struct Nobody;

impl Gate for Nobody {
    fn admit(&self, _: Need, _: &HeaderMap, _: Option<SocketAddr>) -> Result<Who, Refusal> {
        Err(Refusal { code: axum::http::StatusCode::FORBIDDEN, message: "nobody may".to_owned() })
    }
}

impl Server {
    async fn start() -> Self {
        Self::start_for(Arc::new(Everybody)).await
    }

    async fn start_for(authorizer: Arc<dyn Authorizer>) -> Self {
        let (published, reports) = watch::channel(Arc::new(Published::default()));
        let store = Arc::new(MemoryStore::new());
        let writer = Writer::new(store.clone(), Arc::new(AuditLog), "keyward-system", Origin::SYSTEM);
        writer.prepare().await.expect("the store is readable");
        let ads = keyward_xds::AdsService::new(keyward_xds::Cache::new(), |_| String::new());
        let workers = WorkersHandle::settled();
        let sync = Sync { workers: workers.clone(), ads, store: store.clone(), published: reports.clone() };
        let guard = HostGuard::Loopback;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = UsageFile::open(&folder.path().join("usage.db")).expect("a file");
        let uses = Uses { usage: Usage::new(file).expect("a new file"), published: reports.clone() };
        let served = Served { xds: keyward_xds::Cache::new(), gate: Arc::new(Nobody) };
        let logs = LogReader {
            logs: Logs::default(),
            levels: None,
            gate: Arc::new(Nobody),
            stop: CancellationToken::new(),
        };
        let (_, keys) = watch::channel(keyward_keys::KeyView::default());
        let own = Own { sync, uses, served, keys, logs };
        let router = router(writer, authorizer, reports, "keyward-system", guard, own);
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base: format!("http://{address}"), client: Client::new(), published, workers, _folder: folder }
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = self.client.get(format!("{}{path}", self.base));
        let response = request.send().await.expect("the server answers");
        (response.status(), response.text().await.expect("a whole body"))
    }

    async fn create(&self, name: &str) -> Value {
        let upstream = json!({
            "metadata": { "name": name },
            "spec": { "static": { "hosts": [{ "addr": "example.com", "port": 80 }] } },
        });
        let request = self.client.post(format!("{}{UPSTREAMS}", self.base)).json(&upstream);
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), StatusCode::CREATED);
        response.json().await.expect("JSON")
    }

    async fn read(&self, name: &str) -> Value {
        serde_json::from_str(&self.get(&format!("{UPSTREAMS}/{name}")).await.1).expect("JSON")
    }
}

#[tokio::test]
async fn a_status_shows_what_was_published_for_this_version_and_nothing_older() {
    let server = Server::start().await;
    let created = server.create("a").await;
    assert_eq!(created["status"]["state"], "Pending");
    let version: u64 =
        created["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    let mut reports = Reports::default();
    for name in ["a", "b"] {
        reports.warn(ObjectKey::new("Upstream", "team", name), "looks odd");
    }
    let published = Published { revision: Some(Revision(version)), reports, ..Published::default() };
    server.published.send_replace(Arc::new(published));
    let status = &server.read("a").await["status"];
    assert_eq!((&status["state"], &status["reason"]), (&json!("Warning"), &json!("looks odd")));
    assert_eq!(status["statuses"]["keyward-system"]["reportedBy"], "keyward");
    assert_eq!(server.create("b").await["status"]["state"], "Pending");
}

#[tokio::test]
async fn the_port_says_whether_the_server_is_well_and_ready() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await, (StatusCode::OK, "ok\n".to_owned()));
    assert_eq!(server.get("/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    let published = Published { revision: Some(Revision(0)), ..Published::default() };
    server.published.send_replace(Arc::new(published));
    assert_eq!(server.get("/readyz").await.0, StatusCode::OK);
    assert_eq!(server.get("/api/v1/namespaces/default").await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_root_lists_the_paths_beside_the_resources_too() {
    let server = Server::start().await;
    let (code, listed) = server.get("/").await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let paths: Vec<&str> =
        listed["paths"].as_array().expect("paths").iter().filter_map(Value::as_str).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    for path in [super::logs::PATH, super::sync::PATH, "/healthz", "/api/v1"] {
        assert!(code == StatusCode::OK && paths.contains(&path), "{path}: {code} {paths:?}");
    }
}

#[tokio::test]
async fn what_is_served_is_for_whoever_is_admitted() {
    let server = Server::start().await;
    let (code, status) = server.get("/keyward/v1/served?role=a~b").await;
    assert!(code == StatusCode::FORBIDDEN && status.contains("nobody may"), "{code} {status}");
}

#[tokio::test]
async fn every_answer_of_the_api_says_the_version_and_those_for_strangers_do_not() {
    let server = Server::start().await;
    for (path, says) in [(UPSTREAMS, true), ("/version", true), ("/nothing", true), ("/healthz", false)] {
        let answer = server.client.get(format!("{}{path}", server.base)).send().await.expect("an answer");
        let version = answer.headers().get("keyward-version").map(|version| version.to_str().expect("text"));
        assert_eq!(version, says.then_some(env!("CARGO_PKG_VERSION")), "{path}");
    }
    let refused = StatusCode::UNAUTHORIZED.into_response();
    assert!(super::version::say(refused).await.headers().is_empty());
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_reach_the_port() {
    let server = Server::start().await;
    for path in [UPSTREAMS, "/healthz", "/nothing"] {
        let request = server.client.get(format!("{}{path}", server.base)).header("host", "rebound.example");
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{path}");
    }
}

/// A worker that runs with other policies than everybody should.
fn old_worker(workers: &WorkersHandle, tables: &[&str]) {
    let holds = Holds { version: Version { revision: 1, checksum: 1 }, less: None };
    let subscribed = SessionEvent::Subscribed {
        node: "gateway".to_owned(),
        role: "a~b".to_owned(),
        worker: "w1".to_owned(),
        build: "0.1.0".to_owned(),
        config_version: 1,
        held: tables.iter().map(|table| ((*table).to_owned(), holds)).collect(),
    };
    workers.change(|workers, now| {
        let connection = workers.connect();
        workers.on_event(connection, &subscribed, now);
        workers.on_configs(1_000, BTreeMap::from([("a~b".to_owned(), 2)]));
        workers.on_reached(1_000);
        workers.on_routes(1_000);
    });
}

#[tokio::test]
async fn a_write_that_waits_says_in_headers_what_came_of_it() {
    let server = Server::start().await;
    let post = async |name: &str, query: &str| {
        let upstream = json!({
            "metadata": { "name": name },
            "spec": { "static": { "hosts": [{ "addr": "example.com", "port": 80 }] } },
        });
        let url = format!("{}{UPSTREAMS}{query}", server.base);
        server.client.post(url).json(&upstream).send().await.expect("the server answers")
    };
    let text = |response: &reqwest::Response, name: &str| {
        response.headers().get(name).map(|value| value.to_str().expect("text").to_owned())
    };
    let plain = post("a", "").await;
    assert_eq!(text(&plain, "keyward-synced"), None);
    let dry = post("b", "?wait=5s&dryRun=All").await;
    assert_eq!((dry.status(), text(&dry, "keyward-synced")), (StatusCode::CREATED, None));

    server.workers.change(|workers, _| {
        workers.on_reached(1_000);
        workers.on_routes(1_000);
    });
    let done = post("b", "?wait=5s").await;
    assert_eq!(done.status(), StatusCode::CREATED);
    assert_eq!(text(&done, "keyward-synced").as_deref(), Some("true"));
    assert_eq!(text(&done, "keyward-workers").as_deref(), Some("0"));
    assert_eq!(text(&done, "warning"), None);
    assert!(text(&done, "keyward-milliseconds").is_some_and(|value| value.parse::<u64>().is_ok()));
    let revision = text(&done, "keyward-revision");
    let created: Value = done.json().await.expect("JSON");
    assert_eq!(created["metadata"]["resourceVersion"].as_str(), revision.as_deref());

    // Too late is no failure of the write.
    old_worker(&server.workers, &[]);
    let late = post("c", "?wait=10ms").await;
    assert_eq!(late.status(), StatusCode::CREATED);
    assert_eq!(text(&late, "keyward-synced").as_deref(), Some("false"));
    assert_eq!(
        (text(&late, "keyward-workers"), text(&late, "keyward-confirmed")),
        (Some("1".into()), Some("0".into()))
    );
    let warning = text(&late, "warning").expect("a warning");
    assert!(
        warning.starts_with("299 - \"the change is made, but 1 of 1 workers have not confirmed"),
        "{warning}"
    );
    assert!(warning.contains("gateway/w1 runs with older policies"), "{warning}");
    let url = format!("{}{UPSTREAMS}/c?wait=10ms", server.base);
    let gone = server.client.delete(url).send().await.expect("the server answers");
    assert_eq!((gone.status(), text(&gone, "keyward-synced").as_deref()), (StatusCode::OK, Some("false")));

    let unclear = post("d", "?wait=soon").await;
    assert_eq!(unclear.status(), StatusCode::BAD_REQUEST);
    assert_eq!(server.get(&format!("{UPSTREAMS}/d")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(server.get(&format!("{UPSTREAMS}/a?wait=5s")).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_proof_names_who_holds_what() {
    let server = Server::start().await;
    server.workers.change(|workers, _| {
        workers.on_reached(1_000);
        workers.on_routes(1_000);
    });
    let (code, body) = server.get("/keyward/v1/sync?wait=5s").await;
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((code, &answer["synced"], &answer["workers"]), (StatusCode::OK, &json!(true), &json!(0)));

    old_worker(&server.workers, &[]);
    let (code, body) = server.get("/keyward/v1/sync").await;
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((code, &answer["kind"], &answer["synced"]), (StatusCode::OK, &json!("Sync"), &json!(false)));
    assert_eq!((&answer["workers"], &answer["confirmed"]), (&json!(1), &json!(0)));
    let proxy = &answer["proxies"][0];
    assert_eq!((&proxy["node"], &proxy["role"]), (&json!("gateway"), &json!("a~b")));
    let worker = &proxy["workers"][0];
    assert_eq!((&worker["name"], &worker["build"]), (&json!("w1"), &json!("0.1.0")));
    assert_eq!((&worker["state"], &worker["revision"]), (&json!("Behind"), &json!("1000")));
    assert_eq!(worker["policiesWanted"], "0000000000000002");
    assert_eq!(worker["lacks"], "gateway/w1 runs with older policies");

    let (code, body) = server.get("/keyward/v1/sync?wait=10ms").await;
    let status: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (code, &status["kind"], &status["reason"]),
        (StatusCode::GATEWAY_TIMEOUT, &json!("Status"), &json!("Timeout"))
    );
    assert_eq!(status["details"]["causes"][0]["message"], "gateway/w1 runs with older policies");
    assert_eq!(server.get("/keyward/v1/sync?revision=999999").await.0, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(server.get("/keyward/v1/sync?wiat=5s").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn whoever_is_connected_is_listed_with_what_it_lacks() {
    let server = Server::start().await;
    let ask = async || -> Value {
        let (code, body) = server.get("/keyward/v1/proxies").await;
        assert_eq!(code, StatusCode::OK, "{body}");
        serde_json::from_str(&body).expect("JSON")
    };
    let answer = ask().await;
    let control = &answer["components"][0];
    assert_eq!((&control["name"], &answer["proxies"]), (&json!("control"), &json!([])));
    assert_eq!(control["namespace"], "keyward-system");
    assert_eq!(control["version"], env!("CARGO_PKG_VERSION"));
    assert!(control["started"].as_str().is_some_and(|at| at.parse::<jiff::Timestamp>().is_ok()), "{control}");

    old_worker(&server.workers, &[]);
    let expected = json!([{
        "role": "a~b",
        "node": "gateway",
        "connected": false,
        "workers": {
            "total": 1,
            "synced": 0,
            "away": 0,
            "lagMilliseconds": 0,
            "builds": ["0.1.0"],
            "lacks": ["gateway/w1 runs with older policies"],
        },
        "types": [],
    }]);
    assert_eq!(ask().await["proxies"], expected);
    let posted = server.client.post(format!("{}/keyward/v1/proxies", server.base)).send().await;
    assert_eq!(posted.expect("the server answers").status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// Whoever may look at some namespaces alone is told numbers of all, and names of theirs.
#[tokio::test]
async fn nobody_is_told_names_of_namespaces_that_are_not_theirs() {
    for (authorizer, tells) in
        [(Arc::new(Everybody) as Arc<dyn Authorizer>, true), (Arc::new(OfTheTeam), false)]
    {
        let server = Server::start_for(authorizer).await;
        let created = server.create("a").await;
        let version: u64 = created["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .expect("a number");
        let mut reports = Reports::default();
        let reason = "Upstream team/b is fine, VirtualService other/site has the domain";
        reports.warn(ObjectKey::new("Upstream", "team", "a"), reason);
        let published = Published { revision: Some(Revision(version)), reports, ..Published::default() };
        server.published.send_replace(Arc::new(published));
        old_worker(&server.workers, &["other/keys", "team/keys"]);
        let waiting = format!("{}{UPSTREAMS}/a?wait=10ms", server.base);
        let mut answers = Vec::new();
        for path in ["/keyward/v1/proxies", "/keyward/v1/sync", "/keyward/v1/sync?wait=10ms"] {
            answers.push((path, server.get(path).await.1));
        }
        let listed = server.get(UPSTREAMS).await.1;
        assert!(listed.contains("Upstream team/b is fine"), "{listed}");
        assert_eq!(listed.contains("other/site"), tells, "{listed}");
        let deleted = server.client.delete(waiting).send().await.expect("the server answers");
        answers.push(("a write that waits", format!("{:?}", deleted.headers()["warning"])));
        for (path, answer) in answers {
            assert_eq!(answer.contains("gateway"), tells, "{path}: {answer}");
            assert_eq!(
                answer.contains("other/keys"),
                tells && path == "/keyward/v1/sync",
                "{path}: {answer}"
            );
            assert!(!path.contains("sync") || answer.contains("1 of 1 workers"), "{path}: {answer}");
        }
        let sync: Value = serde_json::from_str(&server.get("/keyward/v1/sync").await.1).expect("JSON");
        let worker = &sync["proxies"][0]["workers"][0];
        let tables: Vec<&String> = worker["tables"].as_object().expect("tables").keys().collect();
        assert_eq!(tables, if tells { vec!["other/keys", "team/keys"] } else { vec!["team/keys"] });
        assert_eq!((&worker["state"], &sync["workers"]), (&json!("Behind"), &json!(1)));
    }
}
