//! TLS towards clients and towards upstreams. Shared by `VirtualService`, `Gateway` and `Upstream`.

mod tables;

use std::time::Duration;

use crate::meta::{Meta, ObjectRef};
use crate::metadata;
use crate::reader::{Node, Object};
use crate::syntax;

pub(crate) use tables::{SSL_CONFIG, UPSTREAM_SSL_CONFIG};
use tables::{SSL_FILES, SSL_PARAMETERS};

/// TLS towards clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslConfig {
    /// Where certificate and key come from.
    pub source: SslSource,
    /// The server names that this is for: exact or `*.suffix`, lower case. None means all.
    pub sni_domains: Vec<String>,
    /// A client's certificate must have one of these names; none means that any name will do.
    pub verify_subject_alt_name: Vec<String>,
    /// Versions, ciphers and curves.
    pub parameters: SslParameters,
    /// What is offered by ALPN.
    pub alpn: Alpn,
    /// Asks no certificate of the client, even where there is a root CA. Unset: as the settings say.
    pub one_way_tls: Option<bool>,
    /// Neither tickets nor session ids.
    pub disable_session_resumption: bool,
    /// How long a handshake may take. Unset: no limit of its own.
    pub connect_timeout: Option<Duration>,
}

/// TLS towards the hosts of an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpstreamSslConfig {
    /// Where the client certificate and the root CA come from. None: no client certificate, and whatever
    /// certificate the host shows is taken.
    pub source: Option<SslSource>,
    /// The server name that is sent. None: that of the host.
    pub sni: Option<String>,
    /// The certificate of the host must have one of these names; none means that any name will do.
    pub verify_subject_alt_name: Vec<String>,
    /// Versions, ciphers and curves.
    pub parameters: SslParameters,
    /// What is offered by ALPN.
    pub alpn: Alpn,
    /// The host may renegotiate.
    pub allow_renegotiation: bool,
    /// Does not verify the certificate of the host, even where there is a root CA.
    pub one_way_tls: bool,
}

/// Where certificates come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SslSource {
    /// This Secret.
    Secret(ObjectRef),
    /// Files on the machine of the proxy.
    Files(SslFiles),
}

/// Files on the machine of the proxy, PEM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SslFiles {
    /// The certificate chain and its private key.
    pub pair: Option<CertificateFiles>,
    /// What certificates of the other side are verified against.
    pub root_ca: Option<String>,
}

/// A certificate chain and its private key, as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain, the certificate itself first.
    pub cert: String,
    /// The private key.
    pub key: String,
}

/// Versions, ciphers and curves; what is empty is left to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SslParameters {
    /// The lowest version, not above the highest.
    pub minimum: Option<TlsVersion>,
    /// The highest version.
    pub maximum: Option<TlsVersion>,
    /// Up to TLS 1.2, the best first; `[A|B]` are equally good.
    pub cipher_suites: Vec<String>,
    /// The best first.
    pub ecdh_curves: Vec<String>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.0
    V1_0,
    /// TLS 1.1
    V1_1,
    /// TLS 1.2
    V1_2,
    /// TLS 1.3
    V1_3,
}

/// What is offered by ALPN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Alpn {
    /// What fits: to clients `h2` and `http/1.1`, to upstreams the protocol that is spoken.
    #[default]
    Default,
    /// Nothing.
    Nothing,
    /// These, the best first.
    These(Vec<String>),
}

/// The one entry of `alpnProtocols` that offers nothing.
const ALPN_NOTHING: &str = "allow_empty";

const VERSIONS: &[(&str, Option<TlsVersion>)] = &[
    ("TLS_AUTO", None),
    ("TLSv1_0", Some(TlsVersion::V1_0)),
    ("TLSv1_1", Some(TlsVersion::V1_1)),
    ("TLSv1_2", Some(TlsVersion::V1_2)),
    ("TLSv1_3", Some(TlsVersion::V1_3)),
];

/// What the proxy knows: a name that it does not know would make it refuse the whole configuration.
const CIPHERS: &[&str] = &[
    "AES128-GCM-SHA256",
    "AES128-SHA",
    "AES256-GCM-SHA384",
    "AES256-SHA",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-SHA",
    "ECDHE-RSA-CHACHA20-POLY1305",
];
const CURVES: &[&str] = &["P-256", "P-384", "P-521", "X25519", "X25519MLKEM768"];

