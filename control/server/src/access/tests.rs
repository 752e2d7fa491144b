use std::io::Write;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use futures::StreamExt as _;
use keyward_access::{Role, Token, TokenBook, TokenName, TokenRecord};
use keyward_api::{Api, Origin, Statuses, Writer};
use keyward_resource::Kind;
use keyward_store::{Key, MemoryStore, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

use super::*;

const LOCAL: &str = "127.0.0.1:5555";
const REMOTE: &str = "10.0.0.7:5555";
const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";
const SECRETS: &str = "/api/v1/namespaces/team/secrets";
/// How long to wait for what must come. Generous: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Within this time a watch is looked at again.
const CHECKED_WITHIN: Duration = Duration::from_millis(500);

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

impl Asked<'_> {
    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Request {
        let mut request = axum::http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.host)
            .header("content-type", "application/json");
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut request = request.body(body).unwrap();
        let peer: SocketAddr = self.peer.parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    }
}

impl Server {
    async fn start(rules: Rules) -> Self {
        let server = Self::without_tokens(rules).await;
        for (name, role, namespaces) in [
            ("root", Role::Admin, &[][..]),
            ("ed", Role::Editor, &[]),
            ("view", Role::Viewer, &[]),
            ("team", Role::Editor, &["team"]),
            ("other", Role::Admin, &["other"]),
        ] {
            server.add_token(name, role, namespaces);
        }
        server
    }

    async fn without_tokens(rules: Rules) -> Self {
        let data = tempfile::tempdir().unwrap();
        let tokens = TokenFile::new(data.path());
        let origin = Origin { now, uid: uuid::Uuid::new_v4 };
        let writer = Writer::new(Arc::new(MemoryStore::new()), Arc::new(AuditLog), "keyward-system", origin);
        writer.prepare().await.unwrap();
        let gatekeeper = Gatekeeper { now, ..Gatekeeper::new(rules, TokenFile::new(data.path())) };
        let api = Api::new(writer, Arc::new(NoStatuses), Arc::new(gatekeeper.clone())).router();
        Self { data, tokens, router: guarded(api, &gatekeeper, Port::Rest) }
    }

    fn add_token(&self, name: &str, role: Role, namespaces: &[&str]) {
        let record = TokenRecord {
            name: TokenName::new(name).unwrap(),
            role,
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            digest: token(name).digest(),
            created: now(),
            expires: None,
        };
        self.tokens.change(|book| book.add(record)).unwrap();
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
        let request = asked.request(method, path, body);
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
    let server = Server::without_tokens(Rules::OffLoopback).await;
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
    server.add_token("view", Role::Viewer, &[]);
    let asked = Asked { peer: LOCAL, host: "localhost", token: None };
    assert_eq!(server.send(&asked, "GET", SECRETS, None).await.0, 401, "there is a token");
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
    server.add_token("late", Role::Viewer, &[]);
    assert_eq!(server.code("late", "GET", UPSTREAMS, None).await, 200);
    server.tokens.change(|book| book.remove("late")).unwrap();
    assert_eq!(server.code("late", "GET", UPSTREAMS, None).await, 401);
}

#[tokio::test]
async fn a_watch_ends_with_the_right_to_it() {
    type Meanwhile = fn(&mut TokenBook);
    let cases: [(&str, &str, Meanwhile, Option<u16>); 4] = [
        ("its token is deleted", UPSTREAMS, |book| drop(book.remove("temp")), Some(401)),
        ("its token gets a role that is not enough", SECRETS, |book| regrade(book, Role::Editor), Some(403)),
        ("its token gets a role that is enough", UPSTREAMS, |book| regrade(book, Role::Viewer), None),
        ("another token is deleted", UPSTREAMS, |book| drop(book.remove("view")), None),
    ];
    for (case, path, meanwhile, expected) in cases {
        let server = Server::start(Rules::OffLoopback).await;
        server.add_token("temp", Role::Admin, &[]);
        let secret = token("temp");
        let asked = Asked { peer: LOCAL, host: "localhost", token: Some(secret.reveal()) };
        // Without an end of its own: it must not be taken for the other one.
        let watch = format!("{path}?watch=true&timeoutSeconds=600&resourceVersion=1");
        let response = server.router.clone().oneshot(asked.request("GET", &watch, None)).await.unwrap();
        assert_eq!(response.status(), 200, "{case}");
        let mut lines = response.into_body().into_data_stream();
        let change = |book: &mut TokenBook| {
            meanwhile(book);
            Ok(())
        };
        server.tokens.change(change).unwrap();
        // What is told afterwards is seen by those alone who still may.
        let limit = if expected.is_some() { PATIENCE } else { 4 * CHECKED_WITHIN };
        let line = tokio::time::timeout(limit, lines.next()).await;
        let Some(code) = expected else {
            assert!(line.is_err(), "{case}: {line:?}");
            assert_eq!(server.code("root", "POST", UPSTREAMS, Some(&upstream("a"))).await, 201);
            let line = tokio::time::timeout(PATIENCE, lines.next()).await.expect("in time").unwrap().unwrap();
            let event: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(event["type"], "ADDED", "{case}: {event}");
            continue;
        };
        let line = line.expect("in time").expect("a line").unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(code)),
            "{case}: {event}"
        );
        let end = tokio::time::timeout(PATIENCE, lines.next()).await.expect("in time");
        assert!(end.is_none(), "{case}: {end:?}");
    }
}

