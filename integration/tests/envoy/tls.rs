//! Connections with TLS: certificates come, go and change while others are under way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use keyward_integration::stack::{Options, Stack, free_address, wait};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::kit::{SOON, secret, secured, site, virtual_service};

/// The host of all of these tests; `web` and `foreign` of `testdata/tls` are for it.
pub(crate) const NAME: &str = "example.com";

fn file(name: &str) -> PathBuf {
    paths::testdata("tls").join(name)
}

pub(crate) fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// A Secret with a certificate of `testdata/tls`.
fn certificate(name: &str, of: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": { "namespace": "team", "name": name },
        "stringData": { "tls.crt": text(&format!("{of}.crt")), "tls.key": text(&format!("{of}.key")) },
    })
}

/// A gateway with TLS on this address, and the plain one that the stack waits for.
fn gateways(stack: &Stack, address: SocketAddr) {
    for (name, address, ssl) in [("plain", stack.gateway(), false), ("tls", address, true)] {
        let gateway = json!({
            "apiVersion": "gateway.keyward.io/v1",
            "kind": "Gateway",
            "metadata": { "namespace": "team", "name": name },
            "spec": {
                "bindAddress": address.ip().to_string(),
                "bindPort": address.port(),
                "ssl": ssl,
                "httpGateway": {},
            },
        });
        stack.rest().apply(&gateway).unwrap();
    }
}

/// A virtual service with TLS.
pub(crate) fn with_tls(name: &str, host: &str, options: Value, ssl: Value) -> Value {
    let mut service = virtual_service(name, &[host], options, &[("/", json!({}))]);
    service["spec"]["sslConfig"] = ssl;
    service
}

/// A connection with TLS.
struct Tls {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
}

/// Shakes hands; `version` may be the only one that is spoken.
fn connect(address: SocketAddr, name: &str) -> anyhow::Result<Tls> {
    let mut roots = RootCertStore::empty();
    for authority in ["ca", "other-ca"] {
        for certificate in CertificateDer::pem_file_iter(file(&format!("{authority}.crt")))? {
            roots.add(certificate?)?;
        }
    }
    let verifier = WebPkiServerVerifier::builder(Arc::new(roots)).build()?;
    let mut config = ClientConfig::builder().with_webpki_verifier(verifier).with_no_client_auth();
    // Every handshake is a full one, so that it shows the certificate.
    config.resumption = rustls::client::Resumption::disabled();
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(SOON))?;
    let mut session = ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_owned())?)?;
    let mut stream = stream;
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    Ok(Tls { stream: BufReader::new(StreamOwned::new(session, stream)) })
}

impl Tls {
    /// Whether the other side has shown this certificate of `testdata/tls`.
    fn showed(&self, name: &str) -> bool {
        let shown = self.stream.get_ref().conn.peer_certificates().unwrap_or_default();
        let own = CertificateDer::from_pem_file(file(&format!("{name}.crt"))).unwrap();
        shown.first() == Some(&own)
    }

    /// The status of a request.
    fn get(&mut self, host: &str, key: Option<&str>) -> anyhow::Result<u16> {
        let key = key.map(|key| format!("api-key: {key}\r\n")).unwrap_or_default();
        write!(self.stream.get_mut(), "GET / HTTP/1.1\r\nhost: {host}\r\n{key}\r\n")?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(self.stream.read_line(&mut head)? > 0, "the answer ends early: {head:?}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")
    }
}

/// Waits until handshakes show this certificate, and requests get this status, on many connections in
/// a row: each worker of Envoy hears of a change by itself.
pub(crate) fn eventually(stack: &Stack, address: SocketAddr, name: &str, shown: &str, status: u16) {
    let settled = wait::until(SOON, &format!("{name} to be served with {shown}"), || {
        for _ in 0..8 {
            let mut connection = connect(address, name)?;
            ensure!(connection.showed(shown), "another certificate");
            let got = connection.get(name, None)?;
            ensure!(got == status, "status {got}");
        }
        Ok(())
    });
    settled.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
}

pub(crate) fn start() -> (Stack, SocketAddr) {
    let files = paths::testdata("").display().to_string();
    let flags = vec!["--tls-files".to_owned(), files];
    let stack = Stack::start(Options { flags, ..Options::default() }).unwrap();
    let address = free_address().unwrap();
    gateways(&stack, address);
    (stack, address)
}

fn stat(stack: &Stack, name: &str) -> u64 {
    stack.proxy().stat(name).unwrap()
}

/// What would show that a listener was touched.
fn listener_changes(stack: &Stack) -> [u64; 4] {
    ["listener_added", "listener_modified", "listener_in_place_updated", "total_filter_chains_draining"]
        .map(|name| stat(stack, &format!("listener_manager.{name}")))
}

