//! Which Secrets TLS uses, and which version of them.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::ssl::{Alpn, CertificateFiles, SslConfig, SslSource, UpstreamSslConfig};
use keyward_resource::{ObjectKey, ObjectRef};

use super::kind::SECRET;
use crate::input::{Input, Settings};
use crate::proxy::{Secret, SecretContent, TlsTerms, names};

/// The Secrets for TLS, with the versions that were used last: a Secret that is gone or broken harms
/// nobody who is served with it.
pub(super) struct Secrets<'a> {
    input: &'a Input,
    /// Below which folder files may be named.
    files: Option<&'a str>,
    before: BTreeMap<ObjectRef, Arc<TlsSecret>>,
}

/// Which versions may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    /// The current one.
    Current,
    /// The current one, else the last that was used.
    LastGood,
}

/// Something secret that is delivered to a proxy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// Certificate and key of a Secret.
    Certificate(ObjectRef),
    /// The root certificates of a Secret.
    RootCa(ObjectRef),
    /// Certificate and key in files on the machine of the proxy.
    CertificateFiles { cert: String, key: String },
    /// Root certificates in a file on the machine of the proxy.
    RootCaFile(String),
}

/// TLS towards clients, with all that it needs at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Downstream {
    pub(super) terms: TlsTerms,
    pub(super) items: Vec<Item>,
    /// What all of it comes from, if not from files.
    pub(super) secret: Option<Arc<TlsSecret>>,
}

/// The identities that TLS towards an upstream uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Upstream {
    pub(super) certificate: Option<Item>,
    pub(super) root_ca: Option<Item>,
    /// What all of it comes from, if not from files.
    pub(super) secret: Option<Arc<TlsSecret>>,
}

/// What is needed and found.
struct Found {
    certificate: Option<Item>,
    root_ca: Option<Item>,
    secret: Option<Arc<TlsSecret>>,
}

const SANS_NEED_A_ROOT: &str =
    "verifySubjectAltName needs a root CA (ca.crt or rootCa) and is not possible with oneWayTls";

/// The versions that are in use, by reference: to be remembered. Where two are, the one with a certificate.
pub(super) fn used<'s>(
    secrets: impl Iterator<Item = &'s Arc<TlsSecret>>,
) -> BTreeMap<ObjectRef, Arc<TlsSecret>> {
    let mut used: BTreeMap<ObjectRef, Arc<TlsSecret>> = BTreeMap::new();
    for secret in secrets {
        let version = used.entry(secret.meta.object_ref()).or_insert_with(|| Arc::clone(secret));
        if version.pair.is_none() {
            *version = Arc::clone(secret);
        }
    }
    used
}

// === impl Secrets ===

impl<'a> Secrets<'a> {
    pub(super) fn new(
        input: &'a Input,
        settings: &'a Settings,
        before: BTreeMap<ObjectRef, Arc<TlsSecret>>,
    ) -> Self {
        Self { input, files: settings.tls_files.as_deref(), before }
    }

    /// TLS towards clients, or why it is not possible. `one_way` holds where the configuration leaves it
    /// open.
    pub(super) fn downstream(
        &self,
        ssl: &SslConfig,
        one_way: bool,
        versions: Versions,
    ) -> Result<Downstream, String> {
        let found = self.find(&ssl.source, versions)?;
        let Some(certificate) = found.certificate else {
            return Err(self.incomplete(&ssl.source, "a certificate with its private key (tls.crt, tls.key)"));
        };
        let root_ca = found.root_ca.filter(|_| !ssl.one_way_tls.unwrap_or(one_way));
        if root_ca.is_none() && !ssl.verify_subject_alt_name.is_empty() {
            return Err(SANS_NEED_A_ROOT.to_owned());
        }
        let terms = TlsTerms {
            certificate: certificate.name(),
            root_ca: root_ca.as_ref().map(Item::name),
            verify_subject_alt_name: ssl.verify_subject_alt_name.clone(),
            parameters: ssl.parameters.clone(),
            alpn: match &ssl.alpn {
                Alpn::Default => vec!["h2".to_owned(), "http/1.1".to_owned()],
                Alpn::Nothing => Vec::new(),
                Alpn::These(protocols) => protocols.clone(),
            },
            session_resumption: !ssl.disable_session_resumption,
            connect_timeout: ssl.connect_timeout,
        };
        let items = std::iter::once(certificate).chain(root_ca).collect();
        Ok(Downstream { terms, items, secret: found.secret })
    }

