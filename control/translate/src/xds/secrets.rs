//! Secrets: the only resources with certificates and private keys in them.

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, Secret, TlsCertificate,
};

use crate::proxy::SecretContent;

/// A secret.
pub(super) fn secret(name: &str, content: &SecretContent) -> Secret {
    let content = match content {
        SecretContent::Certificate(pair) => {
            certificate(text(&pair.cert_chain), text(pair.private_key.expose()))
        }
        SecretContent::CertificateFiles(files) => certificate(file(&files.cert), file(&files.key)),
        SecretContent::RootCa(pem) => root_ca(text(pem)),
        SecretContent::RootCaFile(path) => root_ca(file(path)),
    };
    Secret { name: name.to_owned(), r#type: Some(content) }
}

fn certificate(chain: DataSource, key: DataSource) -> Type {
    Type::TlsCertificate(TlsCertificate {
        certificate_chain: Some(chain),
        private_key: Some(key),
        ..TlsCertificate::default()
    })
}

fn root_ca(pem: DataSource) -> Type {
    Type::ValidationContext(CertificateValidationContext {
        trusted_ca: Some(pem),
        ..CertificateValidationContext::default()
    })
}

fn text(pem: &str) -> DataSource {
    DataSource { specifier: Some(Specifier::InlineBytes(pem.as_bytes().to_vec())), ..DataSource::default() }
}

fn file(path: &str) -> DataSource {
    DataSource { specifier: Some(Specifier::Filename(path.to_owned())), ..DataSource::default() }
}
