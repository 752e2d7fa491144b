//! What TLS needs and nobody else may see. Delivered on its own, so that a new certificate is a change of
//! this alone and no connection is drained for it.

use std::collections::BTreeSet;

use keyward_resource::ObjectKey;
use keyward_resource::kinds::secret::KeyPair;
use keyward_resource::kinds::ssl::CertificateFiles;

/// A secret of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it holds.
    pub content: SecretContent,
    /// The objects that it comes from, and those that use it.
    pub made_from: BTreeSet<ObjectKey>,
}

/// What a secret holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretContent {
    /// A certificate chain and its private key.
    Certificate(KeyPair),
    /// The same in files on the machine of the proxy.
    CertificateFiles(CertificateFiles),
    /// Root certificates, PEM.
    RootCa(String),
    /// The same in a file on the machine of the proxy.
    RootCaFile(String),
}
