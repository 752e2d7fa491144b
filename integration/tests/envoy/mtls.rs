//! Proxies are known by their certificates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use keyward_integration::stack::{Options, Process, Proxy, Sample, Stack, Tap, Traffic, wait};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{HOST, OPEN_HOST, SOON, at_once, eventually, secret, site};

/// A control server that demands certificates, and no Envoy.
fn start(flags: &[&str]) -> Stack {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let options = Options {
        no_envoy: true,
        flags: words(&[&["--xds-tls"], flags].concat()),
        before: vec![words(&["pki", "init"])],
        ..Options::default()
    };
    Stack::start(options).unwrap()
}

/// An Envoy with the bootstrap configuration that `keyward pki proxy` makes.
struct Certified {
    proxy: Proxy,
    tap: Tap,
    _process: Process,
    folder: TempDir,
}

/// Makes the certificate of a proxy, and returns the path of its bootstrap configuration. `more` may
/// name another authority.
fn make(stack: &Stack, name: &str, server: &Tap, more: &[&str]) -> PathBuf {
    let (server, admin) = (server.address().to_string(), stack.admin().to_string());
    let words = ["pki", "proxy", name, "--server", &server, "--admin", &admin];
    PathBuf::from(stack.run(&[&words, more].concat()).unwrap())
}

impl Certified {
    fn start(stack: &Stack, tap: Tap, bootstrap: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let proxy = stack.proxy();
        let process = proxy.start_with(folder.path(), bootstrap).unwrap();
        wait::until(SOON, "Envoy's admin port to answer", || proxy.get("/server_info").map(|_| ())).unwrap();
        Self { proxy, tap, _process: process, folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("envoy.log")).unwrap()
    }

    fn has_no_configuration(&self) {
        let config: Value = serde_json::from_str(&self.proxy.get("/config_dump").unwrap()).unwrap();
        let text = config.to_string();
        assert!(!text.contains("echo_test") && !text.contains("dynamic_listeners"), "it was told: {text}");
        assert_eq!(self.proxy.get("/listeners").unwrap(), "");
    }
}

fn tap(stack: &Stack) -> Tap {
    Tap::start(stack.xds()).unwrap()
}

fn server_says(stack: &Stack, text: &str) {
    let said = wait::until(SOON, &format!("the control server to say {text:?}"), || {
        anyhow::ensure!(stack.logs().contains(text), "it does not");
        Ok(())
    });
    said.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

#[test]
fn a_proxy_with_its_certificate_serves_and_nothing_can_be_overheard() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &[]);
    let own = Certified::start(&stack, tap, &bootstrap);
    site(&stack, &[("alice", "alice-key")]);
    at_once(&stack, HOST, Some("wrong"), Err(401));
    stack.rest().delete("Secret", "team", "alice").unwrap();
    eventually(&stack, HOST, Some("alice-key"), Err(401));
    let heard = own.tap.recorded();
    assert!(heard.len() > 100_000, "the tap heard {} bytes: the filter alone is more", heard.len());
    for text in ["echo_test", "keyward.api_key", "gateway-proxy", "alice"] {
        let found = heard.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!found, "{text} was sent in plain");
    }
}

#[test]
fn the_supervised_envoy_has_a_certificate_by_itself() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let options =
        Options { flags: words(&["--xds-tls"]), before: vec![words(&["pki", "init"])], ..Options::default() };
    let mut stack = Stack::start(options).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    // A new server makes a new certificate, and goes on with the same Envoy.
    let before = stack.envoy_pid().unwrap();
    stack.kill_server().unwrap();
    stack.start_server().unwrap();
    stack.rest().create(&secret("bob", "bob-key")).unwrap();
    eventually(&stack, HOST, Some("bob-key"), Ok("bob"));
    assert_eq!(stack.envoy_pid().unwrap(), before);
}

