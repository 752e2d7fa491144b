//! Profiles, tasks, spans and calls on the real thing; and that no key is in anything that helps to find out
//! what is wrong.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use keyward_integration::paths;
use keyward_integration::stack::{Options, Process, Rest, Stack, free_address, wait};
use serde_json::{Value, json};

use crate::kit::{HOST, SOON, at_once, secret, site};

const KEY: &str = "bob-key-that-nobody-may-see";
/// A key that looks like those that we make.
const GENERATED: &str = "kw_0000000000000000000000_0lgXbD";

fn ask(address: SocketAddr, path: &str) -> (u16, Vec<u8>) {
    let response =
        Rest::new(address).call("GET", path, None).unwrap_or_else(|error| panic!("{path}: {error:#}"));
    (response.status, response.body.to_vec())
}

fn text(address: SocketAddr, path: &str) -> String {
    let (code, body) = ask(address, path);
    let body = String::from_utf8_lossy(&body).into_owned();
    assert_eq!(code, 200, "{path}: {body}");
    body
}

fn data(address: SocketAddr, path: &str) -> Value {
    serde_json::from_str::<Value>(&text(address, path)).unwrap()["data"].clone()
}

fn spans(stats: SocketAddr, name: &str) -> anyhow::Result<()> {
    let all = data(stats, "/zpages/tracez");
    let one = all.as_array().and_then(|all| all.iter().find(|span| span["name"] == name));
    let ended = one.and_then(|one| one["latencies"].as_array()?.iter().map(|of| of["count"].as_u64()).sum());
    ensure!(ended > Some(0_u64), "no span {name} has ended: {all}");
    Ok(())
}

