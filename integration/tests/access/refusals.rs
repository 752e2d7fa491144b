//! What the control server does not open.

use std::net::{SocketAddr, TcpStream};

use crate::kit::Server;

#[test]
fn off_loopback_nothing_is_opened_without_protection() {
    let server = Server::new();
    let (rest, xds) = (server.rest.port(), server.xds.port());
    for (flags, says) in [
        (format!("--rest 0.0.0.0:{rest}"), "is not a loopback address, and this port has no TLS"),
        (format!("--rest [::]:{rest}"), "is not a loopback address, and this port has no TLS"),
        (format!("--rest 0.0.0.0:{rest} --require-token"), "this port has no TLS"),
        (format!("--rest 0.0.0.0:{rest} --tls"), "there are no tokens for it"),
        (format!("--xds 0.0.0.0:{xds}"), "proxies are known by certificates there, but"),
        ("--xds-tls".to_owned(), "--xds-tls needs certificates, but"),
    ] {
        let said = server.refuses(&flags);
        assert_eq!(said.code, Some(1), "{flags}: {said:?}");
        let mut lines = said.err.lines();
        let (error, hint) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        assert!(error.starts_with("error: ") && error.contains(says), "{flags}: {said:?}");
        assert!(hint.starts_with("hint: "), "{flags}: {said:?}");
        assert!(!server.data().join("data/keyward.db").exists(), "{flags}: it had begun already");
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let server = Server::new();
    assert_eq!(server.keyward("pki init").code, Some(0));
    let data = server.data().join("data");
    let (certificate, key) = (data.join("pki/ca.crt"), data.join("pki/server.pem"));
    for (certificate, key, says) in [
        ("/nonexistent".into(), key.clone(), "/nonexistent could not be read"),
        (certificate.clone(), certificate.clone(), "holds no private key in PEM form"),
        (certificate, key, "cannot be used together"),
    ] {
        let flags = format!("--tls-cert {} --tls-key {}", certificate.display(), key.display());
        let said = server.refuses(&flags);
        assert!(said.code == Some(1) && said.err.contains(says), "{flags}: {said:?}");
    }
}

#[test]
fn with_protection_it_opens_and_so_it_does_when_told_insecure_in_so_many_words() {
    for (insecure, before, flags) in
        [(false, &["pki init", "token create --role admin"][..], "--tls"), (true, &[], "--insecure-bind")]
    {
        let mut server = Server::new();
        for words in before {
            let said = server.keyward(words);
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        let (rest, xds) = (server.rest.port(), server.xds.port());
        server.start(&format!("--rest 0.0.0.0:{rest} --xds 0.0.0.0:{xds} {flags}"));
        for port in [rest, xds] {
            TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        }
        if insecure {
            assert_eq!(server.ask(None, "GET", "/api/v1/namespaces/team/secrets", None).0, 200);
        }
    }
}