/// What must hold of an Envoy that is refused: it is told nothing, for as long as one looks.
fn stays_outside(stack: &Stack, own: &Certified) {
    let looked = wait::throughout(Duration::from_secs(3), || {
        own.has_no_configuration();
        anyhow::ensure!(stack.connect().is_err(), "the gateway listens");
        for stat in ["cluster_manager.cds.update_success", "listener_manager.lds.update_success"] {
            anyhow::ensure!(own.proxy.stat(stat)? == 0, "{stat}");
        }
        Ok(())
    });
    looked.unwrap_or_else(|error| panic!("{error:#}\n{}\n{}", stack.logs(), own.log()));
    let log = stack.logs();
    assert!(!log.contains("key stream subscribed") && !log.contains("proxy connected"), "{log}");
}

#[test]
fn a_certificate_of_another_authority_opens_nothing() {
    let stack = start(&[]);
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().join("pki").display().to_string();
    stack.run(&["pki", "init", "--dir", &folder]).unwrap();
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &["--dir", &folder]);
    // It trusts the control server, so that it is the control server that refuses.
    let trusted = bootstrap.with_file_name("ca.crt");
    std::fs::copy(stack.data().join("pki/ca.crt"), trusted).unwrap();
    let own = Certified::start(&stack, tap, &bootstrap);
    server_says(&stack, "refused: the handshake failed: invalid peer certificate");
    stays_outside(&stack, &own);
}

#[test]
fn an_expired_certificate_opens_nothing() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &["--expires", "1s"]);
    std::thread::sleep(Duration::from_millis(2100));
    let own = Certified::start(&stack, tap, &bootstrap);
    server_says(&stack, "refused: the handshake failed: invalid peer certificate: certificate expired");
    stays_outside(&stack, &own);
}

#[test]
fn a_revoked_certificate_is_good_for_nothing_from_then_on() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &[]);
    let own = Certified::start(&stack, tap, &bootstrap);
    site(&stack, &[("alice", "alice-key")]);
    let list = stack.run(&["pki", "revoke", "gateway-proxy"]).unwrap();
    assert_eq!(PathBuf::from(list), stack.data().join("pki/revoked.crl"));
    server_says(&stack, "connection ended: who is trusted has changed");
    server_says(&stack, "refused: the handshake failed: invalid peer certificate: Revoked");
    // Outside, it serves on with what it holds.
    let taken = own.proxy.stat("cluster_manager.cds.update_success").unwrap();
    stack.rest().create(&secret("late", "late-key")).unwrap();
    let missed = wait::throughout(Duration::from_secs(2), || {
        at_once(&stack, HOST, Some("late-key"), Err(401));
        at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
        let now = own.proxy.stat("cluster_manager.cds.update_success")?;
        anyhow::ensure!(now == taken, "it took {now} configurations, and not {taken}");
        Ok(())
    });
    missed.unwrap_or_else(|error| panic!("{error:#}\n{}\n{}", stack.logs(), own.log()));
    // With another certificate it is the proxy again.
    stack.run(&["pki", "proxy", "gateway-proxy", "--renew"]).unwrap();
    eventually(&stack, HOST, Some("late-key"), Ok("late"));
}

#[test]
fn a_proxy_that_says_to_be_another_is_told_nothing() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "other", &tap, &[]);
    let mut config: Value = serde_json::from_slice(&std::fs::read(&bootstrap).unwrap()).unwrap();
    assert_eq!(config["node"]["metadata"]["role"], "keyward-system~other");
    config["node"]["metadata"]["role"] = "keyward-system~gateway-proxy".into();
    std::fs::write(&bootstrap, config.to_string()).unwrap();
    let own = Certified::start(&stack, tap, &bootstrap);
    server_says(&stack, "a proxy is refused: its certificate is for another role");
    stays_outside(&stack, &own);
    // PERMISSION_DENIED, with its message as gRPC encodes it.
    assert!(own.log().contains("closed: 7, the%20certificate%20is%20for%20the%20role"), "{}", own.log());
}

