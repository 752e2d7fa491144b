//! The port over starts of the server, and of Envoys.

use std::net::TcpListener;
use std::process::Command;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Process, free_address};
use serde_json::{Value, json};

use crate::kit::Site;

pub(crate) fn a_server_that_died_is_followed_by_one_that_adopts_the_proxy(site: &mut Site) {
    let pid = site.stack.envoy_pid().unwrap();
    let (_, before) = site.ask("GET", "/logging");
    let mut follower = crate::ends::follow(site, &[]);
    site.stack.kill_server().unwrap();
    follower.kill().unwrap();
    follower.wait().unwrap();
    site.stack.set_flags(vec!["--proxy-admin-read-only".to_owned()]);
    site.stack.start_server().unwrap();
    site.serves();
    assert_eq!(site.stack.envoy_pid().unwrap(), pid, "{}", site.stack.logs());
    // What was raised for a follower is put back, on a port as well on which nobody may change anything.
    site.becomes("/logging", &before);
    // What the Envoy logged before is there again.
    let (code, log) = site.rest("/keyward/v1/logs?component=gateway-proxy");
    assert!(code == 200 && log.contains("[admin] change log level"), "{code} {log}");
}

pub(crate) fn a_read_only_port_changes_nothing(site: &Site) {
    let (_, before) = site.ask("GET", "/logging");
    for path in ["/config_dump?include_eds", "/logging", "/stats", "/ready"] {
        assert_eq!(site.ask("GET", path).0, 200, "{path}");
    }
    assert_eq!(site.ask("POST", "/config_dump").0, 200);
    for path in [
        "/logging?level=debug",
        "/logging?main=debug",
        "/quitquitquit",
        "/runtime_modify?a=b",
        "/healthcheck/fail",
        "/drain_listeners",
        "/cpuprofiler?enable=y",
        "/reset_counters",
    ] {
        let (code, said) = site.ask("POST", path);
        assert!(code == 403 && said.contains("read-only"), "{path}: {code} {said}");
    }
    assert_eq!(site.ask("GET", "/logging").1, before);
    site.serves();
    // The log is there all the same, and it is said that the level is not changed.
    let mut child = site
        .command(&["proxy", "logs", "-f"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut note = String::new();
    let mut notes = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut notes, &mut note).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(note.contains("the log level stays as it is") && note.contains("read-only"), "{note}");
}

/// Servers from before this had the admin of their Envoy on the port itself.
pub(crate) fn who_is_on_the_port_of_before_is_replaced(site: &mut Site) {
    site.stack.server_mut().unwrap().stop().unwrap();
    let (folder, admin) = (site.stack.data().join("envoy"), site.stack.admin());
    let path = folder.join("bootstrap.json");
    let mut bootstrap: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let address = json!({ "address": admin.ip().to_string(), "port_value": admin.port() });
    bootstrap["admin"]["address"] = json!({ "socket_address": address });
    std::fs::write(&path, bootstrap.to_string()).unwrap();
    // Nothing tells of it but its command line.
    let _ = std::fs::remove_file(folder.join("envoy.json"));
    let mut command = Command::new(paths::envoy().unwrap());
    command.arg("--config-path").arg(&path).args(["--disable-hot-restart", "--concurrency", "1"]);
    let mut old = Process::start(&mut command, &site.stack.folder().join("old.log")).unwrap();
    site.soon("the Envoy of before", || site.stack.proxy().get("/server_info"));
    site.stack.set_flags(Vec::new());
    site.stack.start_server().unwrap();
    site.serves();
    assert!(old.ended().unwrap().is_some(), "it still runs: {}", site.stack.logs());
    let (code, said) = site.ask("GET", "/logging");
    assert!(code == 200 && said.contains("active loggers"), "{code} {said}");
}

pub(crate) fn a_taken_port_ends_the_start(site: &Site) {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(paths::keyward().unwrap());
    command.args(["serve", "--rest", "127.0.0.1:0", "--xds", "127.0.0.1:0", "--snapshots", "127.0.0.1:0"]);
    command.args(["--dev-admin", &free_address().unwrap().to_string(), "--admin", &taken]);
    command.arg("--envoy").arg(paths::envoy().unwrap()).arg("--data").arg(data.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("{taken} is not free for the admin of the gateway proxy")), "{said}");
    assert!(said.contains("hint: choose another address with --admin"), "{said}");
    assert!(!data.path().join("envoy/envoy.json").exists(), "an Envoy was started");
    let mut command = Command::new(paths::keyward().unwrap());
    command.args(["serve", "--admin", "0.0.0.0:1", "--envoy"]).arg(paths::envoy().unwrap());
    let output = command.arg("--data").arg(data.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--admin 0.0.0.0:1 is not a loopback address, and this port has no TLS"), "{said}");
    assert!(site.ask("GET", "/ready").0 == 200);
}

pub(crate) fn where_there_are_tokens_they_are_asked_for(site: &Site) {
    let token = |role: &str| {
        let said = site.stack.run(&["token", "create", "--role", role]).unwrap();
        said.split_whitespace().find(|word| word.starts_with("kwt_")).expect("a token").to_owned()
    };
    let (viewer, admin) = (token("viewer"), token("admin"));
    let code = |method: &str, path: &str, token: Option<&str>| {
        let mut headers = Headers::new().with("host", "localhost");
        if let Some(token) = token {
            headers.add("authorization", format!("Bearer {token}"));
        }
        site.ask_with(method, path, &headers).0
    };
    for (method, path, for_viewer) in [
        ("GET", "/stats/prometheus", 200),
        ("GET", "/ready", 200),
        ("GET", "/logging", 200),
        ("GET", "/config_dump", 403),
        ("POST", "/config_dump", 403),
        ("POST", "/logging?level=warning", 403),
        ("POST", "/reset_counters", 403),
    ] {
        assert_eq!(code(method, path, None), 401, "{method} {path}");
        assert_eq!(code(method, path, Some(&viewer)), for_viewer, "{method} {path}");
        assert_eq!(code(method, path, Some(&admin)), 200, "{method} {path}");
    }
    let (code, said) = site.fails(&["proxy", "dump"]);
    assert!(code == 1 && said.contains("does not let us in") && said.contains("--token-file"), "{said}");
    let with_token = |words: &[&str], token: &str| {
        let output = site.command(words).env("KEYWARD_TOKEN", token).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(with_token(&["proxy", "stats", "--filter", "^server.live$"], &viewer).1, "server.live: 1\n");
    let (code, _, said) = with_token(&["proxy", "logs"], &viewer);
    assert!(code == Some(1) && said.contains("admin"), "{said}");
    let (code, log, _) = with_token(&["proxy", "logs"], &admin);
    assert!(code == Some(0) && !log.is_empty());
    let logs = site.soon("the log of who asked", || {
        let logs = site.stack.logs();
        ensure!(logs.contains("asked of the proxy's admin"));
        Ok(logs)
    });
    assert!(!logs.contains(&viewer) && !logs.contains(&admin), "a token is in the log");
}
