//! The certificates of `testdata/tls`, as configurations of TLS.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::model::{ClientTls, HostTls};
use crate::paths;

fn file(name: &str, kind: &str) -> PathBuf {
    paths::testdata("tls").join(format!("{name}.{kind}"))
}

/// The certificates of a name, its own first.
pub(super) fn chain(name: &str) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let path = file(name, "crt");
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?.collect();
    Ok(chain?)
}

fn key(name: &str) -> anyhow::Result<PrivateKeyDer<'static>> {
    let path = file(name, "key");
    PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())
}

fn roots(name: &str) -> anyhow::Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(name)? {
        roots.add(certificate)?;
    }
    Ok(Arc::new(roots))
}

/// The versions that are spoken.
fn versions(only: Option<&str>) -> anyhow::Result<Vec<&'static SupportedProtocolVersion>> {
    Ok(match only {
        None => rustls::ALL_VERSIONS.to_vec(),
        Some("1.2") => vec![&rustls::version::TLS12],
        Some("1.3") => vec![&rustls::version::TLS13],
        Some(other) => bail!("TLS version {other:?} is neither 1.2 nor 1.3"),
    })
}

/// How a host speaks TLS. It takes both versions of HTTP.
pub(super) fn server(tls: &HostTls) -> anyhow::Result<Arc<ServerConfig>> {
    let builder = ServerConfig::builder_with_protocol_versions(&versions(tls.version.as_deref())?);
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => builder.with_client_cert_verifier(WebPkiClientVerifier::builder(roots(ca)?).build()?),
    };
    let mut config = builder.with_single_cert(chain(&tls.certificate)?, key(&tls.certificate)?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// How a client speaks TLS.
pub(super) fn client(tls: &ClientTls) -> anyhow::Result<Arc<ClientConfig>> {
    let verifier = WebPkiServerVerifier::builder(roots(&tls.ca)?).build()?;
    let builder = ClientConfig::builder_with_protocol_versions(&versions(tls.version.as_deref())?)
        .with_webpki_verifier(verifier);
    let mut config = match &tls.certificate {
        None => builder.with_no_client_auth(),
        Some(name) => builder.with_client_auth_cert(chain(name)?, key(name)?)?,
    };
    config.alpn_protocols = tls.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(Arc::new(config))
}