#[test]
fn a_proxy_without_a_certificate_or_without_tls_is_told_nothing() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &[]);
    let mut config: Value = serde_json::from_slice(&std::fs::read(&bootstrap).unwrap()).unwrap();
    let tls = "/static_resources/clusters/0/transport_socket/typed_config/common_tls_context";
    let tls = config.pointer_mut(tls).and_then(Value::as_object_mut).unwrap();
    assert!(tls.remove("tls_certificate_sds_secret_configs").is_some());
    std::fs::write(&bootstrap, config.to_string()).unwrap();
    let own = Certified::start(&stack, tap, &bootstrap);
    server_says(&stack, "refused: the handshake failed: peer sent no certificates");
    stays_outside(&stack, &own);
    drop(own);

    let tap = Tap::start(stack.xds()).unwrap();
    let cluster = config.pointer_mut("/static_resources/clusters/0").unwrap();
    assert!(cluster.as_object_mut().unwrap().remove("transport_socket").is_some());
    let port = "/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/port_value";
    *cluster.pointer_mut(port).unwrap() = tap.address().port().into();
    std::fs::write(&bootstrap, config.to_string()).unwrap();
    let own = Certified::start(&stack, tap, &bootstrap);
    server_says(&stack, "refused: the handshake failed: received corrupt message");
    stays_outside(&stack, &own);
}

#[test]
fn a_proxy_does_not_take_a_stranger_for_its_control_server() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &[]);
    // Another proxy of the same authority, in the place of the server.
    let tap_of_other = Tap::start(stack.xds()).unwrap();
    make(&stack, "other", &tap_of_other, &[]);
    let pki = stack.data().join("pki");
    std::fs::copy(pki.join("proxies/other/identity.pem"), pki.join("server.pem")).unwrap();
    server_says(&stack, "took up new certificates");
    let own = Certified::start(&stack, tap, &bootstrap);
    wait::until(SOON, "Envoy to refuse it", || {
        let failed = own.proxy.stat("cluster.keyward-control.ssl.fail_verify_error")?
            + own.proxy.stat("cluster.keyward-control.ssl.fail_verify_san")?
            + own.proxy.stat("cluster.keyward-control.ssl.connection_error")?;
        anyhow::ensure!(failed > 0, "not yet");
        Ok(())
    })
    .unwrap();
    stays_outside(&stack, &own);
}

#[test]
fn certificates_are_renewed_under_traffic_and_nobody_restarts() {
    let stack = start(&[]);
    let tap = tap(&stack);
    let bootstrap = make(&stack, "gateway-proxy", &tap, &["--expires", "12s"]);
    let own = Certified::start(&stack, tap, &bootstrap);
    site(&stack, &[("steady", "steady-key")]);
    let samples = [
        Sample::new(HOST, Some("steady-key"), 200),
        Sample::new(HOST, Some("wrong-key"), 401),
        Sample::new(OPEN_HOST, None, 200),
    ];
    let traffic = Traffic::start(&stack, 2, &samples);
    // The server first: the proxy has to take the new certificate when it comes back.
    stack.run(&["pki", "renew", "--host", "renewed.example"]).unwrap();
    server_says(&stack, "took up new certificates");
    // Each connection ends, the one for xDS and those of the workers for keys.
    let ended = wait::until(SOON, "all connections to end", || {
        let open = own.proxy.stat("cluster.keyward-control.upstream_cx_active")?;
        anyhow::ensure!(open == 0, "{open} are open");
        Ok(())
    });
    ended.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    server_says(&stack, "connection ended: the certificate of the client has expired");
    // Outside with its old certificate, it serves on with what it holds.
    stack.rest().create(&secret("late", "late-key")).unwrap();
    traffic.more(100, SOON).unwrap();
    let missed = wait::throughout(Duration::from_secs(2), || {
        at_once(&stack, HOST, Some("late-key"), Err(401));
        Ok(())
    });
    missed.unwrap();
    stack.run(&["pki", "proxy", "gateway-proxy", "--renew"]).unwrap();
    eventually(&stack, HOST, Some("late-key"), Ok("late"));
    let seen = own.proxy.get("/certs").unwrap();
    assert!(seen.contains("spiffe://keyward/proxy/keyward-system~gateway-proxy"), "{seen}");
    assert!(traffic.stop().unwrap() > 200);
    // And both once more, before anything has expired.
    stack.run(&["pki", "renew"]).unwrap();
    stack.run(&["pki", "proxy", "gateway-proxy", "--renew"]).unwrap();
    stack
        .rest()
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
            "metadata": { "namespace": "team", "name": "last", "labels": { "team": "a" } },
            "stringData": { "api-key": "last-key" },
        }))
        .unwrap();
    eventually(&stack, HOST, Some("last-key"), Ok("last"));
}
