use jiff::SignedDuration;
use x509_parser::revocation_list::CertificateRevocationList;

use super::*;
use crate::authority::Validity;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn authority() -> Authority {
    Authority::create(Validity::starting(now(), SignedDuration::from_hours(10)).unwrap()).unwrap()
}

fn proxy(authority: &Authority) -> Facts {
    let validity = Validity::starting(now(), SignedDuration::from_hours(1)).unwrap();
    let issued = authority.proxy(&"a~b".parse().unwrap(), validity).unwrap();
    Facts::of_pem(issued.certificate().as_bytes()).unwrap()
}

/// The serial numbers of each list, and the number of the list.
fn shown(lists: &Revocations) -> Vec<(Vec<Vec<u8>>, u64)> {
    let blocks = Pem::iter_from_buffer(lists.pem().as_bytes()).map(Result::unwrap);
    let list = |block: Pem| {
        let (_, list) = x509_parser::parse_x509_crl(&block.contents).unwrap();
        let number = |list: &CertificateRevocationList<'_>| list.crl_number().unwrap().to_string();
        let serials = list.iter_revoked_certificates().map(|entry| serial(entry.raw_serial())).collect();
        (serials, number(&list).parse().unwrap())
    };
    blocks.map(list).collect()
}

#[test]
fn one_comes_after_the_other_and_each_once() {
    let authority = authority();
    let (one, other) = (proxy(&authority), proxy(&authority));
    let first = Revocations::default().with(&authority, &one, now()).unwrap().unwrap();
    assert_eq!(shown(&first), [(vec![one.serial.clone()], 1)]);
    let second = first.with(&authority, &other, now()).unwrap().unwrap();
    assert_eq!(shown(&second), [(vec![one.serial.clone(), other.serial.clone()], 2)]);
    for known in [&one, &other] {
        assert_eq!(second.with(&authority, known, now()).unwrap(), None);
    }
}

#[test]
fn lists_of_other_authorities_stay_as_they_are() {
    let (old, new) = (authority(), authority());
    let (one, other) = (proxy(&old), proxy(&new));
    let before = Revocations::default().with(&old, &one, now()).unwrap().unwrap();
    let after = before.with(&new, &other, now()).unwrap().unwrap();
    assert_eq!(shown(&after), [(vec![one.serial.clone()], 1), (vec![other.serial.clone()], 1)]);
    let third = proxy(&new);
    let after = after.with(&new, &third, now()).unwrap().unwrap();
    assert_eq!(shown(&after), [(vec![one.serial.clone()], 1), (vec![other.serial, third.serial], 2)]);
    assert!(matches!(after.with(&new, &one, now()), Err(CertificateError::ForeignIssuer)));
}

#[test]
fn what_cannot_be_read_is_not_overwritten() {
    let authority = authority();
    for text in
        ["nothing", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", authority.certificate()]
    {
        let outcome = Revocations::of_pem(text).with(&authority, &proxy(&authority), now());
        assert!(matches!(outcome, Err(CertificateError::MalformedList)), "{text}: {outcome:?}");
    }
}
