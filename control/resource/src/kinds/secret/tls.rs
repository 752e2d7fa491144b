//! `Secret` of type `kubernetes.io/tls`: a certificate with its private key, and root certificates.

use std::fmt;

use super::der::{self, PublicKey};
use super::pem::{self, Block};
use crate::meta::Meta;

/// A Secret with what TLS needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSecret {
    /// Its metadata.
    pub meta: Meta,
    /// The certificate chain and its private key. None in a Secret that only holds root certificates.
    pub pair: Option<KeyPair>,
    /// `ca.crt`, PEM: what the certificates of others are verified against.
    pub root_ca: Option<String>,
}

/// A certificate chain and its private key, which belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// `tls.crt`, PEM, the certificate itself first.
    pub cert_chain: String,
    /// `tls.key`.
    pub private_key: PrivateKey,
}

/// A private key, PEM. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(String);

const CERTIFICATE: &str = "CERTIFICATE";
const NO_CERTIFICATE: &str = "must be a PEM certificate, or a chain of them";

/// Reads a certificate chain.
pub(super) fn chain(bytes: &[u8]) -> Result<String, String> {
    let blocks = certificates(bytes)?;
    let first = blocks.first().and_then(|block| der::certificate(&block.der));
    if let Some(problem) = first.as_ref().and_then(PublicKey::problem) {
        return Err(problem.to_owned());
    }
    text(bytes)
}

/// Reads root certificates.
pub(super) fn roots(bytes: &[u8]) -> Result<String, String> {
    certificates(bytes)?;
    text(bytes)
}

/// Reads a private key.
pub(super) fn private_key(bytes: &[u8]) -> Result<PrivateKey, String> {
    const WRONG: &str = "must be a PEM private key";
    let blocks = key_blocks(bytes)?;
    let [block] = blocks.as_slice() else { return Err(WRONG.to_owned()) };
    match key(block) {
        None => Err(WRONG.to_owned()),
        Some(key) => match key.problem() {
            Some(problem) => Err(problem.to_owned()),
            None => text(bytes).map(PrivateKey),
        },
    }
}

/// Whether a private key belongs to the first certificate of a chain. Both were read already.
pub(super) fn belong_together(cert_chain: &[u8], private_key: &[u8]) -> bool {
    let (Ok(chain), Ok(keys)) = (certificates(cert_chain), key_blocks(private_key)) else { return false };
    let certificate = chain.first().and_then(|block| der::certificate(&block.der));
    let key = keys.first().and_then(key);
    key.zip(certificate).is_some_and(|(key, certificate)| key.belongs_to(&certificate))
}

fn certificates(bytes: &[u8]) -> Result<Vec<Block>, String> {
    let blocks = pem::blocks(bytes).map_err(|error| error.to_string())?;
    let right = |block: &Block| block.label == CERTIFICATE && der::certificate(&block.der).is_some();
    if blocks.is_empty() || !blocks.iter().all(right) {
        return Err(NO_CERTIFICATE.to_owned());
    }
    Ok(blocks)
}

/// The blocks that hold a key: openssl puts the curve in front of it.
fn key_blocks(bytes: &[u8]) -> Result<Vec<Block>, String> {
    let mut blocks = pem::blocks(bytes).map_err(|error| error.to_string())?;
    blocks.retain(|block| block.label != "EC PARAMETERS");
    Ok(blocks)
}

fn key(block: &Block) -> Option<PublicKey<'_>> {
    match block.label.as_str() {
        "PRIVATE KEY" => der::pkcs8(&block.der),
        "RSA PRIVATE KEY" => der::pkcs1(&block.der),
        "EC PRIVATE KEY" => der::sec1(&block.der),
        _ => None,
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| NO_CERTIFICATE.to_owned())
}

// === impl PrivateKey ===

impl PrivateKey {
    /// The key itself, PEM, for the proxy alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests;
