use std::io::Write;
use std::net::SocketAddr;
use std::sync::Mutex;

use axum::body::{Body, to_bytes};
use keyward_access::{Role, Token, TokenName, TokenRecord};
use keyward_api::{Api, Origin, Statuses, Writer};
use keyward_resource::Kind;
use keyward_store::{Key, MemoryStore, Revision};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

const LOCAL: &str = "127.0.0.1:5555";
const REMOTE: &str = "10.0.0.7:5555";
const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";
const SECRETS: &str = "/api/v1/namespaces/team/secrets";

struct NoStatuses;

impl Statuses for NoStatuses {
    fn status(&self, _: &'static Kind, _: &Key, _: Revision, _: &keyward_api::Stored) -> Option<Value> {
        None
    }
}

/// An API with tokens of each role, and its data folder.
struct Server {
    data: tempfile::TempDir,
    tokens: TokenFile,
    router: Router,
}

struct Asked<'a> {
    peer: &'a str,
    host: &'a str,
    token: Option<&'a str>,
}

fn token(name: &str) -> Token {
    Token::new(&[name.bytes().fold(0, u8::wrapping_add); 32])
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn upstream(name: &str) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
        "metadata": { "namespace": "team", "name": name },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 1 }] } },
    })
}

impl Server {
    async fn start(rules: Rules) -> Self {
        let data = tempfile::tempdir().unwrap();
        let tokens = TokenFile::new(data.path());
        for (name, role, namespaces) in [
            ("root", Role::Admin, &[][..]),
            ("ed", Role::Editor, &[]),
            ("view", Role::Viewer, &[]),
            ("team", Role::Editor, &["team"]),
            ("other", Role::Admin, &["other"]),
        ] {
            let record = TokenRecord {
                name: TokenName::new(name).unwrap(),
                role,
                namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
                digest: token(name).digest(),
                created: now(),
                expires: None,
            };
            tokens.change(|book| book.add(record)).unwrap();
        }
        let origin = Origin { now, uid: uuid::Uuid::new_v4 };
        let writer = Writer::new(Arc::new(MemoryStore::new()), Arc::new(AuditLog), "keyward-system", origin);
        writer.prepare().await.unwrap();
        let gatekeeper = Gatekeeper { now, ..Gatekeeper::new(rules, TokenFile::new(data.path())) };
        let api = Api::new(writer, Arc::new(NoStatuses), Arc::new(gatekeeper.clone())).router();
        Self { data, tokens, router: guarded(api, &gatekeeper) }
    }

    async fn send(&self, asked: &Asked<'_>, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (code, _, body) = self.send_fully(asked, method, path, body).await;
        (code, body)
    }

