//! What can be wrong with the files of a TLS port.

use std::path::PathBuf;

/// A TLS port cannot be had with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path} could not be read", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds no certificate, or a broken one.
    #[error("{path} holds no certificate in PEM form", path = path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
    },
    /// A file holds no key, or a broken one.
    #[error("{path} holds no private key in PEM form", path = path.display())]
    Key {
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key cannot be used together.
    #[error("the certificate {certificate} and the key {key} cannot be used together", certificate = certificate.display(), key = key.display())]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The authority cannot be used.
    #[error("{path} cannot be used as an authority", path = path.display())]
    Trust {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file holds no list of revoked certificates, or a broken one. Were it taken for an empty one,
    /// whoever was turned out could come in again.
    #[error("{path} holds no list of revoked certificates in PEM form", path = path.display())]
    Revoked {
        /// The file.
        path: PathBuf,
    },
    /// The list of revoked certificates was there and is not any more.
    #[error("{path} is gone; what it said still counts", path = path.display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
}
