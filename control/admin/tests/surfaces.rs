//! The ports as a client sees them, over a socket. What they show is made up here.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use futures::future::{BoxFuture, ready};
use keyward_admin::debug::{Change, Debug, Levels, Logging, Metrics};
use keyward_admin::snapshots::{Snapshot, Snapshots};
use keyward_admin::{Failure, Gate, Need, Refusal, Shown, Who, debug, dev, snapshots};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lets those look who say so in a header, and those operate who say that.
struct Words;

struct Sample;

struct Levelled(Mutex<Levels>);

struct Port {
    base: String,
    client: Client,
}

impl Gate for Words {
    fn admit(&self, need: Need, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, Refusal> {
        assert!(peer.is_some_and(|peer| peer.ip().is_loopback()), "the gate is told who asks: {peer:?}");
        let word = headers.get("x-word").and_then(|word| word.to_str().ok()).unwrap_or("operate");
        match (need, word) {
            (_, "operate") | (Need::Look, "look") => Ok(Who(word.to_owned())),
            (_, "look") => {
                Err(Refusal { code: StatusCode::FORBIDDEN, message: "the role admin is needed".to_owned() })
            }
            _ => Err(Refusal { code: StatusCode::UNAUTHORIZED, message: "who are you".to_owned() }),
        }
    }
}

impl Snapshots for Sample {
    fn take(&self, which: Snapshot) -> BoxFuture<'_, Result<Shown, Failure>> {
        Box::pin(ready(match which {
            Snapshot::Proxies => Err(Failure::Unavailable("nothing is translated yet".to_owned())),
            Snapshot::Keys => Err(Failure::Internal("it is broken".to_owned())),
            which => Ok(Shown { status: "revision 7".to_owned(), data: json!(format!("{which:?}")) }),
        }))
    }

    fn roles(&self) -> Vec<String> {
        vec!["a~one".to_owned(), "b~two".to_owned()]
    }

    fn xds_of(&self, role: &str) -> Result<Shown, Failure> {
        match role {
            "a~one" => Ok(Shown { status: "version 1".to_owned(), data: json!(["one"]) }),
            _ => Err(Failure::NotFound(format!("there is no role {role:?}"))),
        }
    }
}

impl Logging for Levelled {
    fn levels(&self) -> Levels {
        self.0.lock().unwrap().clone()
    }

    fn change(&self, change: &Change, who: &str) -> Result<Levels, String> {
        assert_eq!(who, "operate");
        let mut levels = self.0.lock().unwrap();
        if let Some(level) = change.level {
            levels.level = level.as_str().to_owned();
        }
        for (target, level) in &change.targets {
            match level {
                Some(level) => levels.targets.insert(target.clone(), level.as_str().to_owned()),
                None => levels.targets.remove(target),
            };
        }
        Ok(levels.clone())
    }
}

impl Metrics for Sample {
    fn text(&self) -> Result<String, String> {
        Ok("# EOF\n".to_owned())
    }
}

fn debug_port(with_snapshots: bool) -> Router {
    let levels = Levels { level: "info".to_owned(), targets: Default::default() };
    let sample: Arc<dyn Snapshots> = Arc::new(Sample);
    let debug = Debug {
        logging: Arc::new(Levelled(Mutex::new(levels))),
        metrics: Arc::new(Sample),
        snapshots: with_snapshots.then_some(sample),
    };
    let gate: Arc<dyn Gate> = Arc::new(Words);
    debug::router(&debug, &gate)
}

fn snapshots_port() -> Router {
    let (sample, gate): (Arc<dyn Snapshots>, Arc<dyn Gate>) = (Arc::new(Sample), Arc::new(Words));
    snapshots::router(&sample, &gate)
}

fn dev_port() -> Router {
    let (sample, gate): (Arc<dyn Snapshots>, Arc<dyn Gate>) = (Arc::new(Sample), Arc::new(Words));
    dev::router(&sample, &gate, "http://127.0.0.1:9095/")
}

// === impl Port ===

impl Port {
    async fn open(router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { base, client: Client::builder().timeout(PATIENCE).build().unwrap() }
    }

