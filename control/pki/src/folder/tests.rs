use std::os::unix::fs::PermissionsExt as _;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::authority::Validity;

fn validity() -> Validity {
    Validity::starting(Timestamp::from_second(1_800_000_000).unwrap(), SignedDuration::from_hours(1)).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn new_folder() -> (tempfile::TempDir, Folder) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::new(&temporary.path().join("pki"));
    (temporary, folder)
}

fn fill(folder: &Folder, overwrite: Overwrite) -> Result<Authority, FolderError> {
    let authority = Authority::create(validity()).unwrap();
    let server = authority.server(&["localhost".to_owned()], validity()).unwrap();
    folder.create(&authority, &server, overwrite).map(|()| authority)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn keys_are_for_their_owner_alone() {
    let (_temporary, folder) = new_folder();
    let authority = fill(&folder, Overwrite::Never).unwrap();
    let role: ProxyRole = "keyward-system~edge".parse().unwrap();
    let files = folder.proxy(&role);
    let identity = authority.proxy(&role, validity()).unwrap();
    files.write(authority.certificate(), &identity, "/etc/edge", Overwrite::Never).unwrap();
    for path in [folder.authority_key_path(), folder.server_path(), files.identity_path()] {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert!(read(&path).unwrap().contains("PRIVATE KEY"), "{}", path.display());
    }
    for path in [&folder.root, files.folder()] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
        for name in names(path) {
            let path = path.join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(mode(&path) == 0o600 || path.is_dir() || !text.contains("PRIVATE"), "{}", path.display());
        }
    }
    assert_eq!(names(&folder.root), ["ca.crt", "ca.key", "proxies", "server.pem"]);
    assert_eq!(names(files.folder()), ["ca.crt", "identity.pem", "identity.sds.json", "trust.sds.json"]);
    assert_eq!(files.facts().unwrap().proxy_role().unwrap(), role);
}

#[test]
fn nothing_is_overwritten_unless_that_is_wanted() {
    let (_temporary, folder) = new_folder();
    let authority = fill(&folder, Overwrite::Never).unwrap();
    let before = [folder.authority_key_path(), folder.trust_path(), folder.server_path()]
        .map(|path| std::fs::read(path).unwrap());
    assert!(matches!(fill(&folder, Overwrite::Never), Err(FolderError::Exists { .. })));
    let server = authority.server(&[], validity()).unwrap();
    assert!(matches!(folder.write_server(&server, Overwrite::Never), Err(FolderError::Exists { .. })));
    let after = [folder.authority_key_path(), folder.trust_path(), folder.server_path()]
        .map(|path| std::fs::read(path).unwrap());
    assert!(before == after, "a file was changed");
    assert_eq!(names(&folder.root), ["ca.crt", "ca.key", "server.pem"], "something was left lying about");
    folder.write_server(&server, Overwrite::Replace).unwrap();
    assert_eq!(folder.server().unwrap().hosts, Vec::<String>::new());
    assert_eq!(mode(&folder.server_path()), 0o600);
}

#[test]
fn half_of_an_authority_is_not_completed() {
    let (_temporary, folder) = new_folder();
    fill(&folder, Overwrite::Never).unwrap();
    std::fs::remove_file(folder.authority_key_path()).unwrap();
    assert!(matches!(folder.authority(), Err(FolderError::Missing { path }) if path.ends_with("ca.key")));
    assert!(
        matches!(fill(&folder, Overwrite::Never), Err(FolderError::Exists { path }) if path.ends_with("ca.crt"))
    );
    assert!(!folder.authority_key_path().exists(), "a key was written that is not the certificate's");
}

#[test]
fn an_authority_is_read_back_and_must_be_one() {
    let (_temporary, folder) = new_folder();
    let authority = fill(&folder, Overwrite::Never).unwrap();
    assert_eq!(folder.authority().unwrap().certificate(), authority.certificate());
    let other = Authority::create(validity()).unwrap();
    std::fs::write(folder.authority_key_path(), other.reveal_key()).unwrap();
    let error = folder.authority().unwrap_err();
    assert!(matches!(error, FolderError::Certificate { source: CertificateError::Mismatch, .. }), "{error}");
    std::fs::write(folder.authority_key_path(), "nothing").unwrap();
    assert!(folder.authority().is_err());
}

#[test]
fn a_leftover_of_a_killed_writer_is_in_nobodys_way() {
    let (_temporary, folder) = new_folder();
    let authority = fill(&folder, Overwrite::Never).unwrap();
    std::fs::write(folder.root.join("server.pem.new"), "half").unwrap();
    folder.write_server(&authority.server(&[], validity()).unwrap(), Overwrite::Replace).unwrap();
    assert_eq!(names(&folder.root), ["ca.crt", "ca.key", "server.pem"]);
    assert!(folder.server().is_ok());
}
