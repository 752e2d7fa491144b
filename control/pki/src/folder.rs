//! Where certificates and keys lie.
//!
//! ```text
//! ca.crt  ca.key            the authority; its key may be taken elsewhere
//! server.pem                certificate and key of the control server
//! revoked.crl               certificates that are worth nothing any more
//! proxies/NAME/identity.pem certificate and key of a proxy, and beside it ca.crt, bootstrap.json and
//!                           what Envoy reads to find them: the folder is what the proxy needs
//! ```

mod write;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use keyward_bootstrap::{
    BOOTSTRAP_FILE, BootstrapOptions, IDENTITY_FILE, IDENTITY_SECRET_FILE, TRUST_FILE, TRUST_SECRET_FILE,
    bootstrap, identity_secret, trust_secret,
};
use serde_json::Value;

use self::write::{Readers, lock, make_folder, write};
use crate::authority::{Authority, Issued};
use crate::certificate::Facts;
use crate::error::{CertificateError, FolderError};
use crate::revocation::Revocations;
use crate::role::ProxyRole;

#[cfg(test)]
mod tests;

/// The folder.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

/// What is done with a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing: it is an error.
    Never,
    /// It is replaced, at once and whole.
    Replace,
}

/// The files of a proxy.
#[derive(Debug, Clone)]
pub struct ProxyFiles {
    folder: PathBuf,
}

fn read(path: &Path) -> Result<String, FolderError> {
    std::fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => FolderError::Missing { path: path.to_path_buf() },
        _ => FolderError::Io { path: path.to_path_buf(), action: "read", source },
    })
}

fn about(path: &Path) -> impl FnOnce(CertificateError) -> FolderError {
    let path = path.to_path_buf();
    |source| FolderError::Certificate { path, source }
}

fn facts(path: &Path) -> Result<Facts, FolderError> {
    Facts::of_pem(read(path)?.as_bytes()).map_err(about(path))
}

// === impl Folder ===

impl Folder {
    /// The folder at a path. It does not have to exist.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The certificate of the authority, or several: what proxies and the server trust.
    #[must_use]
    pub fn trust_path(&self) -> PathBuf {
        self.root.join(TRUST_FILE)
    }

    /// The key of the authority.
    #[must_use]
    pub fn authority_key_path(&self) -> PathBuf {
        self.root.join("ca.key")
    }

    /// Certificates that are worth nothing any more: a list signed by the authority, if there is one.
    #[must_use]
    pub fn revoked_path(&self) -> PathBuf {
        self.root.join("revoked.crl")
    }

    /// Adds a certificate to the list of those that are worth nothing any more; whether it was not there
    /// before.
    ///
    /// # Errors
    ///
    /// When the authority of this folder has not signed it, or the list cannot be read or written.
    pub fn revoke(
        &self,
        authority: &Authority,
        certificate: &Facts,
        now: Timestamp,
    ) -> Result<bool, FolderError> {
        let path = self.revoked_path();
        // Two at once would each write a list without the other's certificate.
        let _lock = lock(&path.with_extension("lock"))?;
        let before = match read(&path) {
            Err(FolderError::Missing { .. }) => String::new(),
            text => text?,
        };
        let lists = Revocations::of_pem(before).with(authority, certificate, now).map_err(about(&path))?;
        let Some(lists) = lists else { return Ok(false) };
        write(&path, lists.pem(), Readers::Everybody, Overwrite::Replace)?;
        Ok(true)
    }

    /// Certificate and key of the control server.
    #[must_use]
    pub fn server_path(&self) -> PathBuf {
        self.root.join("server.pem")
    }

    /// The files of the proxy of this role.
    #[must_use]
    pub fn proxy(&self, role: &ProxyRole) -> ProxyFiles {
        ProxyFiles { folder: self.root.join("proxies").join(role.name()) }
    }