#[test]
fn whatever_helps_to_find_out_what_is_wrong_is_there_and_holds_no_key() {
    let stats = free_address().unwrap();
    let flags = ["--start-stats-server", "--stats", &stats.to_string(), "--admin-handlers-with-stats"];
    let flags = flags.map(str::to_owned).to_vec();
    let stack = Stack::start(Options { flags, ..Options::default() }).unwrap();
    site(&stack, &[("bob", KEY)]);
    stack.rest().apply(&secret("made", GENERATED)).unwrap();
    at_once(&stack, HOST, Some(KEY), Ok("bob"));

    for name in ["rest.request", "store.write", "keys.index", "translate", "publish", "xds.push", "keys.push"]
    {
        wait::until(SOON, name, || spans(stats, name)).unwrap();
    }
    let calls = text(stats, "/zpages/rpcz");
    for method in ["DeltaAggregatedResources", "keyward.keys.v1.KeyDistribution/Stream", "POST secrets"] {
        assert!(calls.contains(method), "{method}: {calls}");
    }
    let tasks = text(stats, "/debug/tasks?format=text");
    assert!(tasks.lines().any(|line| line.starts_with("control loop ")), "{tasks}");

    // Of two at a time one is taken, and the other one is told so.
    let both =
        [(); 2].map(|()| thread::spawn(move || ask(stats, "/debug/pprof/profile?seconds=3&frequency=250")));
    let [mut taken, mut refused] = both.map(|one| one.join().unwrap());
    if taken.0 != 200 {
        std::mem::swap(&mut taken, &mut refused);
    }
    assert_eq!((taken.0, refused.0), (200, 429));
    assert!(String::from_utf8_lossy(&refused.1).contains("another profile"));
    let profile = taken.1;
    assert_eq!(profile.get(..2), Some([0x1f, 0x8b].as_slice()));
    let (code, heap) = ask(stats, "/debug/pprof/heap");
    assert_eq!((code, heap.get(..2)), (200, Some([0x1f, 0x8b].as_slice())));
    read_by_go(&stack, &profile, &heap);
    let folded = text(stats, "/debug/pprof/heap?format=folded");
    assert!(folded.contains("keyward"), "{folded}");
    for (method, path, code) in [
        ("POST", "/debug/pprof/profile", 405),
        ("PUT", "/debug/tasks", 405),
        ("DELETE", "/zpages/tracez", 405),
        ("GET", "/debug/pprof/profile?seconds=61", 400),
        ("GET", "/debug/pprof/heap?gc=1", 400),
        ("GET", "/zpages/rpcz?format=xml", 400),
    ] {
        let response = Rest::new(stats).call(method, path, None).unwrap();
        assert_eq!(response.status, code, "{method} {path}");
    }

    // Everything there is to see.
    let mut seen = vec![calls, tasks, folded];
    let pages = ["/", "/metrics", "/logging", "/zpages/tracez?format=html", "/zpages/rpcz?format=html"];
    seen.extend(pages.iter().map(|path| text(stats, path)));
    for name in ["rest.request", "store.write", "keys.index", "publish", "xds.push", "keys.push"] {
        for which in ["running", "failed", "0", "1", "2", "3", "4", "5", "6", "7", "8"] {
            seen.push(text(stats, &format!("/zpages/tracez?name={name}&which={which}")));
        }
    }
    let profile = "/debug/pprof/profile?seconds=1&format=folded";
    seen.extend([profile, "/snapshots/input", "/snapshots/keys"].map(|path| text(stats, path)));
    let log =
        |component: &str| text(stack.rest().address(), &format!("/keyward/v1/logs?component={component}"));
    seen.extend(["control", "gateway-proxy"].map(log));
    seen.push(text(stack.rest().address(), "/keyward/v1/sync"));
    seen.extend(["/config_dump?include_eds", "/stats", "/clusters"].map(|path| text(stack.admin(), path)));
    let file = |name: &str| stack.folder().join(name);
    let debug = |words: &[&str]| keyward(&stack, stats, words);
    seen.push(debug(&["debug", "logs"]));
    let yaml = debug(&["debug", "yaml"]);
    assert!(yaml.contains("kind: VirtualService") && yaml.contains("#   api-key: \"[redacted]\""), "{yaml}");
    debug(&["debug", "yaml", "-f", file("all.yaml").to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(file("all.yaml")).unwrap(), yaml);
    seen.push(yaml);
    for (words, least) in [(["debug", "logs", "--zip"].as_slice(), 2), (&["debug", "bundle"], 20)] {
        let path = file(&format!("{}.zip", words[1]));
        let named = [words, &["-f", path.to_str().unwrap()]].concat();
        assert_eq!(debug(&named).trim(), path.to_str().unwrap());
        let parts = unzipped(&path);
        assert!(parts.len() >= least, "{:?}", parts.iter().map(|(name, _)| name).collect::<Vec<_>>());
        if let Some((_, index)) = parts.iter().find(|(name, _)| name == "index.txt") {
            assert!(!index.contains("not here") && !index.contains("could not"), "{index}");
            // Each part is in it, beside the headings.
            assert_eq!(index.lines().count(), parts.len(), "{index}");
            let part = |wanted: &str| &parts.iter().find(|(name, _)| name == wanted).unwrap().1;
            assert!(part("check.txt").contains("No problems detected"), "{}", part("check.txt"));
            let status = part("proxy-status.txt");
            assert!(status.contains("LISTENERS") && status.contains("workers hold everything"), "{status}");
        }
        seen.extend(parts.into_iter().map(|(_, text)| text));
    }
    let encoded = [KEY, GENERATED].map(|key| crate::kit::base64(key.as_bytes()));
    for text in &seen {
        let found = [KEY, GENERATED, &encoded[0], &encoded[1]].into_iter().find(|key| text.contains(*key));
        assert!(found.is_none(), "a key is shown: {text}");
    }
}

/// Runs a client command against the stack, where all ports are.
fn keyward(stack: &Stack, stats: SocketAddr, words: &[&str]) -> String {
    let mut command = Command::new(paths::keyward().unwrap());
    command
        .args(words)
        .current_dir(stack.folder())
        .env("HOME", stack.folder())
        .env("KEYWARD_SERVER", format!("http://{}", stack.rest().address()))
        .env("KEYWARD_SNAPSHOTS_URL", format!("http://{}", stack.snapshots()))
        .env("KEYWARD_DEBUG_URL", format!("http://{stats}"))
        .env("KEYWARD_PROXY_ADMIN", format!("http://{}", stack.admin()));
    let said = command.output().unwrap();
    let notes = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{words:?}: {notes}");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

fn unzipped(path: &std::path::Path) -> Vec<(String, String)> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    (0..zip.len())
        .map(|index| {
            let mut part = zip.by_index(index).unwrap();
            let mut text = String::new();
            part.read_to_string(&mut text).unwrap();
            (part.name().unwrap().into_owned(), text)
        })
        .collect()
}

/// The reader of pprof's own authors, where there is one; elsewhere the crate's tests read the form.
fn read_by_go(stack: &Stack, profile: &[u8], heap: &[u8]) {
    for (name, bytes, kind) in
        [("cpu.pb.gz", profile, "Type: cpu"), ("heap.pb.gz", heap, "Type: inuse_space")]
    {
        let path = stack.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut go = Command::new("go");
        go.args(["tool", "pprof", "-top"]).arg(&path).env("HOME", stack.folder());
        // Where there is no Go there is nothing to ask.
        let Ok(said) = go.output() else { return };
        let top = String::from_utf8_lossy(&said.stdout);
        assert!(
            said.status.success() && top.contains(kind),
            "{top}{}",
            String::from_utf8_lossy(&said.stderr)
        );
    }
}

/// What a collector was sent: the path with the headers, and the body.
type Sent = (String, Vec<u8>);

/// A collector of traces, until the test ends.
fn collector(listener: TcpListener) -> Receiver<Sent> {
    let (sender, receiver) = sync_channel(1_000);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (sender, Ok(mut stream)) = (sender.clone(), stream) else { return };
            thread::spawn(move || -> Option<()> {
                let mut read = Vec::new();
                loop {
                    let head = loop {
                        if let Some(end) = read.windows(4).position(|end| end == b"\r\n\r\n") {
                            break String::from_utf8_lossy(&read.drain(..end + 4).collect::<Vec<_>>())
                                .into_owned();
                        }
                        more(&mut stream, &mut read)?;
                    };
                    let head = head.to_lowercase();
                    let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
                    while read.len() < length {
                        more(&mut stream, &mut read)?;
                    }
                    sender.send((head, read.drain(..length).collect())).ok()?;
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
                }
            });
        }
    });
    receiver
}

