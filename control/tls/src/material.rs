//! The files of a TLS port, and what is made of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use keyward_pki::Facts;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use crate::error::TlsError;

/// Where everything lies.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate of the server, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its key; it may be in the same file.
    pub key: PathBuf,
    /// What clients have to show.
    pub clients: Clients,
}

/// What clients have to show.
#[derive(Debug, Clone)]
pub enum Clients {
    /// No certificate. They speak HTTP of any version.
    Anybody,
    /// A certificate of a proxy from this authority. They speak HTTP/2 over TLS 1.3, as our own
    /// proxies do.
    Proxies {
        /// The authority, or several.
        trust: PathBuf,
        /// Certificates that are worth nothing any more, when there is such a file.
        revoked: PathBuf,
    },
}

/// The contents of the files.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Material {
    certificate: Vec<u8>,
    key: Vec<u8>,
    pub(crate) trust: Option<Trust>,
}

/// Whom to believe.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Trust {
    authorities: Vec<u8>,
    revoked: Option<Vec<u8>>,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_path_buf(), source })
}

fn certificates(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    found
        .ok()
        .filter(|found| !found.is_empty())
        .ok_or_else(|| TlsError::Certificate { path: path.to_path_buf() })
}

// === impl TlsFiles ===

impl TlsFiles {
    pub(crate) fn read(&self) -> Result<Material, TlsError> {
        let trust = match &self.clients {
            Clients::Anybody => None,
            Clients::Proxies { trust, revoked } => Some(Trust {
                authorities: read(trust)?,
                revoked: match read(revoked) {
                    Err(TlsError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                        None
                    }
                    list => Some(list?),
                },
            }),
        };
        Ok(Material { certificate: read(&self.certificate)?, key: read(&self.key)?, trust })
    }

    /// Reads them again. A list of revoked certificates does not end by being away.
    pub(crate) fn read_after(&self, before: &Material) -> Result<Material, TlsError> {
        let material = self.read()?;
        match &self.clients {
            Clients::Proxies { revoked, .. } if before.has_list() && !material.has_list() => {
                Err(TlsError::Lost { path: revoked.clone() })
            }
            _ => Ok(material),
        }
    }

    /// The configuration of the port, and until when its certificate is valid.
    pub(crate) fn build(&self, material: &Material) -> Result<(ServerConfig, Timestamp), TlsError> {
        let chain = certificates(&self.certificate, &material.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&material.key)
            .map_err(|_| TlsError::Key { path: self.key.clone() })?;
        let leaf = chain.first().map(|leaf| Facts::of_der(leaf)).and_then(Result::ok);
        let not_after =
            leaf.ok_or_else(|| TlsError::Certificate { path: self.certificate.clone() })?.not_after;
        let versions: &[&SupportedProtocolVersion] = match self.clients {
            Clients::Anybody => &[&version::TLS13, &version::TLS12],
            Clients::Proxies { .. } => &[&version::TLS13],
        };
        let pair =
            |source| TlsError::Pair { certificate: self.certificate.clone(), key: self.key.clone(), source };
        let builder =
            ServerConfig::builder_with_provider(provider()).with_protocol_versions(versions).map_err(pair)?;
        let config = match (&self.clients, &material.trust) {
            (Clients::Proxies { trust: path, revoked }, Some(trust)) => {
                let verifier = trust.verifier(path, revoked)?;
                let mut config =
                    builder.with_client_cert_verifier(verifier).with_single_cert(chain, key).map_err(pair)?;
                config.alpn_protocols = vec![b"h2".to_vec()];
                // A session that is taken up again would not be asked for its certificate.
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
                config
            }
            _ => {
                let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(pair)?;
                config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
                config
            }
        };
        Ok((config, not_after))
    }
}

// === impl Material ===

impl Material {
    fn has_list(&self) -> bool {
        self.trust.as_ref().is_some_and(|trust| trust.revoked.is_some())
    }
}

// === impl Trust ===

impl Trust {
    /// From the files of the authorities and of the revoked certificates.
    fn verifier(
        &self,
        path: &Path,
        revoked_path: &Path,
    ) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| TlsError::Trust {
            path: path.to_path_buf(),
            source,
        };
        let mut roots = RootCertStore::empty();
        for authority in certificates(path, &self.authorities)? {
            roots.add(authority).map_err(|error| failed(error.into()))?;
        }
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        if let Some(revoked) = &self.revoked {
            let broken = || TlsError::Revoked { path: revoked_path.to_path_buf() };
            let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(revoked).collect();
            let lists = lists.ok().filter(|lists| !lists.is_empty()).ok_or_else(broken)?;
            // A list that ran out still says who is out: it is renewed only when somebody is added.
            builder = builder.with_crls(lists).allow_unknown_revocation_status();
        }
        builder.build().map_err(|error| failed(error.into()))
    }
}
