use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, client::WebPkiServerVerifier, client::danger::ServerCertVerifier};

use super::*;

const NOW: i64 = 1_800_000_000;
const HOUR: SignedDuration = SignedDuration::from_hours(1);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn valid(lifetime: SignedDuration) -> Validity {
    Validity::starting(at(NOW), lifetime).unwrap()
}

fn authority() -> Authority {
    Authority::create(valid(SignedDuration::from_hours(24))).unwrap()
}

fn role(text: &str) -> ProxyRole {
    text.parse().unwrap()
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn roots(authority: &Authority) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(der(authority.certificate())).unwrap();
    Arc::new(roots)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn time(second: i64) -> UnixTime {
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(second.try_into().unwrap()))
}

/// What the library says that the server uses.
fn taken_as_client(trusted: &Authority, certificate: &Issued, second: i64) -> bool {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(trusted), provider()).build().unwrap();
    verifier.verify_client_cert(&der(certificate.certificate()), &[], time(second)).is_ok()
}

fn taken_as_server(trusted: &Authority, certificate: &Issued, name: &str) -> bool {
    let verifier = WebPkiServerVerifier::builder_with_provider(roots(trusted), provider()).build().unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.verify_server_cert(&der(certificate.certificate()), &[], &name, &[], time(NOW)).is_ok()
}

#[test]
fn a_proxy_is_known_by_its_certificate_until_that_ends() {
    let (ours, theirs) = (authority(), authority());
    let issued = ours.proxy(&role("keyward-system~edge"), valid(HOUR)).unwrap();
    let facts = Facts::of_pem(issued.reveal().as_bytes()).unwrap();
    assert_eq!(facts.proxy_role().unwrap(), role("keyward-system~edge"));
    assert_eq!((facts.not_before, facts.not_after), (at(NOW - 300), at(NOW + 3600)));
    for (second, taken) in [(NOW - 301, false), (NOW - 300, true), (NOW + 3600, true), (NOW + 3601, false)] {
        assert_eq!(taken_as_client(&ours, &issued, second), taken, "{}", second - NOW);
    }
    assert!(!taken_as_client(&theirs, &issued, NOW), "an authority vouches for another one's certificates");
}

#[test]
fn a_server_is_known_by_its_names() {
    let ours = authority();
    let hosts = ["localhost", "127.0.0.1", "::1", "*.control.example"].map(str::to_owned);
    let issued = ours.server(&hosts, valid(HOUR)).unwrap();
    let facts = Facts::of_pem(issued.certificate().as_bytes()).unwrap();
    assert_eq!(facts.uris, [CONTROL_URI]);
    assert_eq!(facts.hosts, hosts);
    for (name, taken) in [
        ("localhost", true),
        ("127.0.0.1", true),
        ("::1", true),
        ("a.control.example", true),
        ("other", false),
    ] {
        assert_eq!(taken_as_server(&ours, &issued, name), taken, "{name}");
    }
    for host in ["", "a b", "a..b", "https://x", "x\0", "ä.example", "*"] {
        assert!(ours.server(&[host.to_owned()], valid(HOUR)).is_err(), "{host:?}");
    }
}

#[test]
fn a_proxy_cannot_be_the_server_nor_the_server_a_proxy() {
    let ours = authority();
    let server = ours.server(&["localhost".to_owned()], valid(HOUR)).unwrap();
    let proxy = ours.proxy(&role("a~b"), valid(HOUR)).unwrap();
    assert!(taken_as_server(&ours, &server, "localhost") && !taken_as_server(&ours, &proxy, "localhost"));
    assert!(taken_as_client(&ours, &proxy, NOW) && !taken_as_client(&ours, &server, NOW));
    assert!(Facts::of_pem(server.certificate().as_bytes()).unwrap().proxy_role().is_err());
}

#[test]
fn nothing_outlives_its_authority() {
    let ours = authority();
    let issued = ours.proxy(&role("a~b"), valid(SignedDuration::from_hours(24 * 365))).unwrap();
    let facts = Facts::of_pem(issued.certificate().as_bytes()).unwrap();
    assert_eq!(facts.not_after, at(NOW + 24 * 3600));
    let past = Validity::starting(at(NOW), SignedDuration::from_hours(-1)).unwrap();
    assert!(matches!(ours.proxy(&role("a~b"), past), Err(CertificateError::BadValidity)));
}

#[test]
fn an_authority_goes_on_after_it_was_read_back() {
    let ours = authority();
    let again = Authority::from_pem(ours.certificate(), &ours.reveal_key()).unwrap();
    let issued = again.proxy(&role("a~b"), valid(HOUR)).unwrap();
    assert!(taken_as_client(&ours, &issued, NOW));
    // With the one that comes after it in the same file: authorities are changed like that.
    let both = format!("{}{}", ours.certificate(), authority().certificate());
    let again = Authority::from_pem(&both, &ours.reveal_key()).unwrap();
    assert!(taken_as_client(&ours, &again.proxy(&role("a~b"), valid(HOUR)).unwrap(), NOW));
    assert!(Authority::from_pem(ours.certificate(), &authority().reveal_key()).is_err());
}

#[test]
fn nothing_of_a_key_is_printed() {
    let ours = authority();
    let issued = ours.proxy(&role("a~b"), valid(HOUR)).unwrap();
    let printed = format!("{ours:?} {issued:?}");
    assert!(!printed.contains("KEY") && printed.len() < 120, "{printed}");
    assert!(issued.reveal().contains("PRIVATE KEY") && !issued.certificate().contains("PRIVATE KEY"));
}
