//! Traffic through a real Envoy that runs what is generated, with a filter that lets everything
//! through: what is left must still hold. The filter itself is tested in `integration`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::config::bootstrap::v3::{Admin, Bootstrap};
use envoy_types::pb::envoy::config::core::v3::{
    Address, SocketAddress, address, socket_address::PortSpecifier,
};
use keyward_resource::kinds::ExtAuth;
use keyward_resource::kinds::options::HostRewrite;
use keyward_translate::{Input, Settings, misconfigured_node};
use prost::Message;
use tempfile::TempDir;

use crate::decoded::{Decoded, decode};
use crate::envoy::{Filter, binary, bootstrap};
use crate::support::{
    Put, auth_config, by_name, gateway, resources, route, settings, upstream, virtual_service,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// An Envoy of this test alone; it ends with the test.
struct Envoy {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

/// One answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// Answers every request with what it got, and with headers that it should not or may send.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // Ends with the process; nothing waits for it.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut got = String::new();
    let mut lines = BufReader::new(stream.try_clone().expect("a handle"));
    while lines.read_line(&mut got).is_ok_and(|read| read > 2) {}
    let head =
        "HTTP/1.1 200 OK\r\nx-user-id: leaked\r\nserver: mine\r\nx-other: kept\r\nconnection: close\r\n";
    // The client may be gone; the test sees that at its own end.
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{got}", got.len());
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

fn start(decoded: &Decoded, address: SocketAddr, filter: Filter) -> Envoy {
    let envoy = spawn(decoded, address, filter);
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_err() {
        let log = envoy.log();
        assert!(Instant::now() < deadline, "envoy does not listen on {address}:\n{log}");
        std::thread::sleep(Duration::from_millis(20));
    }
    envoy
}

fn spawn(decoded: &Decoded, address: SocketAddr, filter: Filter) -> Envoy {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bootstrap.pb");
    let bootstrap = Bootstrap {
        admin: Some(Admin { address: Some(any_port()), ..Admin::default() }),
        ..bootstrap(decoded, &settings(), filter)
    };
    std::fs::write(&path, bootstrap.encode_to_vec()).expect("a bootstrap");
    let log = std::fs::File::create(folder.path().join("log")).expect("a log");
    let child = Command::new(binary())
        .args(["--log-level", "warning", "--concurrency", "2", "--use-dynamic-base-id", "-c"])
        .arg(path)
        .arg("--admin-address-path")
        .arg(folder.path().join("admin"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("envoy starts");
    Envoy { child, address, folder }
}

fn start_proxy(filter: Filter) -> Envoy {
    let address = free_address();
    start(&proxy_on(address), address, filter)
}

fn any_port() -> Address {
    let address = SocketAddress {
        address: "127.0.0.1".to_owned(),
        port_specifier: Some(PortSpecifier::PortValue(0)),
        ..SocketAddress::default()
    };
    Address { address: Some(address::Address::SocketAddress(address)) }
}

/// What a proxy with something of everything is told.
fn proxy_on(address: SocketAddr) -> Decoded {
    let echo = echo();
    let mut input = Input::default();
    gateway("only", address).put(&mut input);
    upstream("echo", &[("127.0.0.1", echo.port())]).put(&mut input);
    auth_config("keys").put(&mut input);
    let mut rewritten = route("/rewritten", "echo", None);
    rewritten.options.host_rewrite = Some(HostRewrite::Auto(true));
    let routes = vec![
        route("/open", "echo", Some(ExtAuth::Disable)),
        route("/secured", "echo", by_name("keys")),
        route("/denied", "echo", by_name("missing")),
        route("/nowhere/open", "missing", None),
        route("/nowhere/secured", "missing", by_name("keys")),
        rewritten,
        route("/", "echo", None),
    ];
    virtual_service("all", &["*"], routes).put(&mut input);
    virtual_service("empty", &["empty.example.com"], Vec::new()).put(&mut input);
    let secured = vec![route("/", "echo", by_name("keys"))];
    virtual_service("host", &["secured.example.com"], secured.clone()).put(&mut input);
    // Younger than all by its name: rejected, as it wants a domain that another has.
    virtual_service("late", &["secured.example.com", "left.example.com"], secured).put(&mut input);
    let made = resources(&input).into_values().next().expect("the proxy");
    decode(&made)
}

#[test]
fn nothing_gets_past_a_filter_that_does_nothing() {
    let envoy = start_proxy(Filter::Delivered);
    for path in ["/secured", "/denied", "/nowhere/secured"] {
        for identity in ["x-other: 1", "x-user-id: root", "X-User-Id: root", "x_user_id: root"] {
            assert_eq!(envoy.get(path, &[identity]).status, 403, "{path} with {identity}");
        }
    }
}

/// An orphan of an earlier start would take a share of the connections and answer with its old keys.
#[test]
fn no_two_envoys_share_a_port() {
    let first = start_proxy(Filter::Delivered);
    let mut second = spawn(&proxy_on(first.address), first.address, Filter::Delivered);
    let deadline = Instant::now() + PATIENCE;
    while second.child.try_wait().expect("a state").is_none() {
        assert!(Instant::now() < deadline, "the second envoy goes on:\n{}", second.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(second.log().to_lowercase().contains("address already in use"), "{}", second.log());
    assert_eq!(first.get("/open", &[]).status, 200);
}

/// One after the other, so that each worker could have taken every one of them.
#[test]
fn connections_are_spread_over_the_workers() {
    let envoy = start_proxy(Filter::Delivered);
    let deadline = Instant::now() + PATIENCE;
    // The port answers as soon as the first worker listens.
    while !envoy.stats("workers_started").contains("workers_started: 1") {
        assert!(Instant::now() < deadline, "the workers do not start:\n{}", envoy.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let connections: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(envoy.address).expect("a connection")).collect();
    let counts = loop {
        let counts = envoy.connections_by_worker();
        if counts.iter().sum::<u64>() >= connections.len() as u64 {
            break counts;
        }
        assert!(Instant::now() < deadline, "{counts:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(counts.len(), 2);
    assert!(counts.iter().all(|count| *count >= 3), "{counts:?}");
}

#[test]
fn open_routes_are_open_and_pass_no_identity_on() {
    let envoy = start_proxy(Filter::Delivered);
    let spoofs =
        ["x-user-id: 1", "X-USER-ID: 2", "x-user-id: 3", "x_user_id: 4", "X-User_Id: 5", "x_user-id: 6"];
    let answer = envoy.get("/open", &spoofs);
    assert_eq!(answer.status, 200);
    assert!(answer.body.starts_with("GET /open HTTP/1.1"), "{}", answer.body);
    assert!(!answer.body.to_lowercase().replace('_', "-").contains("x-user-id"), "{}", answer.body);
    assert!(answer.body.contains("x-kept: 1"), "{}", answer.body);
}

#[test]
fn responses_come_back_as_they_were_without_the_identity() {
    let envoy = start_proxy(Filter::Delivered);
    let head = envoy.get("/open", &[]).head.to_lowercase();
    assert!(!head.contains("x-user-id"), "{head}");
    assert!(!head.contains("x-envoy"), "{head}");
    assert!(head.contains("server: mine") && head.contains("x-other: kept"), "{head}");
}

#[test]
fn no_spelling_of_a_path_or_host_takes_a_secured_route_for_an_open_one() {
    let envoy = start_proxy(Filter::Delivered);
    // The upstream of this test would take each of these for /secured, were it to decode and normalise.
    let paths = [
        "/open/../secured",
        "/open/%2e%2e/secured",
        "/open/%2E./secured",
        "//secured",
        "/./secured",
        "/%73ecured",
        "/%2fsecured",
        "/%2Fsecured",
        "/open/..%2fsecured",
        "/open%2f..%2fsecured",
        "/open/..%5csecured",
        "/open\\..\\secured",
        "/\\secured",
        "/secured?/../open",
        "/secured%3f",
        "/secured;a=b",
    ];
    for path in paths {
        let answer = envoy.get(path, &[]);
        assert!(matches!(answer.status, 307 | 400 | 403), "{path}: {} {}", answer.status, answer.body);
    }
    for host in
        ["secured.example.com", "SECURED.example.com:1", "secured.example.com.", "secured.example.com.:80"]
    {
        assert_eq!(envoy.ask(host, "/open", &[]).status, 403, "{host}");
    }
}

#[test]
fn a_missing_upstream_is_told_after_authentication_only() {
    let envoy = start_proxy(Filter::Delivered);
    assert_eq!(envoy.get("/nowhere/open", &[]).status, 503);
    assert_eq!(envoy.get("/nowhere/secured", &[]).status, 403);
    assert_eq!(envoy.ask("empty.example.com", "/", &[]).status, 404);
}

/// Without a virtual host of their own they would fall to the open `*`.
#[test]
fn the_domains_that_are_left_of_a_rejected_virtual_service_are_closed() {
    let envoy = start_proxy(Filter::Delivered);
    assert_eq!(envoy.ask("any.example.com", "/", &[]).status, 200);
    for host in ["left.example.com", "LEFT.example.com:80", "left.example.com."] {
        for path in ["/", "/open", "/rewritten"] {
            assert_eq!(envoy.ask(host, path, &["x-user-id: root"]).status, 403, "{host}{path}");
        }
    }
}

#[test]
fn the_host_is_rewritten_where_asked_for() {
    let envoy = start_proxy(Filter::Delivered);
    assert!(envoy.ask("any.example.com", "/rewritten", &[]).body.contains("host: 127.0.0.1\r\n"));
    assert!(envoy.ask("any.example.com", "/open", &[]).body.contains("host: any.example.com\r\n"));
}

#[test]
fn without_the_extension_secured_routes_deny() {
    let envoy = start_proxy(Filter::Default);
    assert_eq!(envoy.get("/secured", &["x-user-id: root"]).status, 403);
    assert_eq!(envoy.get("/denied", &[]).status, 403);
    assert_eq!(envoy.get("/open", &[]).status, 200);
}

#[test]
fn an_unknown_node_says_what_is_wrong_with_it() {
    let address = free_address();
    let settings = Settings { default_gateway: address, ..settings() };
    let resources = misconfigured_node(&settings);
    let envoy = start(&decode(&resources), address, Filter::Delivered);
    let answer = envoy.get("/any", &[]);
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("node.metadata.role"), "{}", answer.body);
    assert!(answer.body.contains("keyward-system~gateway-proxy"), "{}", answer.body);
}

// === impl Envoy ===

impl Envoy {
    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// How many connections each worker has.
    fn connections_by_worker(&self) -> Vec<u64> {
        let stats = self.stats("downstream_cx_active");
        let of_workers = |line: &&str| line.starts_with("listener.127") && line.contains(".worker_");
        let counts = stats.lines().filter(of_workers);
        counts.filter_map(|line| line.rsplit_once(": ")?.1.parse().ok()).collect()
    }

    fn stats(&self, filter: &str) -> String {
        let admin = std::fs::read_to_string(self.folder.path().join("admin")).expect("the admin address");
        let mut stream = TcpStream::connect(admin.trim()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let head = "host: admin\r\nconnection: close\r\n\r\n";
        write!(stream, "GET /stats?filter={filter} HTTP/1.1\r\n{head}").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask("any.example.com", path, headers)
    }

    fn ask(&self, host: &str, path: &str, headers: &[&str]) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut request =
            format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nx-kept: 1\r\nconnection: close\r\n");
        headers.iter().for_each(|header| request.push_str(&format!("{header}\r\n")));
        stream.write_all(format!("{request}\r\n").as_bytes()).expect("a request");
        // Not to the end of the stream: after its own replies Envoy waits a second before it closes.
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).expect("an answer") > 0, "the answer ends early: {head:?}");
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).expect("the body");
        Answer {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has noticed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
