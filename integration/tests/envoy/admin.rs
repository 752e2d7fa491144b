//! The debugging ports of the control server, on the real thing.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Connection, Options, Response, Rest, Stack, free_address, wait};
use serde_json::{Value, json};

use crate::kit::{HOST, SOON, at_once, eventually, secret, site};
use crate::tls::{NAME, text, with_tls};

const KEY: &str = "alice-key-that-nobody-may-see";
const SNAPSHOTS: [&str; 5] =
    ["/snapshots/input", "/snapshots/edge", "/snapshots/proxies", "/snapshots/xds", "/snapshots/keys"];

/// A stack with its debug port, and the port that the dev mode would have.
fn start(more: &[&str], no_envoy: bool) -> (Stack, SocketAddr, SocketAddr) {
    let (stats, dev) = (free_address().unwrap(), free_address().unwrap());
    let mut flags: Vec<String> = ["--start-stats-server", "--stats"].map(str::to_owned).to_vec();
    flags.extend([stats.to_string(), "--dev-admin".to_owned(), dev.to_string()]);
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    (Stack::start(Options { flags, no_envoy, ..Options::default() }).unwrap(), stats, dev)
}

fn ask(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    let response = Rest::new(address).call("GET", path, None)?;
    Ok((response.status, String::from_utf8_lossy(&response.body).into_owned()))
}

fn data(address: SocketAddr, path: &str) -> anyhow::Result<Value> {
    let (code, text) = ask(address, path)?;
    ensure!(code == 200, "{path}: {code} {text}");
    let envelope: Value = serde_json::from_str(&text)?;
    ensure!(envelope["status"].is_string() && envelope.get("error").is_none(), "{path}: {text}");
    Ok(envelope["data"].clone())
}

fn settings(dev_mode: bool) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Settings",
        "metadata": { "namespace": "keyward-system", "name": "default" },
        "spec": { "devMode": dev_mode },
    })
}

fn settings_say(stack: &Stack, state: &str, reason: &str) {
    let said = wait::until(SOON, &format!("the Settings to be {state}"), || {
        let (now, why) = stack.rest().status("Settings", "keyward-system", "default")?;
        ensure!(now == state && why.contains(reason), "{now}: {why}");
        Ok(())
    });
    said.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

#[test]
fn the_log_level_changes_while_the_server_runs() {
    let (stack, stats, _) = start(&[], false);
    site(&stack, &[("alice", "alice-key")]);
    let set = |body: &Value| {
        let response = Rest::new(stats).call("PUT", "/logging", Some(body)).unwrap();
        (response.status, serde_json::from_slice::<Value>(&response.body).unwrap())
    };
    let log = || std::fs::read_to_string(stack.folder().join("server.log")).unwrap();
    let (code, before) = ask(stats, "/logging").unwrap();
    let before: Value = serde_json::from_str(&before).unwrap();
    assert_eq!((code, &before["level"]), (200, &json!("debug")));
    assert!(log().contains("DEBUG"), "{}", log());

    assert_eq!(set(&json!({ "level": "error" })).0, 200);
    let length = log().len();
    stack.rest().apply(&secret("quiet", "quiet-key")).unwrap();
    eventually(&stack, HOST, Some("quiet-key"), Ok("quiet"));
    let quiet = log()[length..].to_owned();
    assert!(!quiet.contains("DEBUG") && !quiet.contains("INFO h2"), "{quiet}");
    assert!(quiet.contains("keyward::audit: changed"), "the audit log goes on: {quiet}");

    assert_eq!(set(&json!({ "level": "trace" })).0, 200);
    stack.rest().apply(&secret("loud", KEY)).unwrap();
    eventually(&stack, HOST, Some(KEY), Ok("loud"));
    let logs = log();
    assert!(logs[length..].contains("TRACE"), "{logs}");
    let encoded = crate::kit::base64(KEY.as_bytes());
    assert!([KEY, &encoded, "quiet-key"].iter().all(|key| !logs.contains(*key)), "a key is in the log");

    let (code, answer) = set(&json!({ "level": "loud" }));
    assert!(
        code == 400 && answer["error"].as_str().unwrap().contains("debug, info, warn, error, trace"),
        "{answer}"
    );
    assert_eq!(set(&json!({ "level": "info", "targets": { "keyward_server": "debug" } })).0, 200);
    let (_, now) = ask(stats, "/logging").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&now).unwrap(),
        json!({ "level": "info", "targets": { "keyward_server": "debug" } })
    );
}

