//! What upstreams answer: nothing in it may look like an identity, whatever kind of answer it is.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use keyward_integration::stack::{Options, Stack, wait};
use serde_json::json;

use crate::kit::{SOON, auth_config, secret, secured};

/// Longer than Envoy may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
const IDENTITY: &str =
    "x-user-id: root\r\nX-User-Id: admin\r\nx_user_id: root\r\nx-user_id: root\r\nx-seen: yes\r\n";

/// Answers with what the path names, and closes.
fn upstream(answers: BTreeMap<&'static str, String>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the process: connections may come as long as Envoy lives.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = answers.clone();
            // A connection that breaks is the business of whoever waits for an answer on it.
            std::thread::spawn(move || answer(stream, &answers).ok());
        }
    });
    address
}

fn answer(mut stream: TcpStream, answers: &BTreeMap<&'static str, String>) -> std::io::Result<()> {
    let mut head = BufReader::new(stream.try_clone()?).lines();
    let first = head.next().unwrap_or_else(|| Ok(String::new()))?;
    while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    stream.write_all(answers.get(path).map_or("HTTP/1.1 404 -\r\n\r\n", String::as_str).as_bytes())
}

/// The whole answer to a request, as it came, in lower case.
fn ask(stack: &Stack, host: &str, path: &str, headers: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(stack.gateway())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: {headers}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    // An upgrade that nobody takes ends with the connection of the upstream, cleanly or not.
    drop(stream.read_to_end(&mut answer));
    Ok(String::from_utf8_lossy(&answer).to_lowercase())
}

#[test]
fn no_answer_to_an_upgrade_carries_an_identity() {
    let plain = |status: &str| format!("HTTP/1.1 {status} -\r\n{IDENTITY}content-length: 2\r\n\r\nok");
    let bare = |status: &str| format!("HTTP/1.1 {status} -\r\n{IDENTITY}\r\n");
    let switched = format!("HTTP/1.1 101 -\r\nconnection: upgrade\r\nupgrade: websocket\r\n{IDENTITY}\r\nok");
    let early = |status: &str| format!("HTTP/1.1 {status} -\r\n{IDENTITY}\r\n{}", plain("200"));
    let chunked =
        format!("HTTP/1.1 200 -\r\n{IDENTITY}transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
    let answers = BTreeMap::from([
        ("/101", switched),
        ("/200", plain("200")),
        ("/chunked", chunked),
        ("/204", bare("204")),
        ("/301", plain("301")),
        ("/304", bare("304")),
        ("/400", plain("400")),
        ("/426", plain("426")),
        ("/503", plain("503")),
        ("/100-200", early("100")),
        ("/103-200", early("103")),
    ]);
    let address = upstream(answers.clone());
    let stack = Stack::start(Options::default()).unwrap();
    let rest = stack.rest();
    rest.apply(&secret("alice", "alice-key")).unwrap();
    rest.apply(&auth_config()).unwrap();
    rest.apply(&json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "namespace": "team", "name": "sockets" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": address.port() }] } },
    }))
    .unwrap();
    for (name, options) in [("open", json!({})), ("secured", secured())] {
        rest.apply(&json!({
            "apiVersion": "gateway.keyward.io/v1",
            "kind": "VirtualService",
            "metadata": { "namespace": "team", "name": name },
            "spec": { "virtualHost": {
                "domains": [format!("{name}.test")],
                "options": options,
                "routes": [{
                    "matchers": [{ "prefix": "/" }],
                    "options": { "upgrades": [{ "websocket": {} }] },
                    "routeAction": { "single": { "upstream": { "namespace": "team", "name": "sockets" } } },
                }],
            } },
        }))
        .unwrap();
        wait::until(SOON, "the route to be there", || {
            let got = ask(&stack, &format!("{name}.test"), "/400", "close\r\napi-key: alice-key")?;
            anyhow::ensure!(got.starts_with("http/1.1 400 "), "{got}");
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    }
    let kinds = [("a request", "close"), ("an upgrade", "upgrade\r\nupgrade: websocket")];
    for host in ["open.test", "secured.test"] {
        for path in answers.keys() {
            for (kind, headers) in kinds {
                // The upstream hangs up after each answer, which a next request may meet.
                let what = format!("an answer of the upstream to {kind} of {host} for {path}");
                let got = wait::until(SOON, &what, || {
                    let got = ask(&stack, host, path, &format!("{headers}\r\napi-key: alice-key"))?;
                    // The upstream may only switch for those who asked for it.
                    let is_answer = got.contains("x-seen: yes") || (*path == "/101" && kind == "a request");
                    anyhow::ensure!(is_answer, "{got}");
                    Ok(got)
                })
                .unwrap();
                let found = ["x-user-id", "x-user_id", "x_user-id", "x_user_id"];
                let found = found.iter().find(|name| got.contains(&format!("{name}:")));
                assert_eq!(found, None, "{path} to {kind} of {host}: {got}");
            }
        }
    }
}