    /// TLS towards an upstream, or why it is not possible.
    pub(super) fn upstream(&self, ssl: &UpstreamSslConfig, versions: Versions) -> Result<Upstream, String> {
        let Some(source) = &ssl.source else {
            let unverified = ssl.verify_subject_alt_name.is_empty();
            return if unverified { Ok(Upstream::default()) } else { Err(SANS_NEED_A_ROOT.to_owned()) };
        };
        let Found { certificate, root_ca, secret } = self.find(source, versions)?;
        if certificate.is_none() && root_ca.is_none() {
            return Err(
                self.incomplete(source, "a certificate (tls.crt, tls.key) or root certificates (ca.crt)")
            );
        }
        let root_ca = root_ca.filter(|_| !ssl.one_way_tls);
        if root_ca.is_none() && !ssl.verify_subject_alt_name.is_empty() {
            return Err(SANS_NEED_A_ROOT.to_owned());
        }
        Ok(Upstream { certificate, root_ca, secret })
    }

    /// What a proxy is given of these.
    pub(super) fn content(&self, item: &Item) -> Option<SecretContent> {
        match item {
            Item::Certificate(secret) => self.with_pair(secret)?.pair.clone().map(SecretContent::Certificate),
            Item::RootCa(secret) => self.with_root(secret)?.root_ca.clone().map(SecretContent::RootCa),
            Item::CertificateFiles { cert, key } => {
                let files = CertificateFiles { cert: cert.clone(), key: key.clone() };
                Some(SecretContent::CertificateFiles(files))
            }
            Item::RootCaFile(path) => Some(SecretContent::RootCaFile(path.clone())),
        }
    }

    fn find(&self, source: &SslSource, versions: Versions) -> Result<Found, String> {
        match source {
            SslSource::Files(files) => {
                files::check(files, self.files)?;
                let pair = files.pair.as_ref();
                let pair = pair
                    .map(|files| Item::CertificateFiles { cert: files.cert.clone(), key: files.key.clone() });
                let root_ca = files.root_ca.clone().map(Item::RootCaFile);
                Ok(Found { certificate: pair, root_ca, secret: None })
            }
            SslSource::Secret(reference) => {
                let current = self.current(reference);
                let before = self.before.get(reference).filter(|_| versions == Versions::LastGood);
                let complete = |secret: &&Arc<TlsSecret>| secret.pair.is_some();
                let chosen = current.filter(complete).or(before).or(current);
                let Some(secret) = chosen else {
                    return Err(format!("Secret {reference} is not found, or is not valid for TLS"));
                };
                Ok(Found {
                    certificate: secret.pair.is_some().then(|| Item::Certificate(reference.clone())),
                    root_ca: secret.root_ca.is_some().then(|| Item::RootCa(reference.clone())),
                    secret: Some(Arc::clone(secret)),
                })
            }
        }
    }

    fn incomplete(&self, source: &SslSource, what: &str) -> String {
        match source {
            SslSource::Secret(reference) => format!("Secret {reference} does not hold {what}"),
            SslSource::Files(_) => format!("sslFiles does not name {what}"),
        }
    }

    fn current(&self, reference: &ObjectRef) -> Option<&Arc<TlsSecret>> {
        let key = ObjectKey::new(SECRET, &reference.namespace, &reference.name);
        self.input.tls_secrets.get(reference).filter(|_| !self.input.withheld.contains(&key))
    }

    fn with_pair(&self, reference: &ObjectRef) -> Option<&Arc<TlsSecret>> {
        let mut versions = self.current(reference).into_iter().chain(self.before.get(reference));
        versions.find(|secret| secret.pair.is_some())
    }

    fn with_root(&self, reference: &ObjectRef) -> Option<&Arc<TlsSecret>> {
        let mut versions = self.current(reference).into_iter().chain(self.before.get(reference));
        versions.find(|secret| secret.root_ca.is_some())
    }
}

// === impl Item ===

impl Item {
    /// Its name, by which listeners and clusters ask for it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Certificate(secret) => names::certificate(secret),
            Self::RootCa(secret) => names::root_ca(secret),
            Self::CertificateFiles { cert, key } => names::certificate_files(cert, key),
            Self::RootCaFile(path) => names::root_ca_file(path),
        }
    }

    /// Whether whoever has it can pass for somebody else.
    pub(super) fn is_confidential(&self) -> bool {
        matches!(self, Self::Certificate(_))
    }

    /// As a secret of a proxy, in use by these objects.
    pub(super) fn secret(&self, secrets: &Secrets<'_>, users: BTreeSet<ObjectKey>) -> Option<Secret> {
        let mut made_from = users;
        if let Self::Certificate(secret) | Self::RootCa(secret) = self {
            made_from.insert(ObjectKey::new(SECRET, &secret.namespace, &secret.name));
        }
        Some(Secret { content: secrets.content(self)?, made_from })
    }
}

// === impl Upstream ===

impl Upstream {
    /// All of it.
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.certificate.iter().chain(&self.root_ca)
    }
}