fn more(stream: &mut std::net::TcpStream, read: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 4096];
    let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
    read.extend(part.get(..count)?);
    Some(())
}

#[test]
fn traces_go_to_a_collector_and_one_that_is_down_bothers_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (rest, otlp) = (free_address().unwrap(), free_address().unwrap());
    let mut command = Command::new(paths::keyward().unwrap());
    command.args(["serve", "--no-envoy", "--rest", &rest.to_string()]);
    for port in ["--xds", "--snapshots", "--dev-admin"] {
        command.args([port, &free_address().unwrap().to_string()]);
    }
    command
        .env("KEYWARD_DATA", folder.path())
        .env_remove("LOG_LEVEL")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{otlp}"));
    let mut server = Process::start(&mut command, &folder.path().join("server.log")).unwrap();
    let api = Rest::new(rest);
    wait::until(SOON, "the server", || api.ready()).unwrap();
    let write = |name: &str| {
        let key = format!("key-of-{name}");
        api.create(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
            "metadata": { "namespace": "team", "name": name }, "stringData": { "api-key": key },
        }))
    };
    let down = "traces cannot be exported";
    let mut count = 0;
    let told = wait::until(SOON, "the log to say that nobody is there", || {
        count += 1;
        write(&format!("one-{count}"))?;
        ensure!(server.output().contains(down), "{}", server.output());
        Ok(())
    });
    told.unwrap();
    let sent = collector(TcpListener::bind(otlp).unwrap());
    let mut count = 0;
    let first = wait::until(SOON, "the first spans", || {
        count += 1;
        write(&format!("two-{count}"))?;
        Ok(sent.recv_timeout(Duration::from_millis(500))?)
    });
    let (head, body) = first.unwrap_or_else(|error| panic!("{error:#}\n{}", server.output()));
    assert!(
        head.starts_with("post /v1/traces ") && head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("service.name") && body.contains("keyward"), "{body}");

    write("last").unwrap();
    server.stop().unwrap();
    let log = server.output();
    assert_eq!(log.matches(down).count(), 1, "{log}");
    assert!(log.contains("traces are exported again") && !log.contains("the last traces are lost"), "{log}");
    let rest: Vec<Sent> = sent.try_iter().collect();
    let all = rest.iter().map(|(_, body)| String::from_utf8_lossy(body)).collect::<String>() + &body;
    assert!(all.contains("rest.request") && all.contains("store.write"), "{all}");
    assert!(!all.contains("key-of-"), "a key is in a trace");
}
