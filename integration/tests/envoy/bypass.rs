//! Attempts to get past the filter with requests that mean two things.

use keyward_integration::headers::Headers;
use keyward_integration::stack::{Connection, Options, Stack, TEST_ID_HEADER};
use serde_json::json;

use crate::kit::{HOST, OPEN_HOST, at_once, auth_config, eventually, secret, secured, site, virtual_service};

/// What an upstream that decodes and normalises takes a path for.
fn as_upstreams_see_it(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut decoded = Vec::new();
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let mut after = bytes.clone();
        match (byte, hex(after.next()), hex(after.next())) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                bytes = after;
            }
            (b'\\', _, _) => decoded.push(b'/'),
            _ => decoded.push(byte),
        }
    }
    let decoded = String::from_utf8_lossy(&decoded).replace('\\', "/");
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[test]
fn no_spelling_of_a_path_takes_an_open_route_to_a_secured_place() {
    let stack = Stack::start(Options::default()).unwrap();
    stack.rest().apply(&secret("alice", "alice-key")).unwrap();
    stack.rest().apply(&auth_config()).unwrap();
    let open = json!({ "extauth": { "disable": true } });
    let service = virtual_service("site", &[HOST], secured(), &[("/public/", open), ("/", json!({}))]);
    stack.rest().apply(&service).unwrap();
    eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
    let paths = [
        "/public/../secured",
        "/public/..//secured",
        "/public//../secured",
        "/public/./../secured",
        "//secured",
        "///public/../secured",
        "/public/%2e%2e/secured",
        "/public/%2E%2E/secured",
        "/public/.%2e/secured",
        "/public/%2e./secured",
        "/public/..%2fsecured",
        "/public/..%2Fsecured",
        "/public/%2e%2e%2fsecured",
        "/public%2f..%2fsecured",
        "/public/..%5csecured",
        "/public/..%5Csecured",
        "/public/..\\secured",
        "/public\\..\\secured",
        "/public/%252e%252e/secured",
        "/%70ublic/../secured",
        "/public/../public/../secured",
        "/public/x/../../secured",
        "/public/../../../secured",
        "/secured/../public/../secured",
        "/public/..",
        "/public/../",
        "/public/..?x=/public/",
        "/public/..#/public/",
        "/secured?/public/",
        "/secured#/public/",
        "/secured;/public/",
        "/Public/",
        "/public",
        "public/",
        "http://open.test/public/../secured",
        "http://site.test/public/../secured",
    ];
    let mut passed = 0;
    for path in paths {
        let (response, arrived) = match stack.send(HOST, path, &Headers::new()) {
            Ok(answer) => answer,
            // The connection was closed: nothing passed.
            Err(_) => continue,
        };
        assert_eq!(arrived.is_some(), response.status == 200, "{path}: {}", response.status);
        if let Some(arrived) = arrived {
            let got = arrived.line.split(' ').nth(1).unwrap_or_default().to_owned();
            let place = as_upstreams_see_it(&got);
            // Twice encoded stays encoded once: an upstream that decodes twice is on its own.
            assert!(
                place == "/public" || place.starts_with("/public/"),
                "{path} passed without a key and the upstream got {got}, which is {place}"
            );
            passed += 1;
        }
    }
    eprintln!("{passed} of {} spellings are open, rightly", paths.len());
    let (response, arrived) = stack.send(HOST, "/public/x", &Headers::new()).unwrap();
    assert!(response.status == 200 && arrived.is_some(), "the open route is open");
}

#[test]
fn no_spelling_of_a_host_gets_around_its_auth() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    let port = stack.gateway().port();
    for host in [
        "SITE.test".to_owned(),
        "site.TEST".to_owned(),
        format!("site.test:{port}"),
        "site.test:80".to_owned(),
        "site.test:1".to_owned(),
    ] {
        at_once(&stack, &host, None, Err(401));
        at_once(&stack, &host, Some("alice-key"), Ok("alice"));
    }
    for host in
        ["site.test.", "xsite.test", "site.testx", "site", "", "site.test,open.test", "site.test/open.test"]
    {
        let (response, arrived) = stack.send(host, "/", &Headers::new()).unwrap();
        assert!(arrived.is_none() && response.status >= 400, "{host:?}: {}", response.status);
    }
    // Two hosts, either of which may be believed.
    let mut connection = stack.connect().unwrap();
    for hosts in [[HOST, OPEN_HOST], [OPEN_HOST, HOST]] {
        let headers = Headers::new().with("host", hosts[0]).with("host", hosts[1]);
        let before = stack.upstream().total();
        if let Ok(response) = connection.request("GET", "/", &headers) {
            assert!(response.status >= 400, "{hosts:?}: {}", response.status);
        }
        assert_eq!(stack.upstream().total(), before, "{hosts:?}");
        connection = stack.connect().unwrap();
    }
    // The absolute form names the host that counts.
    let line = format!("GET http://{HOST}/ HTTP/1.1\r\nhost: {OPEN_HOST}\r\n\r\n");
    let response = stack.connect().unwrap().exchange(line.as_bytes(), false).unwrap();
    assert_eq!(response.status, 401);
}

