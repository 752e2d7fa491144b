//! Reads PEM: labelled blocks of base64 between lines of dashes.

use base64::Engine as _;

use super::BASE64;

/// One block.
pub(super) struct Block {
    /// What it says it is: `CERTIFICATE`.
    pub(super) label: String,
    /// The bytes.
    pub(super) der: Vec<u8>,
}

/// What is wrong with a text, never repeating any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum PemError {
    /// Bytes that are no text.
    #[error("must be PEM, which is text")]
    NotText,
    /// A block that does not end.
    #[error("has a PEM block without an end")]
    NoEnd,
    /// A key behind a password.
    #[error("has an encrypted key, which nobody could decrypt here")]
    Encrypted,
    /// Something that is not base64.
    #[error("has a PEM block that is not base64")]
    NotBase64,
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// The blocks of a text. What stands between them has no meaning, as is usual.
pub(super) fn blocks(bytes: &[u8]) -> Result<Vec<Block>, PemError> {
    let text = std::str::from_utf8(bytes).map_err(|_| PemError::NotText)?;
    let mut lines = text.lines().map(str::trim);
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        let Some(label) = line.strip_prefix(BEGIN).and_then(|line| line.strip_suffix(DASHES)) else {
            continue;
        };
        let mut base64 = String::new();
        loop {
            let line = lines.next().ok_or(PemError::NoEnd)?;
            if let Some(end) = line.strip_prefix(END).and_then(|line| line.strip_suffix(DASHES)) {
                if end != label {
                    return Err(PemError::NoEnd);
                }
                break;
            }
            // Only old forms of encrypted keys have header lines.
            if line.contains(':') {
                return Err(PemError::Encrypted);
            }
            base64.push_str(line);
        }
        if label == "ENCRYPTED PRIVATE KEY" {
            return Err(PemError::Encrypted);
        }
        let der = BASE64.decode(base64).map_err(|_| PemError::NotBase64)?;
        blocks.push(Block { label: label.to_owned(), der });
    }
    Ok(blocks)
}
