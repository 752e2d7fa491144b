//! Servers of other versions, which are not there yet: what answers only says that it is one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyward_integration::paths;

/// Answers every request with an empty list, as a server of this version; counts them.
fn server(version: Option<&'static str>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that is gone is no matter.
            let _ = stream.and_then(|stream| answer(stream, version, &counted));
        }
    });
    (address, count)
}

fn answer(mut stream: TcpStream, version: Option<&str>, count: &AtomicUsize) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    count.fetch_add(1, Ordering::SeqCst);
    let body = r#"{"items":[],"metadata":{},"gitVersion":"v1.33.0+keyward-0.0.1"}"#;
    let said = version.map(|version| format!("keyward-version: {version}\r\n")).unwrap_or_default();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\n{said}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn keyward(address: SocketAddr, words: &[&str]) -> Output {
    let mut command = Command::new(paths::keyward().unwrap());
    command.args(words).env("KEYWARD_SERVER", format!("http://{address}")).env_remove("KEYWARD_TOKEN");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_server_of_another_version_is_told_once_beside_the_data_and_costs_no_request() {
    let (address, requests) = server(Some("99.1.0"));
    let output = keyward(address, &["get", "upstreams", "-o", "json"]);
    let (data, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && data.trim() == "[]", "{data}\n{notes}");
    assert!(
        notes.starts_with("----------\nwarning: ") && notes.trim_end().ends_with("\n----------"),
        "{notes}"
    );
    assert_eq!(notes.matches("99.1.0").count(), 1, "{notes}");
    assert_eq!(requests.load(Ordering::SeqCst), 1);

    let output = keyward(address, &["version", "-o", "yaml"]);
    assert!(text(&output.stdout).contains("version: \"99.1.0\"\n"), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr).matches("warning: ").count(), 1);
}

#[test]
fn the_same_version_and_none_are_no_news() {
    for version in [Some(env!("CARGO_PKG_VERSION")), None] {
        let (address, _) = server(version);
        let output = keyward(address, &["get", "upstreams", "-o", "json"]);
        assert_eq!(text(&output.stderr), "", "{version:?}");
        let output = keyward(address, &["version", "-o", "yaml"]);
        let expected = version.unwrap_or("0.0.1");
        assert!(
            text(&output.stdout).contains(&format!("server:\n  version: \"{expected}\"\n")),
            "{output:?}"
        );
    }
}
