use proptest::prelude::*;

use super::*;

fn facts(uris: &[&str]) -> Facts {
    Facts {
        hosts: Vec::new(),
        uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        not_before: Timestamp::UNIX_EPOCH,
        not_after: Timestamp::UNIX_EPOCH,
        serial: vec![1],
        issuer: Vec::new(),
        subject: Vec::new(),
    }
}

#[test]
fn who_is_two_is_nobody() {
    let (one, other) = ("spiffe://keyward/proxy/a~b", "spiffe://keyward/proxy/a~c");
    assert_eq!(facts(&[one]).proxy_role().unwrap().to_string(), "a~b");
    for uris in [&[][..], &[one, other], &[one, one], &["spiffe://keyward/control"], &[one, "https://x"]] {
        assert!(matches!(facts(uris).proxy_role(), Err(CertificateError::NoRole)), "{uris:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        prop_assert!(Facts::of_der(&bytes).is_err());
        let _ = Facts::of_pem(&bytes);
    }
}