/// Reads `sslConfig` towards clients.
pub(crate) fn downstream(node: Node<'_>, meta: &Meta) -> Option<SslConfig> {
    let fields = node.object(&SSL_CONFIG)?;
    let source = source(&fields, meta);
    if matches!(source, Some(None)) {
        fields.choice("secretRef", "a certificate is needed: give secretRef or sslFiles");
    }
    if let Some(Some(SslSource::Files(SslFiles { pair: None, .. }))) = &source {
        fields.node().required("sslFiles needs tlsCert and tlsKey here");
    }
    let sni_domains = fields.or("sniDomains", Vec::new(), |list| words(list, sni_domain));
    let verify_subject_alt_name =
        fields.or("verifySubjectAltName", Vec::new(), |list| words(list, not_empty));
    let parameters = fields.or("parameters", SslParameters::default(), parameters);
    let alpn = fields.or("alpnProtocols", Alpn::Default, alpn);
    let one_way_tls = fields.maybe("oneWayTls", |node| node.boolean());
    let disable_session_resumption = fields.flag("disableTlsSessionResumption", false);
    let connect_timeout = fields.maybe("transportSocketConnectTimeout", |node| node.positive_duration());
    Some(SslConfig {
        source: source??,
        sni_domains: sni_domains?,
        verify_subject_alt_name: verify_subject_alt_name?,
        parameters: parameters?,
        alpn: alpn?,
        one_way_tls: one_way_tls?,
        disable_session_resumption: disable_session_resumption?,
        connect_timeout: connect_timeout?,
    })
}

/// Reads `sslConfig` towards the hosts of an upstream.
pub(crate) fn upstream(node: Node<'_>, meta: &Meta) -> Option<UpstreamSslConfig> {
    let fields = node.object(&UPSTREAM_SSL_CONFIG)?;
    let source = source(&fields, meta);
    let sni = fields.or("sni", None, |node| sni(&node));
    let verify_subject_alt_name =
        fields.or("verifySubjectAltName", Vec::new(), |list| words(list, not_empty));
    let parameters = fields.or("parameters", SslParameters::default(), parameters);
    let alpn = fields.or("alpnProtocols", Alpn::Default, alpn);
    let allow_renegotiation = fields.flag("allowRenegotiation", false);
    let one_way_tls = fields.flag("oneWayTls", false);
    let root = match &source {
        // A Secret may come to have one.
        None | Some(Some(SslSource::Secret(_))) => true,
        Some(Some(SslSource::Files(files))) => files.root_ca.is_some(),
        Some(None) => false,
    };
    if verify_subject_alt_name.as_ref().is_some_and(|names| !names.is_empty())
        && (!root || one_way_tls == Some(true))
        && let Some(names) = fields.optional("verifySubjectAltName")
    {
        names.invalid("needs a root CA (ca.crt of a secretRef, or rootCa of sslFiles), and no oneWayTls");
    }
    Some(UpstreamSslConfig {
        source: source?,
        sni: sni?,
        verify_subject_alt_name: verify_subject_alt_name?,
        parameters: parameters?,
        alpn: alpn?,
        allow_renegotiation: allow_renegotiation?,
        one_way_tls: one_way_tls?,
    })
}

/// Reads a server name that is sent; an empty one is none.
pub(crate) fn sni(node: &Node<'_>) -> Option<Option<String>> {
    if node.string()?.is_empty() {
        return Some(None);
    }
    metadata::word(node, syntax::host_name).map(|name| Some(name.to_ascii_lowercase()))
}

fn source(fields: &Object<'_>, meta: &Meta) -> Option<Option<SslSource>> {
    let secret = fields.maybe("secretRef", |node| metadata::reference(node, meta));
    let files = fields.maybe("sslFiles", files);
    match (secret?, files?) {
        (Some(_), Some(_)) => {
            fields.node().invalid("secretRef and sslFiles exclude each other: leave one of them out");
            None
        }
        (Some(secret), None) => Some(Some(SslSource::Secret(secret))),
        (None, Some(files)) => Some(Some(SslSource::Files(files))),
        (None, None) => Some(None),
    }
}

