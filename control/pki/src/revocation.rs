//! The list of certificates that are worth nothing any more although their time is not over.

use jiff::Timestamp;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use time::OffsetDateTime;
use x509_parser::pem::Pem;

use crate::authority::{Authority, offset};
use crate::certificate::{Facts, serial};
use crate::error::CertificateError;

#[cfg(test)]
mod tests;

/// The end of a PEM block with a list.
const END: &str = "-----END X509 CRL-----";

/// Signed lists: each authority signs its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revocations {
    text: String,
}

/// What the list of one authority says.
#[derive(Default)]
struct Revoked {
    entries: Vec<(Vec<u8>, OffsetDateTime)>,
    /// The number of the list: each has a higher one than the list before.
    number: u64,
}

/// What a list says, if this authority has signed it.
fn read(text: &str, authority: &Facts) -> Result<Option<Revoked>, CertificateError> {
    let mut blocks = Pem::iter_from_buffer(text.as_bytes());
    let block = blocks.next().and_then(Result::ok).ok_or(CertificateError::MalformedList)?;
    let list = x509_parser::parse_x509_crl(&block.contents);
    let (_, list) = list.map_err(|_| CertificateError::MalformedList)?;
    if list.issuer().as_raw() != authority.subject {
        return Ok(None);
    }
    let entries = list.iter_revoked_certificates();
    let entries = entries.map(|entry| (serial(entry.raw_serial()), entry.revocation_date.to_datetime()));
    let number = list.crl_number().map(ToString::to_string).unwrap_or_default();
    Ok(Some(Revoked { entries: entries.collect(), number: number.parse().unwrap_or_default() }))
}

// === impl Revocations ===

impl Revocations {
    /// Takes the lists as they stand in a file. They are read when they are added to.
    #[must_use]
    pub fn of_pem(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The lists, for a file.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.text
    }

    /// The lists with one more certificate of this authority; none if it is there already.
    ///
    /// # Errors
    ///
    /// When another authority has signed the certificate, or the lists cannot be read.
    pub fn with(
        &self,
        authority: &Authority,
        certificate: &Facts,
        now: Timestamp,
    ) -> Result<Option<Self>, CertificateError> {
        let signer = Facts::of_pem(authority.certificate().as_bytes())?;
        if certificate.issuer != signer.subject {
            return Err(CertificateError::ForeignIssuer);
        }
        let (mut text, mut revoked) = (String::new(), Revoked::default());
        for list in self.text.split_inclusive(END).filter(|list| !list.trim().is_empty()) {
            match read(list, &signer)? {
                Some(mut found) => {
                    revoked.entries.append(&mut found.entries);
                    revoked.number = revoked.number.max(found.number);
                }
                None => text = format!("{text}{}\n", list.trim()),
            }
        }
        if revoked.entries.iter().any(|(serial, _)| *serial == certificate.serial) {
            return Ok(None);
        }
        revoked.entries.push((certificate.serial.clone(), offset(now)?));
        text.push_str(&revoked.sign(authority, &signer, now)?);
        Ok(Some(Self { text }))
    }
}

// === impl Revoked ===

impl Revoked {
    fn sign(self, authority: &Authority, signer: &Facts, now: Timestamp) -> Result<String, CertificateError> {
        let entry = |(serial, revocation_time): (Vec<u8>, OffsetDateTime)| RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: offset(now)?,
            // It is made anew when somebody is added to it, and at no other time.
            next_update: offset(signer.not_after)?,
            crl_number: SerialNumber::from(self.number.saturating_add(1)),
            issuing_distribution_point: None,
            revoked_certs: self.entries.into_iter().map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(list.signed_by(&authority.issuer()?)?.pem()?)
    }
}
