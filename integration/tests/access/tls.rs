//! REST over TLS, as real `kubectl` uses it.

use keyward_integration::stack::wait;

use crate::kit::{SOON, Server, secret, upstream};

#[test]
fn kubectl_uses_tls_and_tokens_with_a_certificate_that_is_made_in_one_step() {
    let mut server = Server::new();
    server.start("--tls --require-token");
    let admin = server.token("--role admin");
    let viewer = server.token("--role viewer");
    let apply = ["create", "-f", "-"];

    let said = server.kubectl(Some(&admin), &apply, Some(&upstream("a")));
    assert_eq!(said.code, Some(0), "{said:?}\n{}", server.log());
    let said = server.kubectl(Some(&viewer), &["get", "upstreams", "-n", "team", "-o", "name"], None);
    assert_eq!(said.out, "upstream.service.keyward.io/a", "{said:?}");
    let said = server.kubectl(Some(&viewer), &apply, Some(&upstream("b")));
    assert!(said.code == Some(1) && said.err.contains("(Forbidden)"), "{said:?}");
    assert!(said.err.contains("changes need the role editor or admin"), "{said:?}");
    let said = server.kubectl(Some(&viewer), &["get", "secrets", "-n", "team"], None);
    assert!(said.code == Some(1) && said.err.contains("Secrets need the role admin"), "{said:?}");
    let said = server.kubectl(Some(&admin), &apply, Some(&secret("alice", "alice-key")));
    assert_eq!(said.code, Some(0), "{said:?}");
    for (token, verb, expected) in
        [(&viewer, "list", "yes"), (&viewer, "delete", "no"), (&admin, "delete", "yes")]
    {
        let said = server.kubectl(Some(token), &["auth", "can-i", verb, "upstreams", "-n", "team"], None);
        assert!(said.out.starts_with(expected), "{verb}: {said:?}");
    }
    assert_eq!(server.keyward("token delete viewer-1").code, Some(0));
    let said = server.kubectl(Some(&viewer), &["get", "upstreams", "-n", "team"], None);
    assert!(said.code == Some(1) && said.err.contains("the token is unknown"), "{said:?}");
}

#[test]
fn a_client_that_trusts_somebody_else_does_not_talk() {
    let mut server = Server::new();
    let other = server.data().join("other");
    assert_eq!(server.keyward(&format!("pki init --dir {}", other.display())).code, Some(0));
    let pem = other.join("server.pem");
    server.start(&format!("--tls-cert {0} --tls-key {0}", pem.display()));
    assert_eq!(server.keyward("pki init").code, Some(0));
    let token = server.token("--role viewer");
    let said = server.kubectl(Some(&token), &["get", "--raw", "/version"], None);
    assert!(said.code == Some(1) && said.err.contains("x509"), "{said:?}");
    std::fs::copy(other.join("ca.crt"), server.data().join("data/pki/ca.crt")).unwrap();
    let said = server.kubectl(Some(&token), &["get", "--raw", "/version"], None);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_renewed_certificate_is_taken_up_without_a_restart() {
    let mut server = Server::new();
    assert_eq!(server.keyward("pki init").code, Some(0));
    server.start("--tls");
    // Over TLS, kubectl does not begin without credentials.
    let token = server.token("--role viewer");
    let ask = |server: &Server, name: &str| {
        server.kubectl(Some(&token), &["--tls-server-name", name, "get", "--raw", "/version"], None)
    };
    assert_eq!(ask(&server, "localhost").code, Some(0));
    let said = ask(&server, "renewed.example");
    assert!(said.code == Some(1) && said.err.contains("renewed.example"), "{said:?}");
    let renewed = server.keyward("pki renew --host localhost --host renewed.example");
    assert_eq!(renewed.code, Some(0), "{renewed:?}");
    let taken_up = wait::until(SOON, "the new certificate to be in use", || {
        let said = ask(&server, "renewed.example");
        anyhow::ensure!(said.code == Some(0), "{said:?}");
        Ok(())
    });
    taken_up.unwrap_or_else(|error| panic!("{error:#}\n{}", server.log()));
    assert_eq!(ask(&server, "localhost").code, Some(0));
}