fn files(node: Node<'_>) -> Option<SslFiles> {
    let fields = node.object(&SSL_FILES)?;
    let path = |key| fields.or(key, None, path);
    let (cert, key, root_ca) = (path("tlsCert"), path("tlsKey"), path("rootCa"));
    let pair = match (cert?, key?) {
        (Some(cert), Some(key)) => Some(CertificateFiles { cert, key }),
        (None, None) => None,
        _ => {
            fields.node().required("tlsCert and tlsKey need each other");
            return None;
        }
    };
    let root_ca = root_ca?;
    if pair.is_none() && root_ca.is_none() {
        fields.node().required("must name tlsCert and tlsKey, or rootCa, or all");
        return None;
    }
    Some(SslFiles { pair, root_ca })
}

/// Reads the path of a file that a proxy is to read; an empty one counts as missing. Where it leads must
/// be plain to see: some folders are allowed and others are not.
fn path(node: Node<'_>) -> Option<Option<String>> {
    let text = node.string()?;
    let Some(inner) = text.strip_prefix('/') else {
        if !text.is_empty() {
            node.invalid("must be an absolute path, such as \"/etc/keyward/tls/tls.crt\"");
            return None;
        }
        return Some(None);
    };
    if inner.split('/').any(|step| matches!(step, "" | "." | "..")) {
        node.invalid("must be the path of a file without the steps \".\", \"..\" and \"//\"");
        return None;
    }
    if text.chars().any(char::is_control) {
        node.invalid("must not have control characters");
        return None;
    }
    Some(Some(text.to_owned()))
}

fn parameters(node: Node<'_>) -> Option<SslParameters> {
    let fields = node.object(&SSL_PARAMETERS)?;
    let minimum = fields.or("minimumProtocolVersion", None, |node| node.one_of(VERSIONS));
    let maximum = fields.or("maximumProtocolVersion", None, |node| node.one_of(VERSIONS));
    if let (Some(Some(minimum)), Some(Some(maximum))) = (minimum, maximum)
        && minimum > maximum
    {
        fields.node().invalid("minimumProtocolVersion is above maximumProtocolVersion");
    }
    let cipher_suites = fields.or("cipherSuites", Vec::new(), |list| words(list, cipher));
    let ecdh_curves = fields.or("ecdhCurves", Vec::new(), |list| words(list, curve));
    Some(SslParameters {
        minimum: minimum?,
        maximum: maximum?,
        cipher_suites: cipher_suites?,
        ecdh_curves: ecdh_curves?,
    })
}

fn alpn(node: Node<'_>) -> Option<Alpn> {
    let protocols = words(node, |text| {
        if matches!(text.len(), 1..=255) { Ok(()) } else { Err("must have between 1 and 255 bytes") }
    })?;
    Some(match protocols.as_slice() {
        [] => Alpn::Default,
        [only] if only == ALPN_NOTHING => Alpn::Nothing,
        _ => Alpn::These(protocols),
    })
}

/// Reads a list of words that keep a rule, each once. Every mistake is found.
fn words(node: Node<'_>, rule: fn(&str) -> syntax::Check) -> Option<Vec<String>> {
    let list = node.list()?;
    let mut words = Vec::with_capacity(list.len());
    let mut valid = true;
    for item in list.iter() {
        match metadata::word(&item, rule) {
            Some(word) if words.contains(&word) => item.duplicate(),
            Some(word) => words.push(word),
            None => valid = false,
        }
    }
    valid.then_some(words)
}

fn not_empty(text: &str) -> syntax::Check {
    if text.is_empty() { Err("must not be empty") } else { Ok(()) }
}

fn sni_domain(text: &str) -> syntax::Check {
    let name = text.strip_prefix("*.").unwrap_or(text);
    syntax::host_name(name).map_err(|_| "must be a host name or \"*.suffix\"")
}

fn cipher(text: &str) -> syntax::Check {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if inner.split('|').all(|name| CIPHERS.contains(&name)) && (inner != text || !text.contains('|')) {
        Ok(())
    } else {
        Err("must be a cipher of TLS 1.2 that the proxy knows, such as \"ECDHE-RSA-AES128-GCM-SHA256\"")
    }
}

fn curve(text: &str) -> syntax::Check {
    if CURVES.contains(&text) {
        Ok(())
    } else {
        Err("must be one of \"P-256\", \"P-384\", \"P-521\", \"X25519\", \"X25519MLKEM768\"")
    }
}
