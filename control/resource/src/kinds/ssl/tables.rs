//! The fields of TLS.

use crate::metadata::REFERENCE;
use crate::schema::{Field, Message, Type};

pub(crate) static SSL_CONFIG: Message = Message {
    name: "SslConfig",
    doc: "TLS towards clients: one of secretRef and sslFiles, and how.",
    fields: &[
        Field::new(
            "secretRef",
            Type::Object(&REFERENCE),
            "The Secret of type `kubernetes.io/tls` with certificate chain (`tls.crt`) and private key \
             (`tls.key`). With `ca.crt` clients must show a certificate that it signed, unless oneWayTls is \
             set. A new content of the Secret is used for new connections at once.",
        ),
        Field::new(
            "sslFiles",
            Type::Object(&SSL_FILES),
            "Files on the machine of the proxy, instead of a Secret, below the folder that `keyward serve \
             --tls-files` names. tlsCert and tlsKey are needed.",
        ),
        Field::new(
            "sniDomains",
            Type::STRING_LIST,
            "The server names (SNI) for which this certificate is shown: a name or `*.suffix`. None means \
             every name that no other certificate of the same gateway is for.",
        ),
        Field::new("verifySubjectAltName", Type::STRING_LIST, VERIFY_CLIENT),
        Field::new("parameters", Type::Object(&SSL_PARAMETERS), "Versions, ciphers and curves."),
        Field::new("alpnProtocols", Type::STRING_LIST, ALPN),
        Field::new(
            "oneWayTls",
            Type::Boolean,
            "Asks no certificate of the client, even where there is a root CA. The default is \
             `gateway.virtualServiceOptions.oneWayTls` of the Settings, and false there.",
        ),
        Field::new(
            "disableTlsSessionResumption",
            Type::Boolean,
            "Whether every connection makes a full handshake, without tickets and session ids. Default false.",
        ),
        Field::new(
            "transportSocketConnectTimeout",
            Type::Duration,
            "How long a client may take for the handshake. Without it there is no limit of its own.",
        ),
    ],
    unsupported: &["ocspStaplePolicy", "sds"],
};

pub(crate) static UPSTREAM_SSL_CONFIG: Message = Message {
    name: "UpstreamSslConfig",
    doc: "TLS towards the hosts of an upstream. An empty object speaks TLS without verifying anything.",
    fields: &[
        Field::new(
            "secretRef",
            Type::Object(&REFERENCE),
            "The Secret with `ca.crt`, against which the certificates of the hosts are verified, or with \
             `tls.crt` and `tls.key` as the client certificate, or both. Without a root CA every certificate \
             is taken.",
        ),
        Field::new(
            "sslFiles",
            Type::Object(&SSL_FILES),
            "Files on the machine of the proxy, instead of a Secret, below the folder that `keyward serve \
             --tls-files` names.",
        ),
        Field::new(
            "sni",
            Type::String,
            "The server name (SNI) that is sent to all hosts. Without it each host is sent its own name.",
        ),
        Field::new(
            "verifySubjectAltName",
            Type::STRING_LIST,
            "The certificate of a host must have one of these subject alternative names. Needs a root CA.",
        ),
        Field::new("parameters", Type::Object(&SSL_PARAMETERS), "Versions, ciphers and curves."),
        Field::new("alpnProtocols", Type::STRING_LIST, UPSTREAM_ALPN),
        Field::new(
            "allowRenegotiation",
            Type::Boolean,
            "Whether hosts may renegotiate, which is not safe and ends with TLS 1.2. Default false.",
        ),
        Field::new(
            "oneWayTls",
            Type::Boolean,
            "Does not verify the certificates of the hosts, even where there is a root CA. Default false.",
        ),
    ],
    unsupported: &["sds"],
};

pub(super) static SSL_FILES: Message = Message {
    name: "SslFiles",
    doc: "Files on the machine of the proxy, PEM. The proxy reads them when it takes the configuration. Their \
          paths are absolute, without `..`, and below the folder that `keyward serve --tls-files` names; \
          without that flag none is allowed.",
    fields: &[
        Field::new(
            "tlsCert",
            Type::String,
            "The path of the certificate chain, the certificate itself first.",
        ),
        Field::new("tlsKey", Type::String, "The path of its private key. Goes with tlsCert."),
        Field::new(
            "rootCa",
            Type::String,
            "The path of the root certificates against which the other side is verified.",
        ),
    ],
    unsupported: &["ocspStaple"],
};

pub(super) static SSL_PARAMETERS: Message = Message {
    name: "SslParameters",
    doc: "Versions, ciphers and curves.",
    fields: &[
        Field::new(
            "minimumProtocolVersion",
            VERSION,
            "The lowest version that is spoken. Default `TLS_AUTO`, which is TLS 1.2.",
        ),
        Field::new(
            "maximumProtocolVersion",
            VERSION,
            "The highest version that is spoken. Default `TLS_AUTO`: TLS 1.3 with clients, 1.2 with hosts.",
        ),
        Field::new(
            "cipherSuites",
            Type::STRING_LIST,
            "The ciphers up to TLS 1.2 in the names of OpenSSL, the best first; `[A|B]` are equally good. \
             Those of TLS 1.3 cannot be chosen. Default: the proxy's.",
        ),
        Field::new(
            "ecdhCurves",
            Type::STRING_LIST,
            "The curves of the key exchange, the best first: `X25519`, `P-256`, `P-384`, `P-521`, \
             `X25519MLKEM768`. Default: the proxy's.",
        ),
    ],
    unsupported: &[],
};

const VERIFY_CLIENT: &str = "The certificate of a client must have one of these subject alternative names. \
                             Needs a root CA.";
const ALPN: &str = "The protocols that are offered by ALPN, the best first. Default `h2` and `http/1.1`; the \
                    one entry `allow_empty` offers nothing.";
const UPSTREAM_ALPN: &str = "The protocols that are offered by ALPN, the best first. Nothing is set by default, as \
                             with the one entry `allow_empty`: the proxy offers what fits the protocol that it \
                             speaks.";
const VERSION: Type = Type::Enum(&["TLS_AUTO", "TLSv1_0", "TLSv1_1", "TLSv1_2", "TLSv1_3"]);