/// Gives the token `temp` another role.
fn regrade(book: &mut TokenBook, role: Role) {
    let mut record = book.records().iter().find(|record| record.name.as_str() == "temp").unwrap().clone();
    record.role = role;
    book.remove("temp").unwrap();
    book.add(record).unwrap();
}

#[tokio::test]
async fn a_watch_without_a_token_ends_when_there_are_tokens() {
    let server = Server::without_tokens(Rules::OffLoopback).await;
    let asked = Asked { peer: LOCAL, host: "localhost", token: None };
    let watch = format!("{SECRETS}?watch=true&timeoutSeconds=600");
    let response = server.router.clone().oneshot(asked.request("GET", &watch, None)).await.unwrap();
    assert_eq!(response.status(), 200);
    server.add_token("view", Role::Viewer, &[]);
    let mut lines = response.into_body().into_data_stream();
    let line = tokio::time::timeout(PATIENCE, lines.next()).await.expect("in time").unwrap().unwrap();
    let event: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(401)), "{event}");
}

#[tokio::test]
async fn a_namespace_takes_its_secrets_only_where_they_may_be_deleted() {
    let server = Server::start(Rules::OffLoopback).await;
    let team = "/api/v1/namespaces/team";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": "alice" }, "stringData": { "api-key": "alice-key" },
    });
    assert_eq!(server.code("ed", "POST", UPSTREAMS, Some(&upstream("a"))).await, 201);
    assert_eq!(server.code("ed", "DELETE", team, None).await, 200, "there are none");
    assert_eq!(server.code("root", "POST", SECRETS, Some(&secret)).await, 201);
    let (ed, all) = (token("ed"), "/api/v1/namespaces?labelSelector=kubernetes.io%2Fmetadata.name%3Dteam");
    let ed = Asked { peer: REMOTE, host: "h", token: Some(ed.reveal()) };
    for path in [team, all, "/api/v1/namespaces/team?dryRun=All"] {
        let (code, answer) = server.send(&ed, "DELETE", path, None).await;
        assert_eq!(code, 403, "{path}: {answer}");
        assert_eq!(
            answer["message"],
            "namespaces \"team\" is forbidden: it holds Secrets, which would go with it: the token ed cannot \
             deletecollection secrets in the namespace \"team\": its role is editor, and Secrets need the \
             role admin"
        );
    }
    let (code, answer) = server.send(&ed, "GET", team, None).await;
    assert_eq!((code, &answer["status"]["phase"]), (200, &json!("Active")));
    assert_eq!(server.code("root", "GET", &format!("{SECRETS}/alice"), None).await, 200);
    assert_eq!(server.code("root", "DELETE", team, None).await, 200);
    assert_eq!(server.code("root", "GET", &format!("{SECRETS}/alice"), None).await, 404);
}

#[tokio::test]
async fn when_the_tokens_cannot_be_read_no_token_opens_anything() {
    let server = Server::start(Rules::OffLoopback).await;
    assert_eq!(server.code("root", "GET", SECRETS, None).await, 200);
    std::fs::write(server.data.path().join("tokens.json"), "{").unwrap();
    assert_eq!(server.code("root", "GET", SECRETS, None).await, 500);
    let asked = Asked { peer: LOCAL, host: "localhost", token: None };
    assert_eq!(server.send(&asked, "GET", SECRETS, None).await.0, 500);
}

#[tokio::test]
async fn the_authority_of_a_request_comes_before_its_host_header() {
    let server = Server::without_tokens(Rules::OffLoopback).await;
    for (authority, host, expected) in [
        ("localhost:9080", None, 200),
        ("[::1]:9080", None, 200),
        ("rebound.example:9080", None, 401),
        ("rebound.example", Some("localhost"), 401),
        ("localhost", Some("rebound.example"), 200),
    ] {
        let request = axum::http::Request::builder().uri(format!("http://{authority}{SECRETS}"));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(LOCAL.parse::<SocketAddr>().unwrap()));
        let response = server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), expected, "{authority} {host:?}");
    }
}

