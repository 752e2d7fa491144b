//! TLS towards clients and towards upstreams. Certificates and keys are named here and never contained:
//! see `secrets`.

use envoy_types::pb::envoy::config::core::v3::{TransportSocket, transport_socket};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::{
    CombinedCertificateValidationContext, ValidationContextType,
};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::downstream_tls_context::SessionTicketKeysType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::subject_alt_name_matcher::SanType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::tls_parameters::TlsProtocol;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, CommonTlsContext, DownstreamTlsContext, SdsSecretConfig,
    SubjectAltNameMatcher, TlsParameters,
};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use keyward_resource::kinds::ssl::{SslParameters, TlsVersion};
use prost::{Message, Name};

use super::{common, encode};
use crate::proxy::TlsTerms;

const NAME: &str = "envoy.transport_sockets.tls";
/// The kinds of names in certificates that a name of ours is compared with.
const NAME_KINDS: &[SanType] = &[SanType::Dns, SanType::Uri, SanType::IpAddress, SanType::Email];

/// TLS on connections of clients.
pub(super) fn downstream(terms: &TlsTerms) -> TransportSocket {
    let common = CommonTlsContext {
        tls_params: parameters(&terms.parameters),
        tls_certificate_sds_secret_configs: vec![secret(&terms.certificate)],
        alpn_protocols: terms.alpn.clone(),
        validation_context_type: terms
            .root_ca
            .as_ref()
            .map(|root_ca| validation(root_ca, &terms.verify_subject_alt_name)),
        ..CommonTlsContext::default()
    };
    let ticket_keys = SessionTicketKeysType::DisableStatelessSessionResumption(true);
    socket(&DownstreamTlsContext {
        common_tls_context: Some(common),
        // Without this a certificate is asked for, and a client that has none is let through.
        require_client_certificate: terms.root_ca.as_ref().and_then(|_| common::yes()),
        disable_stateful_session_resumption: !terms.session_resumption,
        session_ticket_keys_type: (!terms.session_resumption).then_some(ticket_keys),
        ..DownstreamTlsContext::default()
    })
}

/// TLS as a transport socket.
pub(super) fn socket<M: Message + Name>(context: &M) -> TransportSocket {
    TransportSocket {
        name: NAME.to_owned(),
        config_type: Some(transport_socket::ConfigType::TypedConfig(encode::any(context))),
    }
}

/// A secret by name.
pub(super) fn secret(name: &str) -> SdsSecretConfig {
    SdsSecretConfig { name: name.to_owned(), sds_config: Some(common::ads()) }
}

/// Versions, ciphers and curves.
pub(super) fn parameters(parameters: &SslParameters) -> Option<TlsParameters> {
    let unset = SslParameters::default();
    (*parameters != unset).then(|| TlsParameters {
        tls_minimum_protocol_version: version(parameters.minimum).into(),
        tls_maximum_protocol_version: version(parameters.maximum).into(),
        cipher_suites: parameters.cipher_suites.clone(),
        ecdh_curves: parameters.ecdh_curves.clone(),
        ..TlsParameters::default()
    })
}

/// The certificate of the other side is verified against root certificates, and has one of these names.
pub(super) fn validation(root_ca: &str, subject_alt_names: &[String]) -> ValidationContextType {
    if subject_alt_names.is_empty() {
        return ValidationContextType::ValidationContextSdsSecretConfig(secret(root_ca));
    }
    let matchers = subject_alt_names.iter().flat_map(|name| {
        NAME_KINDS.iter().map(|kind| SubjectAltNameMatcher {
            san_type: (*kind).into(),
            matcher: Some(StringMatcher {
                match_pattern: Some(MatchPattern::Exact(name.clone())),
                ..StringMatcher::default()
            }),
            ..SubjectAltNameMatcher::default()
        })
    });
    let names = CertificateValidationContext {
        match_typed_subject_alt_names: matchers.collect(),
        ..CertificateValidationContext::default()
    };
    ValidationContextType::CombinedValidationContext(CombinedCertificateValidationContext {
        default_validation_context: Some(names),
        validation_context_sds_secret_config: Some(secret(root_ca)),
        ..CombinedCertificateValidationContext::default()
    })
}

fn version(version: Option<TlsVersion>) -> TlsProtocol {
    match version {
        None => TlsProtocol::TlsAuto,
        Some(TlsVersion::V1_0) => TlsProtocol::TlSv10,
        Some(TlsVersion::V1_1) => TlsProtocol::TlSv11,
        Some(TlsVersion::V1_2) => TlsProtocol::TlSv12,
        Some(TlsVersion::V1_3) => TlsProtocol::TlSv13,
    }
}