#[test]
fn snapshots_show_what_is_served_and_no_key() {
    let (stack, stats, dev) = start(&["--admin-handlers-with-stats"], false);
    stack.rest().apply(&settings(true)).unwrap();
    site(&stack, &[("alice", KEY)]);
    let certificate = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": { "namespace": "team", "name": "web" },
        "stringData": { "tls.crt": text("web.crt"), "tls.key": text("web.key") },
    });
    stack.rest().apply(&certificate).unwrap();
    let ssl = json!({ "secretRef": { "namespace": "team", "name": "web" } });
    stack.rest().apply(&with_tls("tls", NAME, json!({}), ssl)).unwrap();
    let role = "keyward-system~gateway-proxy";
    let served = wait::until(SOON, "the certificate", || {
        let xds = data(stack.snapshots(), "/snapshots/xds")?;
        let secret = &xds["roles"][role]["resources"]["Secret"][0]["resource"];
        ensure!(secret["tlsCertificate"]["certificateChain"].is_object(), "{secret}");
        Ok(secret.clone())
    });
    let served = served.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(served["tlsCertificate"]["privateKey"].is_object(), "it is there, and redacted: {served}");
    at_once(&stack, HOST, Some(KEY), Ok("alice"));
    for port in [stack.snapshots(), stats] {
        let input = data(port, "/snapshots/input").unwrap();
        assert_eq!(input["VirtualService"].as_array().unwrap().len(), 3, "{input}");
        assert_eq!(input["Secret"][0]["data"]["api-key"], "[redacted]", "{input}");
        let edge = data(port, "/snapshots/edge").unwrap();
        assert!(
            edge["VirtualService"].as_array().unwrap().iter().all(|one| one["state"] == "Accepted"),
            "{edge}"
        );
        let proxies = data(port, "/snapshots/proxies").unwrap();
        let proxy = &proxies["keyward-system~gateway-proxy"];
        assert!(proxy["spec"]["listeners"].as_array().is_some_and(|all| !all.is_empty()), "{proxies}");
        let xds = data(port, "/snapshots/xds").unwrap();
        let resources = &xds["roles"]["keyward-system~gateway-proxy"]["resources"];
        assert!(resources["Cluster"].to_string().contains("echo"), "{xds}");
        assert!(!xds.to_string().contains("unreadable"), "{xds}");
        assert_eq!(xds["clients"][0]["role"], "keyward-system~gateway-proxy", "{xds}");
        let keys = data(port, "/snapshots/keys").unwrap();
        let tables: Vec<&Value> = keys["tables"].as_object().unwrap().values().collect();
        assert_eq!((tables.len(), &tables[0]["keys"]), (1, &json!(1)), "{keys}");
        assert_eq!(tables[0]["entries"][0]["identity"], "alice");
        assert_eq!(tables[0]["entries"][0]["digest"].as_str().map(str::len), Some(8));
    }
    let roles = wait::until(SOON, "the dev mode", || data(dev, "/xds")).unwrap();
    assert_eq!(roles, json!(["keyward-system~gateway-proxy"]));
    let role = data(dev, "/xds/keyward-system~gateway-proxy").unwrap();
    assert!(role["resources"]["Listener"].is_array(), "{role}");
    assert_eq!(data(dev, "/api").unwrap()["Secret"][0]["metadata"]["name"], "alice");

    let mut shown = vec![ask(stats, "/").unwrap().1, ask(stats, "/metrics").unwrap().1];
    for path in SNAPSHOTS {
        shown.extend([stack.snapshots(), stats].map(|port| ask(port, &format!("{path}?pretty")).unwrap().1));
    }
    shown.extend(
        ["/", "/xds", "/xds/keyward-system~gateway-proxy", "/api"].map(|path| ask(dev, path).unwrap().1),
    );
    let (encoded, private) = (crate::kit::base64(KEY.as_bytes()), text("web.key"));
    for text in &shown {
        assert!(!text.contains(KEY) && !text.contains(&encoded), "a key is shown: {text}");
        assert!(!private.lines().any(|line| !line.starts_with('-') && text.contains(line)), "{text}");
        let private = crate::kit::base64(private.as_bytes());
        assert!(!text.contains(&private[..60]) && !text.contains("PRIVATE KEY"), "{text}");
    }
    let foreign = Headers::new().with("host", "rebound.example");
    let page =
        Connection::open(stack.snapshots()).and_then(|mut open| open.request("GET", "/", &foreign)).unwrap();
    assert_eq!(page.status, 403);
}