    async fn send_fully(
        &self,
        asked: &Asked<'_>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, HeaderMap, Value) {
        let mut request = axum::http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", asked.host)
            .header("content-type", "application/json");
        if let Some(token) = asked.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut request = request.body(body).unwrap();
        let peer: SocketAddr = asked.peer.parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (code, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (code, headers, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn code(&self, name: &str, method: &str, path: &str, body: Option<&Value>) -> u16 {
        let token = token(name);
        let asked = Asked { peer: REMOTE, host: "control.example", token: Some(token.reveal()) };
        self.send(&asked, method, path, body).await.0
    }
}

/// What is logged meanwhile, of the audit log only.
async fn audited(act: impl Future<Output = ()>) -> Vec<String> {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .without_time()
        .finish();
    // With a single subscriber, a line that another test comes to first would be silent for all: only
    // that test's thread would be asked, and it has none.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    let guard = tracing::subscriber::set_default(subscriber);
    act.await;
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().filter(|line| line.contains("keyward::audit")).map(str::to_owned).collect()
}

#[tokio::test]
async fn each_role_may_what_it_is_for() {
    let server = Server::start(Rules::OffLoopback).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": "alice" }, "stringData": { "api-key": "alice-key" },
    });
    let one = format!("{UPSTREAMS}/a");
    let watch = format!("{SECRETS}?watch=true&timeoutSeconds=1");
    for (name, method, path, body, expected) in [
        ("view", "POST", UPSTREAMS, Some(upstream("a")), 403),
        ("other", "POST", UPSTREAMS, Some(upstream("a")), 403),
        ("team", "POST", UPSTREAMS, Some(upstream("a")), 201),
        ("ed", "POST", UPSTREAMS, Some(upstream("b")), 201),
        ("view", "GET", UPSTREAMS, None, 200),
        ("view", "GET", &one, None, 200),
        ("view", "DELETE", &one, None, 403),
        ("team", "GET", "/apis/service.keyward.io/v1/upstreams", None, 403),
        ("view", "GET", "/apis/service.keyward.io/v1/upstreams", None, 200),
        ("view", "GET", SECRETS, None, 403),
        ("ed", "GET", SECRETS, None, 403),
        ("ed", "GET", &watch, None, 403),
        ("team", "POST", SECRETS, Some(secret.clone()), 403),
        ("other", "GET", SECRETS, None, 403),
        ("root", "POST", SECRETS, Some(secret), 201),
        ("root", "GET", SECRETS, None, 200),
        ("view", "GET", "/version", None, 200),
        ("nobody", "GET", "/version", None, 401),
        ("team", "DELETE", UPSTREAMS, None, 200),
    ] {
        assert_eq!(server.code(name, method, path, body.as_ref()).await, expected, "{name} {method} {path}");
    }
}

#[tokio::test]
async fn without_a_token_only_this_machine_comes_in_and_only_by_its_name() {
    let server = Server::start(Rules::OffLoopback).await;
    for (peer, host, expected) in [
        (LOCAL, "127.0.0.1:9080", 200),
        (LOCAL, "localhost", 200),
        ("[::1]:1", "[::1]:9080", 200),
        ("[::ffff:127.0.0.1]:1", "localhost", 200),
        (LOCAL, "rebound.example", 401),
        (REMOTE, "localhost", 401),
        ("[::ffff:10.0.0.7]:1", "localhost", 401),
    ] {
        let asked = Asked { peer, host, token: None };
        assert_eq!(server.send(&asked, "GET", SECRETS, None).await.0, expected, "{peer} {host}");
    }
    let strict = Server::start(Rules::Everybody).await;
    let asked = Asked { peer: LOCAL, host: "localhost", token: None };
    let (code, headers, body) = strict.send_fully(&asked, "GET", SECRETS, None).await;
    assert_eq!((code, &headers[WWW_AUTHENTICATE]), (401, &HeaderValue::from_static("Bearer")));
    assert_eq!((&body["kind"], &body["reason"]), (&json!("Status"), &json!("Unauthorized")));
    let open = Server::start(Rules::Nobody).await;
    let asked = Asked { peer: REMOTE, host: "control.example", token: None };
    assert_eq!(open.send(&asked, "GET", SECRETS, None).await.0, 200);
}

#[tokio::test]
async fn a_request_of_unknown_origin_comes_from_elsewhere() {
    let server = Server::start(Rules::OffLoopback).await;
    let request = axum::http::Request::builder().uri(UPSTREAMS).body(Body::empty()).unwrap();
    let response = server.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn two_credentials_are_none() {
    let server = Server::start(Rules::OffLoopback).await;
    let bearer = format!("Bearer {}", token("root").reveal());
    let mut request = axum::http::Request::builder().uri(UPSTREAMS);
    for value in [&bearer, &bearer] {
        request = request.header("authorization", value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(LOCAL.parse::<SocketAddr>().unwrap()));
    assert_eq!(server.router.clone().oneshot(request).await.unwrap().status(), 401);
}

#[tokio::test]
async fn tokens_come_and_go_while_the_server_runs() {
    let server = Server::start(Rules::OffLoopback).await;
    assert_eq!(server.code("late", "GET", UPSTREAMS, None).await, 401);
    let record = TokenRecord {
        name: TokenName::new("late").unwrap(),
        role: Role::Viewer,
        namespaces: Vec::new(),
        digest: token("late").digest(),
        created: now(),
        expires: None,
    };
    server.tokens.change(|book| book.add(record)).unwrap();
    assert_eq!(server.code("late", "GET", UPSTREAMS, None).await, 200);
    server.tokens.change(|book| book.remove("late")).unwrap();
    assert_eq!(server.code("late", "GET", UPSTREAMS, None).await, 401);
}

#[tokio::test]
async fn when_the_tokens_cannot_be_read_no_token_opens_anything() {
    let server = Server::start(Rules::OffLoopback).await;
    assert_eq!(server.code("root", "GET", SECRETS, None).await, 200);
    std::fs::write(server.data.path().join("tokens.json"), "{").unwrap();
    assert_eq!(server.code("root", "GET", SECRETS, None).await, 500);
    let asked = Asked { peer: LOCAL, host: "localhost", token: None };
    assert_eq!(server.send(&asked, "GET", SECRETS, None).await.0, 200);
}

#[tokio::test]
async fn every_change_and_every_refusal_is_a_line() {
    let server = Server::start(Rules::OffLoopback).await;
    let (ed, view) = (token("ed"), token("view"));
    let ed = Asked { peer: REMOTE, host: "h", token: Some(ed.reveal()) };
    let view = Asked { peer: REMOTE, host: "h", token: Some(view.reveal()) };
    let nobody = Asked { peer: REMOTE, host: "h", token: None };
    let here = Asked { peer: LOCAL, host: "localhost", token: None };
    let (one, dry) = (format!("{UPSTREAMS}/a"), format!("{UPSTREAMS}?dryRun=All"));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": "alice" }, "stringData": { "api-key": "alice-key-value" },
    });
    let lines = audited(async {
        assert_eq!(server.send(&ed, "POST", &dry, Some(&upstream("a"))).await.0, 201);
        assert_eq!(server.send(&ed, "POST", UPSTREAMS, Some(&upstream("a"))).await.0, 201);
        assert_eq!(server.send(&ed, "POST", UPSTREAMS, Some(&upstream("a"))).await.0, 409);
        assert_eq!(server.send(&view, "DELETE", &one, None).await.0, 403);
        assert_eq!(server.send(&nobody, "DELETE", &one, None).await.0, 401);
        assert_eq!(server.send(&view, "GET", SECRETS, None).await.0, 403);
        assert_eq!(server.send(&here, "POST", SECRETS, Some(&secret)).await.0, 201);
        assert_eq!(server.send(&here, "DELETE", &one, None).await.0, 200);
    })
    .await;
    let about = |line: &str, parts: &[&str]| {
        assert!(parts.iter().all(|part| line.contains(part)), "{line} lacks one of {parts:?}");
    };
    let of_upstream: Vec<_> = lines.iter().filter(|line| !line.contains("kind=\"Namespace\"")).collect();
    let expected: [&[&str]; 7] = [
        &["not changed who=\"token:ed\"", "method=\"POST\"", "dry_run=true", "code=201"],
        &["changed who=\"token:ed\" from=\"10.0.0.7:5555\" verb=\"create\" kind=\"Upstream\"", "name=\"a\""],
        &["not changed who=\"token:ed\"", "dry_run=false", "code=409"],
        &["not changed who=\"token:view\"", "method=\"DELETE\"", "upstreams/a\"", "code=403"],
        &["not changed who=\"unknown\" from=\"10.0.0.7:5555\"", "code=401"],
        &["changed who=\"loopback\"", "kind=\"Secret\" namespace=\"team\" name=\"alice\" resource_version="],
        &["changed who=\"loopback\"", "verb=\"delete\"", "name=\"a\""],
    ];
    assert_eq!(of_upstream.len(), expected.len(), "{lines:#?}");
    for (line, parts) in of_upstream.iter().zip(expected) {
        about(line, parts);
    }
    let all = lines.concat();
    assert!(!all.contains("alice-key-value") && !all.contains("kwt_"), "{all}");
}
