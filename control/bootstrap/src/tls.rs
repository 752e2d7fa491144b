//! The proxy's side of mutual TLS with the control server.

use serde_json::{Value, json};

/// The certificate and the key of a proxy, in one file: so they change together.
pub const IDENTITY_FILE: &str = "identity.pem";
/// The authority that the control server's certificate must come from.
pub const TRUST_FILE: &str = "ca.crt";
/// Tells Envoy of the first.
pub const IDENTITY_SECRET_FILE: &str = "identity.sds.json";
/// Tells Envoy of the second.
pub const TRUST_SECRET_FILE: &str = "trust.sds.json";
/// What the control server's certificate must say, whatever address it is reached at. A proxy's
/// certificate comes from the same authority and does not say it.
pub const CONTROL_URI: &str = "spiffe://keyward/control";

const IDENTITY: &str = "keyward-identity";
const TRUST: &str = "keyward-trust";
const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// The content of [`IDENTITY_SECRET_FILE`].
#[must_use]
pub fn identity_secret(folder: &str) -> Value {
    let file = json!({ "filename": join(folder, IDENTITY_FILE) });
    json!({ "resources": [{
        "@type": SECRET,
        "name": IDENTITY,
        "tls_certificate": {
            "certificate_chain": file,
            "private_key": file,
            "watched_directory": { "path": folder },
        },
    }] })
}

/// The content of [`TRUST_SECRET_FILE`].
#[must_use]
pub fn trust_secret(folder: &str) -> Value {
    json!({ "resources": [{
        "@type": SECRET,
        "name": TRUST,
        "validation_context": {
            "trusted_ca": { "filename": join(folder, TRUST_FILE) },
            "watched_directory": { "path": folder },
            "match_typed_subject_alt_names": [{ "san_type": "URI", "matcher": { "exact": CONTROL_URI } }],
        },
    }] })
}

/// TLS towards the control server.
pub(crate) fn transport_socket(folder: &str) -> Value {
    let source = |name: &str, file: &str| {
        json!({
            "name": name,
            "sds_config": {
                "path_config_source": {
                    "path": join(folder, file),
                    "watched_directory": { "path": folder },
                },
                "resource_api_version": "V3",
            },
        })
    };
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {
                "alpn_protocols": ["h2"],
                "tls_params": { "tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3" },
                "tls_certificate_sds_secret_configs": [source(IDENTITY, IDENTITY_SECRET_FILE)],
                "validation_context_sds_secret_config": source(TRUST, TRUST_SECRET_FILE),
            },
        },
    })
}

fn join(folder: &str, file: &str) -> String {
    format!("{}/{file}", folder.trim_end_matches('/'))
}
