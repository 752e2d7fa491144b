//! What can be wrong with certificates and with their folder.

use std::path::PathBuf;

/// A text is no role of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no role of a proxy: <namespace>~<name>, both of lower case letters, digits and '-'")]
pub struct RoleError {
    /// The text.
    pub text: String,
}

/// A certificate cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It could not be made.
    #[error("the certificate could not be made")]
    Issue(#[from] rcgen::Error),
    /// The text is no certificate.
    #[error("it is not a certificate")]
    Malformed,
    /// It is a certificate, but not of a proxy.
    #[error("the certificate does not name one role of a proxy")]
    NoRole,
    /// A name cannot stand in a certificate.
    #[error("{name:?} is neither an address nor a host name")]
    BadName {
        /// The name.
        name: String,
    },
    /// A certificate and a key are not of one another.
    #[error("the certificate and the key do not belong together")]
    Mismatch,
    /// Only the authority that has signed a certificate can revoke it.
    #[error("it was signed by another authority")]
    ForeignIssuer,
    /// The text is no list of revoked certificates.
    #[error("it is not a list of revoked certificates")]
    MalformedList,
    /// A time is out of range, or before the start.
    #[error("the certificate would end before it begins")]
    BadValidity,
}

/// The folder of the certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Reading or writing failed.
    #[error("{path} could not be {action}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// There is one already.
    #[error("{path} exists already", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is none.
    #[error("{path} does not exist", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file does not hold what it should.
    #[error("{path} cannot be used", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: CertificateError,
    },
}