#[test]
fn dev_mode_comes_and_goes_with_the_settings_and_waits_for_its_port() {
    let (stack, _, dev) = start(&[], true);
    assert!(ask(dev, "/").is_err(), "it is open without being asked for");
    let held = TcpListener::bind(dev).unwrap();
    stack.rest().apply(&settings(true)).unwrap();
    settings_say(&stack, "Warning", &format!("{dev} cannot be opened"));
    settings_say(&stack, "Warning", "deprecated");
    drop(held);
    let opened = wait::until(SOON, "the port", || {
        let response: Response = Rest::new(dev).call("GET", "/", None)?;
        ensure!(response.status == 200, "{}", response.status);
        Ok(response)
    });
    let opened = opened.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    let headers = opened.headers.lower_case();
    assert!(headers.first("deprecation").is_some() && headers.first("link").is_some(), "{headers:?}");
    assert!(stack.logs().contains("dev mode is on; it is deprecated"), "{}", stack.logs());
    let quiet = wait::until(SOON, "the Settings to forget the port", || {
        let (state, why) = stack.rest().status("Settings", "keyward-system", "default")?;
        ensure!(state == "Warning" && !why.contains("cannot be opened"), "{state}: {why}");
        Ok(())
    });
    quiet.unwrap();
    stack.rest().apply(&settings(false)).unwrap();
    settings_say(&stack, "Accepted", "");
    let closed = wait::until(SOON, "the port to close", || {
        ensure!(std::net::TcpStream::connect(dev).is_err());
        Ok(())
    });
    closed.unwrap();
    stack.rest().apply(&settings(true)).unwrap();
    wait::until(SOON, "the port to open again", || data(dev, "/xds")).unwrap();
}

#[test]
fn where_there_are_tokens_they_are_asked_for() {
    let (stack, stats, _) = start(&["--admin-handlers-with-stats"], true);
    let token = |role: &str| {
        let said = stack.run(&["token", "create", "--role", role]).unwrap();
        said.split_whitespace().find(|word| word.starts_with("kwt_")).expect("a token").to_owned()
    };
    let (viewer, admin) = (token("viewer"), token("admin"));
    let code = |port: SocketAddr, method: &str, path: &str, token: Option<&str>| {
        let mut headers = Headers::new().with("host", "localhost").with("content-length", "0");
        if let Some(token) = token {
            headers.add("authorization", format!("Bearer {token}"));
        }
        let mut open = Connection::open(port).unwrap();
        open.request(method, path, &headers).unwrap().status
    };
    for (port, path, for_viewer) in [
        (stats, "/", 200),
        (stats, "/metrics", 200),
        (stats, "/logging", 200),
        (stats, "/snapshots/xds", 403),
        (stack.snapshots(), "/", 200),
        (stack.snapshots(), "/snapshots/input", 403),
        (stack.snapshots(), "/snapshots/keys", 403),
    ] {
        assert_eq!(code(port, "GET", path, None), 401, "{path}");
        assert_eq!(code(port, "GET", path, Some("kwt_wrong")), 401, "{path}");
        assert_eq!(code(port, "GET", path, Some(&viewer)), for_viewer, "{path}");
        assert_eq!(code(port, "GET", path, Some(&admin)), 200, "{path}");
    }
    assert_eq!(code(stats, "PUT", "/logging", Some(&viewer)), 403);
    // Let through, and then told that an empty body is none.
    assert_eq!(code(stats, "PUT", "/logging", Some(&admin)), 400);
    assert!(!stack.logs().contains(&viewer) && !stack.logs().contains(&admin), "a token is in the log");
}

