//! Port 19000 as a client sees it, over a socket, with an Envoy that is made up: it keeps levels and notes what
//! it is asked.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use futures::future::BoxFuture;
use keyward_admin::proxy::{HeaderLogging, Manner, ProxyAdmin, router};
use keyward_admin::{Gate, Need, Refusal, Who};
use reqwest::Client;
use tokio::net::TcpListener;

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lets those look who say so in a header, and those operate who say that.
struct Words;

/// An Envoy, as far as its admin goes.
#[derive(Default)]
struct Envoy {
    levels: Mutex<BTreeMap<String, String>>,
    asked: Mutex<Vec<String>>,
    is_away: Mutex<bool>,
}

struct Port {
    base: String,
    client: Client,
    envoy: Arc<Envoy>,
}

fn answer(code: u16, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

impl Gate for Words {
    fn admit(&self, need: Need, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, Refusal> {
        assert!(peer.is_some_and(|peer| peer.ip().is_loopback()), "the gate is told who asks: {peer:?}");
        match (need, headers.get("x-word").and_then(|word| word.to_str().ok()).unwrap_or("operate")) {
            (_, "operate") | (Need::Look, "look") => Ok(Who("somebody".to_owned())),
            (_, "look") => {
                Err(Refusal { code: StatusCode::FORBIDDEN, message: "the role admin is needed".to_owned() })
            }
            _ => Err(Refusal { code: StatusCode::UNAUTHORIZED, message: "who are you".to_owned() }),
        }
    }
}

impl Envoy {
    fn start() -> Self {
        let names = ["admin", "http", "rbac", "upstream"];
        let levels = names.map(|name| (name.to_owned(), "warning".to_owned())).into();
        Self { levels: Mutex::new(levels), ..Self::default() }
    }

    fn list(&self) -> String {
        let levels = self.levels.lock().unwrap();
        let lines: String = levels.iter().map(|(name, level)| format!("  {name}: {level}\n")).collect();
        format!("active loggers:\n{lines}\n")
    }

    fn set(&self, name: &str, level: &str) -> Response {
        let mut levels = self.levels.lock().unwrap();
        let pairs: Vec<(&str, &str)> = match name {
            "level" => levels.keys().map(|name| (name.as_str(), level)).collect(),
            "paths" => level.split(',').filter_map(|path| path.split_once(':')).collect(),
            _ => vec![(name, level)],
        };
        let known = ["trace", "debug", "info", "warning", "error", "critical", "off"];
        if pairs.iter().any(|(_, level)| !known.contains(level)) {
            return answer(400, "error: unknown logger level\n");
        }
        if pairs.iter().any(|(name, _)| !levels.contains_key(*name)) {
            return answer(400, "error: unknown logger name\n");
        }
        let pairs: Vec<(String, String)> =
            pairs.into_iter().map(|(name, level)| (name.to_owned(), level.to_owned())).collect();
        levels.extend(pairs);
        drop(levels);
        answer(200, self.list())
    }
}

impl ProxyAdmin for Envoy {
    fn send(&self, request: Request, changes: Option<Who>) -> BoxFuture<'_, Result<Response, String>> {
        Box::pin(async move {
            if *self.is_away.lock().unwrap() {
                return Err("the supervised envoy does not answer".to_owned());
            }
            let (head, body) = request.into_parts();
            assert!(head.uri.authority().is_none(), "{}", head.uri);
            assert!(head.headers.get("authorization").is_none() && head.headers.get("cookie").is_none());
            assert_eq!(head.headers.get("host").map(|host| host.as_bytes()), Some(b"localhost".as_slice()));
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let mark = if changes.is_some() { " !" } else { "" };
            let asked = format!("{} {} {}b{mark}", head.method, head.uri, body.len());
            self.asked.lock().unwrap().push(asked);
            let query = head.uri.query().unwrap_or_default();
            Ok(match (head.uri.path(), &head.method) {
                ("/logging", &Method::POST) if query.is_empty() => answer(200, self.list()),
                ("/logging", &Method::POST) => {
                    let (name, value) = query.split_once('=').unwrap();
                    let plain = |text: &str| text.replace("%3A", ":").replace("%2C", ",").replace("%5F", "_");
                    self.set(&plain(name), &plain(value))
                }
                ("/logging" | "/quitquitquit", &Method::GET) => {
                    answer(405, "Method GET not allowed, POST required.")
                }
                ("/unheard_of", _) => answer(404, "invalid path. admin commands are:\n"),
                ("/large", _) => answer(200, "x".repeat(3 << 20)),
                _ => answer(200, body),
            })
        })
    }
}

impl Port {
    async fn open(manner: Manner) -> Self {
        let envoy = Arc::new(Envoy::start());
        let router = router(envoy.clone(), Arc::new(Words), manner);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self { base, client: Client::builder().timeout(PATIENCE).build().unwrap(), envoy }
    }

    async fn ask(&self, method: Method, path: &str) -> (u16, String) {
        self.ask_as(method, path, "operate", "").await
    }

    async fn ask_as(&self, method: Method, path: &str, word: &str, form: &str) -> (u16, String) {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        request =
            request.header("x-word", word).header("authorization", "Bearer kwt_x").header("cookie", "a=b");
        if !form.is_empty() {
            request =
                request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.envoy.asked.lock().unwrap())
    }

    fn level(&self, name: &str) -> String {
        self.envoy.levels.lock().unwrap()[name].clone()
    }
}

#[tokio::test]
async fn everything_passes_as_it_is() {
    let port = Port::open(Manner::default()).await;
    for (method, path) in [
        (Method::GET, "/config_dump?include_eds"),
        (Method::POST, "/config_dump"),
        (Method::GET, "/stats?filter=a%20b&format=json"),
    ] {
        assert_eq!(port.ask(method.clone(), path).await, (200, String::new()));
        assert_eq!(port.asked(), [format!("{method} {path} 0b")]);
    }
    assert_eq!(port.ask(Method::POST, "/quitquitquit").await.0, 200);
    assert_eq!(port.ask_as(Method::POST, "/tap", "operate", "a body").await, (200, "a body".to_owned()));
    assert_eq!(port.asked(), ["POST /quitquitquit 0b !", "POST /tap 6b !"]);
    assert_eq!(port.ask(Method::GET, "/quitquitquit").await.0, 405);
    assert_eq!(port.ask(Method::GET, "/unheard_of").await.0, 404);
    assert_eq!(port.ask(Method::GET, "/large").await.1.len(), 3 << 20);
    port.asked();
    // What Envoy would take for another path than this port does.
    for path in ["//logging?level=debug", "/%6cogging?level=debug", "/logging/?level=debug"] {
        assert_eq!(port.ask(Method::POST, path).await.0, 404, "{path}");
    }
    assert!(port.asked().is_empty());
    *port.envoy.is_away.lock().unwrap() = true;
    assert_eq!(
        port.ask(Method::GET, "/ready").await,
        (503, "the supervised envoy does not answer\n".to_owned())
    );
}

#[tokio::test]
async fn loggers_are_listed_by_get_and_set_by_post() {
    let port = Port::open(Manner::default()).await;
    let (code, list) = port.ask(Method::GET, "/logging").await;
    assert!(code == 200 && list.contains("  upstream: warning\n"), "{code} {list}");
    assert_eq!(port.ask(Method::POST, "/logging").await, (200, list));
    assert_eq!(port.ask(Method::HEAD, "/logging").await, (200, String::new()));
    assert_eq!(port.ask(Method::GET, "/logging?level=debug").await.0, 405);
    assert_eq!(port.ask(Method::POST, "/logging?upstream=debug").await.0, 200);
    assert_eq!(port.level("upstream"), "debug");
    assert_eq!(port.ask(Method::POST, "/logging?level=error").await.0, 200);
    assert_eq!(port.level("http"), "error");
    let (code, why) = port.ask(Method::POST, "/logging?kafka=debug").await;
    assert!(code == 400 && why.contains("unknown logger name"), "{code} {why}");
    let (code, why) = port.ask(Method::POST, "/logging?level=loud").await;
    assert!(code == 400 && why.contains("unknown logger level"), "{code} {why}");
    let (code, why) = port.ask(Method::POST, "/logging?http=info&admin=info").await;
    assert!(code == 400 && why.contains("invalid number of parameters"), "{code} {why}");
    port.asked();
    assert_eq!(port.ask(Method::POST, "/logging?admin=info").await.0, 200);
    assert_eq!(port.asked(), ["POST /logging?admin=info 0b !"]);
}

#[tokio::test]
async fn who_writes_requests_stays_at_info_however_it_is_asked() {
    let port = Port::open(Manner::default()).await;
    for (path, form) in [
        ("/logging?level=debug", ""),
        ("/logging?%6Cevel=%64ebug", ""),
        ("/logging", "level=trace"),
        ("/logging?level=debug&", ""),
    ] {
        port.envoy.set("level", "warning");
        let (code, said) = port.ask_as(Method::POST, path, "operate", form).await;
        assert_eq!(code, 200, "{path} {form}: {said}");
        assert!(
            said.contains("note: these stay at info") && said.ends_with("included: http, rbac\n"),
            "{said}"
        );
        assert_eq!((port.level("http").as_str(), port.level("rbac").as_str()), ("info", "info"));
        assert!(matches!(port.level("upstream").as_str(), "debug" | "trace"));
    }
    // By its name it is what somebody wants, and is told what that means.
    let (code, said) = port.ask(Method::POST, "/logging?http=debug").await;
    assert!(code == 200 && said.contains("note: the logger http writes whole requests at debug"), "{said}");
    assert_eq!(port.level("http"), "debug");

    let port = Port::open(Manner { header_logging: HeaderLogging::Never, read_only: false }).await;
    port.envoy.set("level", "info");
    for (path, form) in [
        ("/logging?http=debug", ""),
        ("/logging?ht%74p=trace", ""),
        ("/logging?paths=upstream:debug,rbac:debug", ""),
        ("/logging", "http=debug"),
    ] {
        let (code, said) = port.ask_as(Method::POST, path, "operate", form).await;
        assert!(code == 403 && said.contains("--proxy-header-logging"), "{path} {form}: {code} {said}");
        assert_eq!((port.level("http").as_str(), port.level("rbac").as_str()), ("info", "info"));
    }
    assert_eq!(port.ask(Method::POST, "/logging?paths=upstream:trace,http:error").await.0, 200);
    assert_eq!((port.level("http").as_str(), port.level("upstream").as_str()), ("error", "trace"));

    let allowed = Port::open(Manner { header_logging: HeaderLogging::Always, read_only: false }).await;
    assert_eq!(allowed.ask(Method::POST, "/logging?http=debug").await.0, 200);
    assert_eq!(allowed.level("http"), "debug");
    assert_eq!(allowed.ask(Method::POST, "/logging?level=trace").await.0, 200);
    assert_eq!(allowed.level("rbac"), "trace");
}

#[tokio::test]
async fn a_read_only_port_changes_nothing_and_says_so() {
    let port = Port::open(Manner { read_only: true, header_logging: HeaderLogging::Always }).await;
    for path in ["/config_dump?include_eds", "/stats", "/ready", "/logging", "/"] {
        assert_eq!(port.ask(Method::GET, path).await.0, 200, "{path}");
    }
    for path in ["/config_dump", "/logging"] {
        assert_eq!(port.ask(Method::POST, path).await.0, 200, "{path}");
    }
    port.asked();
    for path in [
        "/quitquitquit",
        "/logging?level=info",
        "/logging?http=info",
        "/runtime_modify?a=b",
        "/healthcheck/fail",
        "/healthcheck/ok",
        "/drain_listeners?graceful",
        "/cpuprofiler?enable=y",
        "/heapprofiler?enable=y",
        "/reset_counters",
        "/reopen_logs",
        "/stats/recentlookups/enable",
        "/unheard_of",
    ] {
        let (code, why) = port.ask(Method::POST, path).await;
        assert!(code == 403 && why.contains("read-only"), "{path}: {code} {why}");
    }
    assert_eq!(port.ask_as(Method::POST, "/logging", "operate", "level=debug").await.0, 403);
    assert_eq!(port.ask(Method::DELETE, "/config_dump").await.0, 403);
    assert!(port.asked().is_empty());
}

#[tokio::test]
async fn who_may_look_sees_counts_and_who_may_not_sees_nothing() {
    let port = Port::open(Manner::default()).await;
    for (method, path, code) in [
        (Method::GET, "/stats/prometheus", 200),
        (Method::GET, "/logging", 200),
        (Method::POST, "/logging", 200),
        (Method::GET, "/config_dump", 403),
        (Method::GET, "/certs", 403),
        (Method::POST, "/logging?level=info", 403),
        (Method::POST, "/quitquitquit", 403),
        (Method::GET, "/unheard_of", 403),
    ] {
        assert_eq!(port.ask_as(method.clone(), path, "look", "").await.0, code, "{method} {path}");
        port.asked();
        assert_eq!(port.ask_as(method.clone(), path, "nobody", "").await.0, 401, "{method} {path}");
        assert!(port.asked().is_empty());
    }
    assert_eq!(port.ask_as(Method::POST, "/logging", "look", "level=info").await.0, 403);
}
