//! Tests of certificates and keys, with what OpenSSL writes (`testdata/key-forms`).

use std::path::Path;

use super::*;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/key-forms").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn keys_belong_to_their_certificates_in_every_form() {
    let pairs = [
        ("rsa.crt", "rsa.key"),
        ("rsa.crt", "rsa-pkcs1.key"),
        ("ec.crt", "ec.key"),
        ("ec.crt", "ec-pkcs8.key"),
        ("p384.crt", "p384.key"),
    ];
    for (cert, key) in pairs {
        let (cert_pem, key_pem) = (file(cert), file(key));
        assert_eq!(chain(&cert_pem).as_deref().map(str::as_bytes), Ok(cert_pem.as_slice()), "{cert}");
        let read = private_key(&key_pem).unwrap_or_else(|why| panic!("{key}: {why}"));
        assert_eq!(read.expose().as_bytes(), key_pem);
        assert!(belong_together(&cert_pem, &key_pem), "{cert} and {key}");
    }
    for (cert, key) in [("rsa.crt", "ec.key"), ("ec.crt", "rsa.key"), ("ec.crt", "p384.key")] {
        assert!(!belong_together(&file(cert), &file(key)), "{cert} and {key}");
    }
}

#[test]
fn only_the_first_certificate_of_a_chain_needs_a_key_that_the_proxy_takes() {
    let long = [file("ec.crt"), file("ed25519.crt")].concat();
    assert!(chain(&long).is_ok());
    assert!(belong_together(&long, &file("ec.key")));
    let other_way = [file("ed25519.crt"), file("ec.crt")].concat();
    assert!(chain(&other_way).is_err());
    // A root certificate may have any key.
    assert!(roots(&other_way).is_ok());
}

#[test]
fn what_the_proxy_would_refuse_is_refused() {
    let kinds = "must have an RSA key, or one of the curves P-256, P-384 and P-521";
    let certificates = [
        ("ed25519.crt", kinds),
        ("k256.crt", kinds),
        ("rsa1024.crt", "an RSA key needs 2048 bits or more"),
        ("rsa.key", NO_CERTIFICATE),
    ];
    for (name, expected) in certificates {
        assert_eq!(chain(&file(name)), Err(expected.to_owned()), "{name}");
    }
    let keys = [
        ("ed25519.key", kinds),
        ("k256.key", kinds),
        ("rsa1024.key", "an RSA key needs 2048 bits or more"),
        ("encrypted.key", "has an encrypted key, which nobody could decrypt here"),
        ("encrypted-old.key", "has an encrypted key, which nobody could decrypt here"),
        ("rsa.crt", "must be a PEM private key"),
    ];
    for (name, expected) in keys {
        assert_eq!(private_key(&file(name)).err().as_deref(), Some(expected), "{name}");
    }
    let two = [file("ec.key"), file("rsa.key")].concat();
    assert_eq!(private_key(&two).err().as_deref(), Some("must be a PEM private key"));
}

#[test]
fn damage_is_noticed_and_never_a_panic() {
    assert!(chain(b"").is_err());
    assert!(chain(b"not PEM at all").is_err());
    assert!(chain(&[0xff, 0xfe]).is_err());
    for name in ["rsa.crt", "ec.crt", "rsa.key", "ec.key", "ec-pkcs8.key"] {
        let whole = file(name);
        for end in 0..whole.len().saturating_sub(2) {
            assert!(chain(&whole[..end]).is_err(), "{name} cut at {end}");
            assert!(private_key(&whole[..end]).is_err(), "{name} cut at {end}");
        }
        let der = pem::blocks(&whole).expect("PEM").pop().expect("a block").der;
        for at in 0..der.len() {
            for value in [0, 1, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut bent = der.clone();
                bent[at] = value;
                let _ = der::certificate(&bent);
                let _ = der::pkcs8(&bent);
                let _ = der::pkcs1(&bent);
                let _ = der::sec1(&bent);
            }
            assert_eq!(der::certificate(&der[..at]), None);
            assert_eq!(der::pkcs8(&der[..at]), None);
        }
    }
}

#[test]
fn a_private_key_cannot_be_printed() {
    let key = private_key(&file("ec.key")).expect("a key");
    let pair = KeyPair { cert_chain: String::new(), private_key: key };
    assert_eq!(format!("{pair:?}"), "KeyPair { cert_chain: \"\", private_key: [redacted] }");
}