    async fn send(&self, method: &str, path: &str, word: &str, body: &str) -> Response {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base)).header("x-word", word);
        request.body(body.to_owned()).send().await.unwrap()
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        Self::read(self.send("GET", path, "operate", "").await).await
    }

    async fn put(&self, path: &str, body: &str) -> (u16, Value) {
        Self::read(self.send("PUT", path, "operate", body).await).await
    }

    async fn read(response: Response) -> (u16, Value) {
        let code = response.status().as_u16();
        let text = response.text().await.unwrap();
        (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}

#[tokio::test]
async fn the_index_lists_every_endpoint_in_a_line() {
    let expected = [
        (debug_port(false), vec!["/logging", "/metrics"]),
        (debug_port(true), vec!["/logging", "/metrics", "/snapshots/input", "/snapshots/keys"]),
        (snapshots_port(), vec!["/snapshots/edge", "/snapshots/proxies", "/snapshots/xds"]),
        (dev_port(), vec!["/xds", "/xds/{key}", "/api"]),
    ];
    for (router, paths) in expected {
        let port = Port::open(router).await;
        let response = port.send("GET", "/", "look", "").await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/plain; charset=utf-8".parse().unwrap())
        );
        let text = response.text().await.unwrap();
        for path in paths {
            assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some(path)), "{path}: {text}");
        }
        let html = port
            .client
            .get(format!("{}/", port.base))
            .header("accept", "text/html,*/*")
            .send()
            .await
            .unwrap();
        assert!(html.text().await.unwrap().starts_with("<!doctype html>"));
    }
    let (_, text) = Port::open(debug_port(false)).await.get("/").await;
    assert!(!text.as_str().unwrap().contains("/snapshots"), "{text}");
}

