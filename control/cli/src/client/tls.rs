//! Whom a client trusts.

use std::path::Path;
use std::sync::Arc;

use hyper_rustls::{ConfigBuilderExt as _, FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::error::ClientError;

/// A connector for both schemes. It trusts the authority in a file and nobody else, or, without one, those
/// whom the machine trusts.
pub(super) fn connector(
    ca: Option<&Path>,
    is_https: bool,
    http: HttpConnector,
) -> Result<HttpsConnector<HttpConnector>, ClientError> {
    let builder = HttpsConnectorBuilder::new().with_tls_config(config(ca, is_https)?);
    Ok(builder.https_or_http().enable_http1().wrap_connector(http))
}

/// The same, to a gateway at whatever address, which is asked for this server name: none without TLS, and an
/// empty one where the client says none.
pub(crate) fn gateway_connector(
    ca: Option<&Path>,
    server_name: Option<&str>,
    http: HttpConnector,
) -> Result<HttpsConnector<HttpConnector>, ClientError> {
    let mut config = config(ca, server_name.is_some())?;
    let name = server_name.filter(|name| !name.is_empty());
    config.enable_sni = name.is_some();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
    let Some(name) = name else { return Ok(builder.enable_http1().wrap_connector(http)) };
    let name = ServerName::try_from(name.to_owned())
        .map_err(|error| ClientError::Url { url: name.to_owned(), why: error.to_string() })?;
    let resolver = FixedServerNameResolver::new(name);
    Ok(builder.with_server_name_resolver(resolver).enable_http1().wrap_connector(http))
}

/// The authority in a file, or those whom the machine trusts where there is to be TLS.
fn config(ca: Option<&Path>, is_https: bool) -> Result<ClientConfig, ClientError> {
    // Not the process's: there is none, and it would be everybody's.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| store("the TLS library fails", &error))?;
    Ok(match ca {
        Some(file) => builder.with_root_certificates(authority(file)?).with_no_client_auth(),
        None if is_https => builder
            .with_native_roots()
            .map_err(|error| store("the certificates of this machine", &error))?
            .with_no_client_auth(),
        None => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    })
}

fn store(what: &'static str, error: &dyn std::error::Error) -> ClientError {
    ClientError::File { what, path: "/etc/ssl".into(), why: error.to_string() }
}

fn authority(path: &Path) -> Result<RootCertStore, ClientError> {
    let wrong = |why: String| ClientError::File {
        what: "the certificate authority (--ca)",
        path: path.to_path_buf(),
        why,
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(roots)
}