/// A client of a gateway may ask for an upgrade and then say, as if it were the other protocol, a request
/// that has no mark.
#[tokio::test]
async fn nobody_speaks_after_a_gateway_on_its_connection() {
    let server = Server::without_tokens(Rules::OffLoopback).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = server.router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await });
    for (headers, answers) in [
        ("", 2),
        ("x-keyward-gateway: 1\r\n", 1),
        ("connection: upgrade\r\nupgrade: websocket\r\n", 1),
        ("connection: upgrade\r\nupgrade: websocket\r\nx-keyward-gateway: 1\r\n", 1),
    ] {
        let first = format!("GET /version HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        let smuggled = format!("GET {SECRETS} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all((first + &smuggled).as_bytes()).await.unwrap();
        let mut all = Vec::new();
        // What was not read may reset the connection; what was answered has come.
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await;
        read.expect("the connection to be closed").ok();
        let all = String::from_utf8(all).unwrap();
        assert_eq!(all.matches("HTTP/1.1 ").count(), answers, "{headers}: {all}");
    }
}

#[tokio::test]
async fn whoever_is_behind_a_proxy_is_not_on_this_machine() {
    let server = Server::without_tokens(Rules::OffLoopback).await;
    for (header, expected) in [
        ("x-request-id", 200),
        ("user-agent", 200),
        ("X-Forwarded-For", 401),
        ("x-forwarded-proto", 401),
        ("x-forwarded-host", 401),
        ("x-real-ip", 401),
        ("x-envoy-internal", 401),
        ("x-envoy-expected-rq-timeout-ms", 401),
        ("Via", 401),
        ("forwarded", 401),
        (GATEWAY_MARK, 401),
    ] {
        let request = axum::http::Request::builder().uri(SECRETS).header("host", "localhost");
        let mut request = request.header(header, "1").body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(LOCAL.parse::<SocketAddr>().unwrap()));
        let response = server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), expected, "{header}");
    }
}

#[tokio::test]
async fn every_change_and_every_refusal_is_a_line() {
    let server = Server::start(Rules::OffLoopback).await;
    let (root, ed, view) = (token("root"), token("ed"), token("view"));
    let ed = Asked { peer: REMOTE, host: "h", token: Some(ed.reveal()) };
    let view = Asked { peer: REMOTE, host: "h", token: Some(view.reveal()) };
    let nobody = Asked { peer: REMOTE, host: "h", token: None };
    let here = Asked { peer: LOCAL, host: "localhost", token: Some(root.reveal()) };
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
    let expected: [&[&str]; 8] = [
        &["not changed who=\"token:ed\"", "method=\"POST\"", "dry_run=true", "code=201"],
        &["changed who=\"token:ed\" from=\"10.0.0.7:5555\" verb=\"create\" kind=\"Upstream\"", "name=\"a\""],
        &["not changed who=\"token:ed\"", "dry_run=false", "code=409"],
        &["not changed who=\"token:view\"", "method=\"DELETE\"", "upstreams/a\"", "code=403"],
        &["not changed who=\"unknown\" from=\"10.0.0.7:5555\"", "code=401"],
        &["looked who=\"token:view\" from=\"10.0.0.7:5555\"", "method=\"GET\"", SECRETS, "code=403"],
        &[
            "changed who=\"token:root\"",
            "kind=\"Secret\" namespace=\"team\" name=\"alice\" resource_version=",
        ],
        &["changed who=\"token:root\"", "verb=\"delete\"", "name=\"a\""],
    ];
    assert_eq!(of_upstream.len(), expected.len(), "{lines:#?}");
    for (line, parts) in of_upstream.iter().zip(expected) {
        about(line, parts);
    }
    let all = lines.concat();
    assert!(!all.contains("alice-key-value") && !all.contains("kwt_"), "{all}");
}

#[tokio::test]
async fn who_looks_with_a_token_is_in_the_audit_log_once_and_without_the_query() {
    let server = Server::start(Rules::OffLoopback).await;
    let lines = audited(async {
        for (name, path) in [("root", "?limit=7"), ("ed", ""), ("nobody", "")] {
            server.code(name, "GET", &format!("{SECRETS}{path}"), None).await;
        }
        server.code("root", "GET", UPSTREAMS, None).await;
    });
    let lines = lines.await;
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for (line, parts) in lines.iter().zip([["token:root", "code=200"], ["token:ed", "code=403"]]) {
        let all = parts.iter().chain(&["looked", "method=\"GET\"", SECRETS]).all(|part| line.contains(part));
        assert!(all && !line.contains("limit") && !line.contains("kwt_"), "{line}");
    }
    let open = Server::without_tokens(Rules::OffLoopback).await;
    let lines = audited(async {
        let asked = Asked { peer: LOCAL, host: "localhost", token: None };
        assert_eq!(open.send(&asked, "GET", SECRETS, None).await.0, 200);
    });
    assert_eq!(lines.await, [""; 0]);
}