#[tokio::test]
async fn levels_are_read_and_set() {
    let port = Port::open(debug_port(false)).await;
    assert_eq!(port.get("/logging").await, (200, json!({ "level": "info", "targets": {} })));
    for level in ["debug", "info", "warn", "error", "trace", "DEBUG"] {
        let (code, now) = port.put("/logging", &json!({ "level": level }).to_string()).await;
        assert_eq!((code, &now["level"]), (200, &json!(level.to_lowercase())));
    }
    let (code, now) = port.put("/logging", r#"{"targets":{"keyward_server::control":"trace"}}"#).await;
    assert_eq!(
        (code, now),
        (200, json!({ "level": "debug", "targets": { "keyward_server::control": "trace" } }))
    );
    let (code, now) =
        port.put("/logging", r#"{"level":"warn","targets":{"keyward_server::control":null}}"#).await;
    assert_eq!((code, now), (200, json!({ "level": "warn", "targets": {} })));
}

#[tokio::test]
async fn bad_levels_are_refused_with_those_that_are_accepted() {
    let port = Port::open(debug_port(false)).await;
    for body in [
        "",
        "x",
        "[]",
        "{}",
        "\"debug\"",
        r#"{"level":"loud"}"#,
        r#"{"level":""}"#,
        r#"{"level":4}"#,
        r#"{"level":null}"#,
        r#"{"level":"debug","x":1}"#,
        r#"{"targets":{"a":"loud"}}"#,
    ] {
        let (code, answer) = port.put("/logging", body).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(code == 400 && error.contains("debug, info, warn, error, trace"), "{body}: {code} {answer}");
    }
    for body in [r#"{"targets":[]}"#, r#"{"targets":{"a=b,c":"info"}}"#, r#"{"targets":{"":"info"}}"#] {
        let (code, answer) = port.put("/logging", body).await;
        assert!(code == 400 && answer["error"].is_string(), "{body}: {code} {answer}");
    }
    assert_eq!(port.get("/logging").await.1["level"], "info");
}

#[tokio::test]
async fn snapshots_come_in_the_envelope() {
    let port = Port::open(snapshots_port()).await;
    for (path, which) in
        [("/snapshots/input", "Input"), ("/snapshots/edge", "Edge"), ("/snapshots/xds", "Xds")]
    {
        assert_eq!(port.get(path).await, (200, json!({ "status": "revision 7", "data": which })));
    }
    let failed = |why: &str| json!({ "status": "failed", "data": null, "error": why });
    assert_eq!(port.get("/snapshots/proxies").await, (503, failed("nothing is translated yet")));
    assert_eq!(port.get("/snapshots/keys?pretty").await, (500, failed("it is broken")));
    let lines =
        async |path: &str| port.send("GET", path, "operate", "").await.text().await.unwrap().lines().count();
    assert_eq!((lines("/snapshots/input").await, lines("/snapshots/input?pretty").await), (1, 4));
}

#[tokio::test]
async fn snapshots_are_on_the_debug_port_only_where_they_are_wanted() {
    assert_eq!(Port::open(debug_port(false)).await.get("/snapshots/input").await.0, 404);
    assert_eq!(Port::open(debug_port(true)).await.get("/snapshots/input").await.0, 200);
}

#[tokio::test]
async fn dev_mode_shows_roles_their_snapshots_and_the_objects_and_calls_itself_deprecated() {
    let port = Port::open(dev_port()).await;
    assert_eq!(port.get("/xds").await.1["data"], json!(["a~one", "b~two"]));
    assert_eq!(port.get("/xds/a~one").await.1["data"], json!(["one"]));
    assert_eq!(port.get("/xds/a%7Eone").await.0, 200);
    assert_eq!(port.get("/api").await.1["data"], "Input");
    let (code, answer) = port.get("/xds/nobody").await;
    assert!(code == 404 && answer["error"].as_str().unwrap().contains("nobody"), "{answer}");
    for (method, path) in
        [("GET", "/"), ("GET", "/xds"), ("GET", "/xds/nobody"), ("GET", "/x"), ("POST", "/api")]
    {
        let response = port.send(method, path, "operate", "").await;
        assert_eq!(response.headers()["deprecation"], "@1795219200", "{method} {path}");
        assert_eq!(response.headers()["link"], "<http://127.0.0.1:9095/>; rel=\"successor-version\"");
    }
}

#[tokio::test]
async fn wrong_methods_and_parameters_are_refused() {
    for (router, paths) in [
        (
            debug_port(true),
            vec![
                ("/", "GET,HEAD"),
                ("/logging", "GET,HEAD,PUT"),
                ("/metrics", "GET,HEAD"),
                ("/snapshots/keys", "GET,HEAD"),
            ],
        ),
        (snapshots_port(), vec![("/", "GET,HEAD"), ("/snapshots/input", "GET,HEAD")]),
        (
            dev_port(),
            vec![("/", "GET,HEAD"), ("/xds", "GET,HEAD"), ("/xds/a~one", "GET,HEAD"), ("/api", "GET,HEAD")],
        ),
    ] {
        let port = Port::open(router).await;
        for (path, methods) in paths {
            for method in ["POST", "DELETE", "PATCH"] {
                let response = port.send(method, path, "operate", "").await;
                assert_eq!(response.status(), 405, "{method} {path}");
                let allow = response.headers().get("allow").map(|allow| allow.to_str().unwrap().to_owned());
                assert_eq!(allow.as_deref(), Some(methods), "{method} {path}");
                let (_, answer) = Port::read(response).await;
                assert!(answer["error"].is_string(), "{method} {path}: {answer}");
            }
            for query in ["pretty=maybe", "prety", "level=debug"] {
                let (code, answer) = port.get(&format!("{path}?{query}")).await;
                assert!(code == 400 && answer["error"].is_string(), "{path}?{query}: {code} {answer}");
            }
        }
        let (code, answer) = port.get("/nothing").await;
        assert!(code == 404 && answer["error"].is_string(), "{answer}");
    }
}

#[tokio::test]
async fn data_and_changes_need_an_operator() {
    for (router, open, closed) in [
        (debug_port(true), vec!["/", "/logging", "/metrics"], vec!["/snapshots/input", "/snapshots/keys"]),
        (
            snapshots_port(),
            vec!["/"],
            vec!["/snapshots/input", "/snapshots/edge", "/snapshots/proxies", "/snapshots/xds"],
        ),
        (dev_port(), vec!["/"], vec!["/xds", "/xds/a~one", "/api"]),
    ] {
        let port = Port::open(router).await;
        for path in open.iter().chain(&closed) {
            let code = port.send("GET", path, "nobody", "").await.status();
            assert_eq!(code, 401, "{path}");
            let expected = if open.contains(path) { 200 } else { 403 };
            let response = port.send("GET", path, "look", "").await;
            assert_eq!(response.status(), expected, "{path}");
        }
    }
    let port = Port::open(debug_port(false)).await;
    let (code, answer) = Port::read(port.send("PUT", "/logging", "look", r#"{"level":"trace"}"#).await).await;
    assert!(code == 403 && answer["error"].is_string(), "{answer}");
    assert_eq!(port.get("/logging").await.1["level"], "info");
}

#[tokio::test]
async fn metrics_say_that_they_are_open_metrics() {
    let port = Port::open(debug_port(false)).await;
    let response = port.send("GET", "/metrics", "look", "").await;
    assert_eq!(
        response.headers()["content-type"],
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert_eq!(response.text().await.unwrap(), "# EOF\n");
}
