use keyward_pki::{AUTHORITY_LIFETIME, Authority, LIFETIME as SERVER_LIFETIME};

use super::*;

const NOW: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn days(number: i64) -> i64 {
    number * 24 * 3600
}

fn authority(folder: &Folder, overwrite: Overwrite) {
    let authority = Authority::create(Validity::starting(at(NOW), AUTHORITY_LIFETIME).unwrap()).unwrap();
    let server = authority.server(&[], Validity::starting(at(NOW), SERVER_LIFETIME).unwrap()).unwrap();
    folder.create(&authority, &server, overwrite).unwrap();
}

fn start(temporary: &tempfile::TempDir, now: i64) -> anyhow::Result<Identity> {
    let role = "keyward-system~gateway-proxy".parse().unwrap();
    let (pki, folder) = (temporary.path().join("pki"), temporary.path().join("envoy/certificates"));
    Identity::new(Folder::new(&pki), folder, role, LIFETIME, at(now))
}

#[test]
fn it_is_renewed_in_the_middle_of_its_time_and_when_the_authority_changes() {
    let temporary = tempfile::tempdir().unwrap();
    let pki = Folder::new(&temporary.path().join("pki"));
    authority(&pki, Overwrite::Never);
    let mut identity = start(&temporary, NOW).unwrap();
    let until = |identity: &Identity| identity.files.facts().unwrap().not_after;
    assert_eq!(until(&identity), at(NOW + days(30)));
    identity.renew_if_due(at(NOW + days(15))).unwrap();
    assert_eq!(until(&identity), at(NOW + days(30)));
    identity.renew_if_due(at(NOW + days(15) + 1)).unwrap();
    assert_eq!(until(&identity), at(NOW + days(45) + 1));
    authority(&pki, Overwrite::Replace);
    identity.renew_if_due(at(NOW + days(16))).unwrap();
    assert_eq!(until(&identity), at(NOW + days(46)));
    let trusted = std::fs::read_to_string(identity.files.folder().join("ca.crt")).unwrap();
    assert_eq!(trusted, pki.trust().unwrap());
}

#[test]
fn without_the_authoritys_key_it_lives_on_what_is_there() {
    let temporary = tempfile::tempdir().unwrap();
    let pki = Folder::new(&temporary.path().join("pki"));
    authority(&pki, Overwrite::Never);
    start(&temporary, NOW).unwrap();
    std::fs::remove_file(pki.authority_key_path()).unwrap();
    let mut identity = start(&temporary, NOW + days(29)).unwrap();
    identity.renew_if_due(at(NOW + days(29))).unwrap();
    let error = start(&temporary, NOW + days(30)).unwrap_err().to_string();
    assert!(
        error.starts_with("the supervised envoy needs a certificate for keyward-system~gateway-proxy"),
        "{error}"
    );
}