#[test]
fn malformed_requests_reach_nobody() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    let attempts: [&[u8]; 13] = [
        b"GET / HTTP/1.1\r\nhost: site.test\r\napi-key : alice-key\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\n api-key: alice-key\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\napi-key: alice-key\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\nx-user-id\xff: root\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\nx-user-id : root\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\nx-user-id\t: root\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\nx-a: b\r\n x-user-id: root\r\n\r\n",
        b"GET / HTTP/1.0\r\nhost: site.test\r\nx-user-id: root\r\n\r\n",
        b"GET / HTTP/0.9\r\nhost: site.test\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: site.test\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nhost: open.test\r\nx-user-id: root\r\n\r\n",
        b"CONNECT open.test:80 HTTP/1.1\r\nhost: site.test\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: site.test\r\nconnection: upgrade, api-key\r\nupgrade: websocket\r\n\r\n",
    ];
    for attempt in attempts {
        let before = stack.upstream().total();
        let answer = Connection::open(stack.gateway()).unwrap().exchange(attempt, false);
        let status = answer.map(|response| response.status);
        assert!(!matches!(status, Ok(200)), "{} got 200", attempt.escape_ascii());
        assert_eq!(stack.upstream().total(), before, "{} reached the upstream", attempt.escape_ascii());
    }
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
}

#[test]
fn no_spelling_of_the_identity_header_gets_through() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    let spellings: [&[u8]; 12] = [
        b"X-USER-ID: root",
        b"x-user-id : root",
        b"x-user-id\t: root",
        b"x-user\r-id: root",
        b"x-user-id\r: root",
        b"\x0bx-user-id: root",
        b"x-user-id\x00: root",
        b"\xefx-user-id: root",
        b"x-user\xad-id: root",
        b"x-user-id:root\r\nx-user-id:",
        b"x-a: b\r\n x-user-id: root",
        b"x-a: b\nx-user-id: root",
    ];
    for (number, spelling) in spellings.into_iter().enumerate() {
        for (host, key) in [(OPEN_HOST, ""), (HOST, "api-key: alice-key\r\n")] {
            let id = format!("spelling-{number}-{host}");
            let mut message =
                format!("GET / HTTP/1.1\r\nhost: {host}\r\n{TEST_ID_HEADER}: {id}\r\n{key}").into_bytes();
            message.extend_from_slice(spelling);
            message.extend_from_slice(b"\r\n\r\n");
            // Whether it is refused or passed on, nothing that looks like the header may arrive.
            let _ = Connection::open(stack.gateway()).unwrap().exchange(&message, false);
            let Some(arrived) = stack.upstream().take(&id) else { continue };
            let expected: &[&[u8]] = if host == HOST { &[b"alice"] } else { &[] };
            let letters = |name: &[u8]| {
                let letters: Vec<u8> = name.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
                letters.eq_ignore_ascii_case(b"xuserid")
            };
            let found: Vec<&[u8]> =
                arrived.headers.iter().filter(|(name, _)| letters(name)).map(|(_, value)| value).collect();
            assert_eq!(found, expected, "{} on {host}: {:?}", spelling.escape_ascii(), arrived.headers);
        }
    }
}

#[test]
fn a_key_counts_for_its_own_request_only() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key"), ("bob", "bob-key")]);
    // One connection, also with requests sent before the earlier ones are answered.
    let requests: [(&str, Result<&str, u16>); 7] = [
        ("alice-key", Ok("alice")),
        ("", Err(401)),
        ("bob-key", Ok("bob")),
        ("wrong", Err(401)),
        ("", Err(401)),
        ("alice-key", Ok("alice")),
        ("", Err(401)),
    ];
    let mut connection = stack.connect().unwrap();
    for (key, expected) in requests {
        let headers = if key.is_empty() { Headers::new() } else { Headers::new().with("api-key", key) };
        let (response, arrived) =
            stack.send_over(&mut connection, HOST, "/", &headers, &Headers::new()).unwrap();
        assert_eq!(response.status, expected.err().unwrap_or(200), "{key:?}");
        let identity = arrived.and_then(|arrived| arrived.headers.first("x-user-id").map(<[u8]>::to_vec));
        assert_eq!(identity.as_deref(), expected.ok().map(str::as_bytes), "{key:?}");
    }
    let all: String = requests
        .iter()
        .map(|(key, _)| format!("GET / HTTP/1.1\r\nhost: {HOST}\r\napi-key: {key}\r\n\r\n"))
        .collect();
    let mut connection = stack.connect().unwrap();
    let mut answered = 0;
    let mut next = connection.exchange(all.as_bytes(), false);
    // Envoy closes a connection on which it answers several pipelined requests itself, whatever
    // the reason for the answers: what it answers until then has to be right.
    while let (Ok(response), Some((key, expected))) = (&next, requests.get(answered)) {
        assert_eq!(response.status, expected.err().unwrap_or(200), "pipelined request {answered}: {key:?}");
        answered += 1;
        next = connection.exchange(b"", false);
    }
    assert!(answered >= 2, "{next:?}");
}

#[test]
fn every_method_needs_a_key() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MADE-UP"]
    {
        let headers = Headers::new().with("host", HOST).with("content-length", "0");
        let before = stack.upstream().total();
        // Envoy's parser knows only registered methods and answers 400 to others.
        let response = stack.connect().unwrap().request(method, "/", &headers).unwrap();
        assert!(matches!(response.status, 400 | 401), "{method}: {}", response.status);
        assert_eq!(stack.upstream().total(), before, "{method} reached the upstream");
    }
    // A body on the way does not help either, announced or not.
    let chunked = b"POST / HTTP/1.1\r\nhost: site.test\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\ntrailer: x-user-id\r\n\r\n3\r\nabc\r\n0\r\nx-user-id: root\r\napi-key: alice-key\r\n\r\n";
    let before = stack.upstream().total();
    let response = stack.connect().unwrap().exchange(chunked, false).unwrap();
    assert_eq!(response.status, 401);
    assert_eq!(stack.upstream().total(), before);
}
