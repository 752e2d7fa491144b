//! The authority: whoever holds its key decides who is the control server and who is which proxy.

use std::fmt;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use keyward_bootstrap::CONTROL_URI;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, string::Ia5String,
};
use time::OffsetDateTime;

use crate::certificate::Facts;
use crate::error::CertificateError;
use crate::role::ProxyRole;

#[cfg(test)]
mod tests;

/// How long an authority is valid unless something else is said.
pub const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
/// How long everything else is valid unless something else is said.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);
/// The names of the machine itself, which every server certificate has.
pub const LOCAL_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Clocks that are a little behind take a new certificate, too.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// From when to when a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    not_before: Timestamp,
    not_after: Timestamp,
}

/// An authority with its key.
pub struct Authority {
    certificate: String,
    key: KeyPair,
    not_after: Timestamp,
}

/// A certificate with its key. It cannot be printed.
pub struct Issued {
    certificate: String,
    key: String,
}

pub(crate) fn offset(time: Timestamp) -> Result<OffsetDateTime, CertificateError> {
    OffsetDateTime::from_unix_timestamp(time.as_second()).map_err(|_| CertificateError::BadValidity)
}

fn new_key() -> Result<KeyPair, CertificateError> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

fn params(common_name: &str, validity: Validity) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = offset(validity.not_before)?;
    params.not_after = offset(validity.not_after)?;
    if params.not_after <= params.not_before {
        return Err(CertificateError::BadValidity);
    }
    Ok(params)
}

fn host(name: &str) -> Result<SanType, CertificateError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let bad = || CertificateError::BadName { name: name.to_owned() };
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // A wildcard stands for one label, the first.
    let labels = name.strip_prefix("*.").unwrap_or(name);
    if name.len() > 253 || !labels.split('.').all(label) {
        return Err(bad());
    }
    Ok(SanType::DnsName(Ia5String::try_from(name).map_err(|_| bad())?))
}

fn uri(uri: &str) -> Result<SanType, CertificateError> {
    Ok(SanType::URI(Ia5String::try_from(uri)?))
}

// === impl Validity ===

impl Validity {
    /// From now on, for some time.
    ///
    /// # Errors
    ///
    /// When the end is out of range.
    pub fn starting(now: Timestamp, lifetime: SignedDuration) -> Result<Self, CertificateError> {
        let not_after = now.checked_add(lifetime).map_err(|_| CertificateError::BadValidity)?;
        let not_before = now.checked_sub(SKEW).map_err(|_| CertificateError::BadValidity)?;
        Ok(Self { not_before, not_after })
    }

    /// Nothing is valid for longer than what it was signed with.
    fn until_at_most(self, end: Timestamp) -> Self {
        Self { not_after: self.not_after.min(end), ..self }
    }
}

// === impl Authority ===

impl Authority {
    /// Makes a new one.
    ///
    /// # Errors
    ///
    /// When the machine has no random numbers, or the time is out of range.
    pub fn create(validity: Validity) -> Result<Self, CertificateError> {
        let key = new_key()?;
        let mut params = params("Keyward CA", validity)?;
        // Authorities of two installations must not be taken for one another by name.
        let id: String =
            params.key_identifier(&key).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("Keyward CA {id}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, key, not_after: validity.not_after })
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// When the texts are not a certificate and a key, or the two do not belong together.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let key = KeyPair::from_pem(key)?;
        let facts = Facts::of_pem(certificate.as_bytes())?;
        let blocks = x509_parser::pem::parse_x509_pem(certificate.as_bytes());
        let (_, block) = blocks.map_err(|_| CertificateError::Malformed)?;
        let parsed = block.parse_x509().map_err(|_| CertificateError::Malformed)?;
        if parsed.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(CertificateError::Mismatch);
        }
        Ok(Self { certificate: certificate.to_owned(), key, not_after: facts.not_after })
    }

    /// Its certificate.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its key, for the file that holds it.
    #[must_use]
    pub fn reveal_key(&self) -> String {
        self.key.serialize_pem()
    }

    /// Makes the certificate of the control server, for these hosts.
    ///
    /// # Errors
    ///
    /// When a host is none.
    pub fn server(&self, hosts: &[String], validity: Validity) -> Result<Issued, CertificateError> {
        let mut names = vec![uri(CONTROL_URI)?];
        for name in hosts {
            names.push(host(name)?);
        }
        self.issue("Keyward control server", names, ExtendedKeyUsagePurpose::ServerAuth, validity)
    }

    /// Makes the certificate of a proxy.
    ///
    /// # Errors
    ///
    /// When the machine has no random numbers, or the time is out of range.
    pub fn proxy(&self, role: &ProxyRole, validity: Validity) -> Result<Issued, CertificateError> {
        let names = vec![uri(&role.uri())?];
        self.issue("Keyward proxy", names, ExtendedKeyUsagePurpose::ClientAuth, validity)
    }

    /// As what it signs.
    pub(crate) fn issuer(&self) -> Result<Issuer<'_, &KeyPair>, CertificateError> {
        Ok(Issuer::from_ca_cert_pem(&self.certificate, &self.key)?)
    }

    fn issue(
        &self,
        common_name: &str,
        names: Vec<SanType>,
        usage: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> Result<Issued, CertificateError> {
        let mut params = params(common_name, validity.until_at_most(self.not_after))?;
        params.subject_alt_names = names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let issuer = self.issuer()?;
        let key = new_key()?;
        let certificate = params.signed_by(&key, &issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("not_after", &self.not_after).finish_non_exhaustive()
    }
}

// === impl Issued ===

impl Issued {
    /// The certificate alone.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Certificate and key, for the file that holds them.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{}{}", self.certificate, self.key)
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Issued([redacted])")
    }
}
