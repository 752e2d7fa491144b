//! What a certificate says.

use std::net::IpAddr;

use jiff::Timestamp;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;

use crate::error::CertificateError;
use crate::role::ProxyRole;

#[cfg(test)]
mod tests;

/// What a certificate says. Whether it is true is for whoever verifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The host names and addresses that it is for, as text, in its order.
    pub hosts: Vec<String>,
    /// The URIs that it is for.
    pub uris: Vec<String>,
    /// From when on it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// Its number, which no other certificate of its authority has, without leading zeros.
    pub serial: Vec<u8>,
    /// The name of the authority that has signed it, in DER.
    pub issuer: Vec<u8>,
    /// Its own name, in DER.
    pub subject: Vec<u8>,
}

/// A serial number without leading zeros.
pub(crate) fn serial(raw: &[u8]) -> Vec<u8> {
    raw.iter().copied().skip_while(|byte| *byte == 0).collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

// === impl Facts ===

impl Facts {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn of_der(der: &[u8]) -> Result<Self, CertificateError> {
        let (rest, certificate) =
            x509_parser::parse_x509_certificate(der).map_err(|_| CertificateError::Malformed)?;
        if !rest.is_empty() {
            return Err(CertificateError::Malformed);
        }
        let time = |second| Timestamp::from_second(second).map_err(|_| CertificateError::Malformed);
        let validity = certificate.validity();
        let mut facts = Self {
            hosts: Vec::new(),
            uris: Vec::new(),
            not_before: time(validity.not_before.timestamp())?,
            not_after: time(validity.not_after.timestamp())?,
            serial: serial(certificate.raw_serial()),
            issuer: certificate.issuer().as_raw().to_vec(),
            subject: certificate.subject().as_raw().to_vec(),
        };
        for extension in certificate.iter_extensions() {
            let ParsedExtension::SubjectAlternativeName(names) = extension.parsed_extension() else {
                continue;
            };
            for name in &names.general_names {
                match name {
                    GeneralName::URI(uri) => facts.uris.push((*uri).to_owned()),
                    GeneralName::DNSName(host) => facts.hosts.push((*host).to_owned()),
                    GeneralName::IPAddress(bytes) => {
                        facts.hosts.extend(address(bytes).map(|address| address.to_string()));
                    }
                    _ => {}
                }
            }
        }
        Ok(facts)
    }

    /// Reads the first certificate of a PEM text; keys in it are passed over.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn of_pem(text: &[u8]) -> Result<Self, CertificateError> {
        for block in Pem::iter_from_buffer(text) {
            let block = block.map_err(|_| CertificateError::Malformed)?;
            if block.label == "CERTIFICATE" {
                return Self::of_der(&block.contents);
            }
        }
        Err(CertificateError::Malformed)
    }

    /// The role of the proxy whose certificate this is.
    ///
    /// # Errors
    ///
    /// When it names none, or several, or anything else besides: who is two is nobody.
    pub fn proxy_role(&self) -> Result<ProxyRole, CertificateError> {
        match self.uris.as_slice() {
            [uri] => ProxyRole::from_uri(uri).ok_or(CertificateError::NoRole),
            _ => Err(CertificateError::NoRole),
        }
    }
}