    /// Writes a new authority and the certificate of the control server.
    ///
    /// # Errors
    ///
    /// When a file is there that must not be overwritten, or cannot be written.
    pub fn create(
        &self,
        authority: &Authority,
        server: &Issued,
        overwrite: Overwrite,
    ) -> Result<(), FolderError> {
        if overwrite == Overwrite::Never {
            // Before anything is written: half of an authority is none.
            for path in [self.authority_key_path(), self.trust_path(), self.server_path()] {
                if path.exists() {
                    return Err(FolderError::Exists { path });
                }
            }
        }
        make_folder(&self.root)?;
        write(&self.authority_key_path(), &authority.reveal_key(), Readers::Owner, overwrite)?;
        write(&self.trust_path(), authority.certificate(), Readers::Everybody, overwrite)?;
        self.write_server(server, overwrite)
    }

    /// Writes the certificate of the control server.
    ///
    /// # Errors
    ///
    /// When it is there and must not be overwritten, or cannot be written.
    pub fn write_server(&self, server: &Issued, overwrite: Overwrite) -> Result<(), FolderError> {
        write(&self.server_path(), &server.reveal(), Readers::Owner, overwrite)
    }

    /// What the certificate of the control server says.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn server(&self) -> Result<Facts, FolderError> {
        facts(&self.server_path())
    }

    /// The certificate of the authority, or several.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn trust(&self) -> Result<String, FolderError> {
        read(&self.trust_path())
    }

    /// The authority, with its key.
    ///
    /// # Errors
    ///
    /// When one of the two is not there, or cannot be used.
    pub fn authority(&self) -> Result<Authority, FolderError> {
        let (certificate, key) = (self.trust()?, read(&self.authority_key_path())?);
        Authority::from_pem(&certificate, &key).map_err(about(&self.authority_key_path()))
    }
}

// === impl ProxyFiles ===

impl ProxyFiles {
    /// The files in a folder of their own.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder that the proxy needs, whole.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Certificate and key.
    #[must_use]
    pub fn identity_path(&self) -> PathBuf {
        self.folder.join(IDENTITY_FILE)
    }

    /// The bootstrap configuration.
    #[must_use]
    pub fn bootstrap_path(&self) -> PathBuf {
        self.folder.join(BOOTSTRAP_FILE)
    }

    /// What its certificate says.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn facts(&self) -> Result<Facts, FolderError> {
        facts(&self.identity_path())
    }

    /// Writes the certificate, the authority's, and what tells Envoy of both. `seen_as` is this
    /// folder as the proxy sees it.
    ///
    /// # Errors
    ///
    /// When there is a certificate that must not be overwritten, or a file cannot be written.
    pub fn write(
        &self,
        trust: &str,
        identity: &Issued,
        seen_as: &str,
        overwrite: Overwrite,
    ) -> Result<(), FolderError> {
        make_folder(&self.folder)?;
        // First, because it is the one that must not be lost.
        self.write_identity(identity, overwrite)?;
        self.write_trust(trust)?;
        self.write_secrets(seen_as)
    }

    /// Writes what tells Envoy of the certificates. `seen_as` is this folder as the proxy sees it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_secrets(&self, seen_as: &str) -> Result<(), FolderError> {
        self.write_json(IDENTITY_SECRET_FILE, &identity_secret(seen_as))?;
        self.write_json(TRUST_SECRET_FILE, &trust_secret(seen_as))
    }

    /// Writes the bootstrap configuration.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_bootstrap(&self, options: &BootstrapOptions) -> Result<(), FolderError> {
        self.write_json(BOOTSTRAP_FILE, &bootstrap(options))
    }

    /// Writes a new certificate, which a running Envoy takes up.
    ///
    /// # Errors
    ///
    /// When there is one that must not be overwritten, or it cannot be written.
    pub fn write_identity(&self, identity: &Issued, overwrite: Overwrite) -> Result<(), FolderError> {
        write(&self.identity_path(), &identity.reveal(), Readers::Owner, overwrite)
    }

    /// Writes what the proxy trusts, which a running Envoy takes up.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_trust(&self, trust: &str) -> Result<(), FolderError> {
        write(&self.folder.join(TRUST_FILE), trust, Readers::Everybody, Overwrite::Replace)
    }

    fn write_json(&self, name: &str, value: &Value) -> Result<(), FolderError> {
        // Everything after the certificate is made of it and of nothing that could be lost.
        write(&self.folder.join(name), &format!("{value:#}\n"), Readers::Everybody, Overwrite::Replace)
    }
}