#[test]
fn a_new_certificate_is_for_new_handshakes_and_no_connection_notices() {
    let (stack, address) = start();
    stack.rest().apply(&certificate("site", "web")).unwrap();
    let ssl = json!({ "secretRef": { "name": "site" } });
    stack.rest().apply(&with_tls("site", NAME, json!({}), ssl)).unwrap();
    eventually(&stack, address, NAME, "web", 200);

    let mut open = connect(address, NAME).unwrap();
    assert_eq!(open.get(NAME, None).unwrap(), 200);
    let before = listener_changes(&stack);
    for (round, next) in ["foreign", "web", "foreign"].into_iter().enumerate() {
        stack.rest().apply(&certificate("site", next)).unwrap();
        eventually(&stack, address, NAME, next, 200);
        assert_eq!(open.get(NAME, None).unwrap(), 200, "round {round}");
        assert!(open.showed("web"));
    }
    assert_eq!(listener_changes(&stack), before);
}

#[test]
fn keys_are_asked_for_behind_tls_too() {
    let (stack, address) = start();
    stack.rest().apply(&certificate("site", "web")).unwrap();
    site(&stack, &[("holder", "a-key")]);
    let ssl = json!({ "secretRef": { "name": "site" } });
    stack.rest().apply(&with_tls("tls-site", NAME, secured(), ssl)).unwrap();
    eventually(&stack, address, NAME, "web", 401);
    let mut open = connect(address, NAME).unwrap();
    assert_eq!(open.get(NAME, Some("a-key")).unwrap(), 200);
    assert_eq!(open.get(NAME, Some("another")).unwrap(), 401);
    // A new key is known on a connection that was there before.
    stack.rest().apply(&secret("second", "second-key")).unwrap();
    wait::until(SOON, "the second key to be known", || {
        let status = open.get(NAME, Some("second-key"))?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_lost_secret_is_reported_and_what_is_served_goes_on() {
    let (mut stack, address) = start();
    stack.rest().apply(&certificate("site", "web")).unwrap();
    let ssl = json!({ "secretRef": { "name": "site" } });
    stack.rest().apply(&with_tls("site", NAME, json!({}), ssl)).unwrap();
    eventually(&stack, address, NAME, "web", 200);
    let rejected = |stack: &Stack| {
        wait::until(SOON, "the virtual service to be rejected", || {
            let (state, reason) = stack.rest().status("VirtualService", "team", "site")?;
            ensure!(
                state == "Rejected" && reason.contains("Secret team/site is not found"),
                "{state}: {reason}"
            );
            Ok(())
        })
        .unwrap();
    };
    stack.rest().delete("Secret", "team", "site").unwrap();
    rejected(&stack);
    eventually(&stack, address, NAME, "web", 200);

    stack.kill_server().unwrap();
    stack.kill_envoy().unwrap();
    stack.start_server().unwrap();
    rejected(&stack);
    eventually(&stack, address, NAME, "web", 200);

    stack.rest().apply(&certificate("site", "foreign")).unwrap();
    eventually(&stack, address, NAME, "foreign", 200);
    let (state, reason) = stack.rest().status("VirtualService", "team", "site").unwrap();
    assert_eq!(state, "Accepted", "{reason}");
}

#[test]
fn files_that_are_not_there_close_their_own_chain_alone() {
    let (stack, address) = start();
    let files = |folder: &str| json!({ "sslFiles": { "tlsCert": format!("{folder}/web.crt"), "tlsKey": format!("{folder}/web.key") } });
    let here = files(&paths::testdata("tls").display().to_string());
    let mut missing = files(&paths::testdata("nowhere").display().to_string());
    missing["sniDomains"] = json!(["localhost"]);
    stack.rest().apply(&with_tls("missing", "localhost", json!({}), missing)).unwrap();
    stack.rest().apply(&with_tls("here", NAME, json!({}), here)).unwrap();
    eventually(&stack, address, NAME, "web", 200);
    wait::until(SOON, "the refusal to be told", || {
        let (state, reason) = stack.rest().status("VirtualService", "team", "missing")?;
        ensure!(state == "Rejected" && reason.contains("/nowhere"), "{state}: {reason}");
        Ok(())
    })
    .unwrap();
    let (state, reason) = stack.rest().status("VirtualService", "team", "here").unwrap();
    assert_eq!(state, "Accepted", "{reason}");
    // What cannot be served is withheld: who asks for it comes to the other chain, and no further.
    eventually(&stack, address, "localhost", "web", 421);
    eventually(&stack, address, NAME, "web", 200);
}

#[test]
fn private_keys_are_in_no_dump_and_no_log() {
    let (stack, address) = start();
    stack.rest().apply(&certificate("site", "web")).unwrap();
    let ssl = json!({ "secretRef": { "name": "site" } });
    stack.rest().apply(&with_tls("site", NAME, json!({}), ssl)).unwrap();
    eventually(&stack, address, NAME, "web", 200);
    let dump = stack.proxy().get("/config_dump").unwrap();
    assert!(dump.contains("tls:team/site"), "the secret is there by name");
    let logs = stack.logs();
    let key = text("web.key");
    for line in key.lines().filter(|line| !line.starts_with('-')) {
        assert!(!dump.contains(line) && !logs.contains(line));
    }
}