#[test]
fn a_taken_port_ends_the_start_and_one_that_is_not_wanted_is_not_opened() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str]| {
        let mut command = Command::new(paths::keyward().unwrap());
        command.args(["serve", "--no-envoy", "--rest", "127.0.0.1:0", "--xds", "127.0.0.1:0", "--data"]);
        let output = command.arg(data.path()).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = refused(&["--snapshots", &taken]);
    assert!(told.contains(&format!("{taken} is not free for the snapshot port")), "{told}");
    assert!(told.contains("hint: choose another address with --snapshots"), "{told}");
    let told = refused(&["--snapshots", "127.0.0.1:0", "--start-stats-server", "--stats", &taken]);
    assert!(told.contains(&format!("{taken} is not free for the debug port")), "{told}");
    for flag in ["--snapshots", "--dev-admin"] {
        let told = refused(&[flag, "0.0.0.0:1"]);
        assert!(told.contains(&format!("{flag} 0.0.0.0:1 is not a loopback address")), "{told}");
    }
    // It is taken, and nobody wants it.
    let flags = ["--stats", &taken].map(str::to_owned).to_vec();
    let stack = Stack::start(Options { flags, no_envoy: true, ..Options::default() }).unwrap();
    assert_eq!(ask(stack.snapshots(), "/").unwrap().0, 200);
}

#[test]
fn an_address_that_becomes_free_is_listened_on_without_any_change() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", KEY)]);
    let address = free_address().unwrap();
    let held = TcpListener::bind(address).unwrap();
    for (name, address) in [("plain", stack.gateway()), ("more", address)] {
        let gateway = json!({
            "apiVersion": "gateway.keyward.io/v1", "kind": "Gateway",
            "metadata": { "namespace": "team", "name": name },
            "spec": { "bindAddress": "127.0.0.1", "bindPort": address.port(), "httpGateway": {} },
        });
        stack.rest().apply(&gateway).unwrap();
    }
    let state = |state: &str| {
        let stands = wait::until(SOON * 2, &format!("the Gateway to be {state}"), || {
            let (now, why) = stack.rest().status("Gateway", "team", "more")?;
            ensure!(now == state, "{now}: {why}");
            Ok(why)
        });
        stands.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()))
    };
    let why = state("Rejected");
    assert!(why.contains("cannot bind"), "{why}");
    let logs = stack.logs();
    assert!(logs.contains("no version of it was good before"), "{logs}");
    assert!(!logs.contains("its last good version serves"), "{logs}");
    // It is tried in vain once, and stays refused.
    let tried = wait::until(SOON * 2, "a try", || {
        ensure!(stack.logs().contains("could not be bound, trying again in 10 s"));
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    state("Rejected");
    eventually(&stack, HOST, Some(KEY), Ok("alice"));
    drop(held);
    state("Accepted");
    let served = wait::until(SOON, "the address to answer", || {
        let headers = Headers::new().with("host", HOST).with("api-key", KEY);
        let response = Connection::open(address)?.request("GET", "/", &headers)?;
        ensure!(response.status == 200, "{}", response.status);
        Ok(())
    });
    served.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    at_once(&stack, HOST, Some(KEY), Ok("alice"));
}
