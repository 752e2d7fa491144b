//! The columns of a file.

use std::fmt;

use keyward_resource::kinds::secret::{
    DIGEST_FIELD, DISABLED_FIELD, EXPIRES_FIELD, KEY_FIELD, NOT_BEFORE_FIELD, PREVIOUS_DIGEST_FIELD,
    PREVIOUS_EXPIRES_FIELD, PREVIOUS_KEY_FIELD,
};

/// What stands before the name of an entry that has the name of a column.
const ENTRY: &str = "data:";
/// What stands behind the name of an entry that is no text.
const BASE64: &str = ":base64";
const NAME: &str = "name";
const NAMESPACE: &str = "namespace";
const LABELS: &str = "labels";

/// A column, or a field of a JSON line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    /// The name of the Secret, which is the identity.
    Name,
    /// Its namespace.
    Namespace,
    /// Its labels.
    Labels,
    /// An entry of its data.
    Entry {
        /// The name of the entry.
        name: String,
        /// Its value stands there in base64.
        is_base64: bool,
    },
}

/// What somebody may have meant who wrote something else: `apiKey`, `expires_at`.
fn meant(heading: &str) -> Option<&'static str> {
    const MEANT: [(&str, &[&str]); 11] = [
        (NAME, &["id", "identity", "user", "username"]),
        (NAMESPACE, &["ns"]),
        (LABELS, &["label"]),
        (KEY_FIELD, &["key"]),
        (DIGEST_FIELD, &["sha256", "digest", "hash", "keysha256", "apikeydigest"]),
        (EXPIRES_FIELD, &["expires", "expiry", "expiration", "expire"]),
        (NOT_BEFORE_FIELD, &["validfrom"]),
        (DISABLED_FIELD, &["enabled"]),
        (PREVIOUS_KEY_FIELD, &[]),
        (PREVIOUS_DIGEST_FIELD, &[]),
        (PREVIOUS_EXPIRES_FIELD, &[]),
    ];
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
    };
    let heading = plain(heading);
    let found =
        MEANT.iter().find(|(name, words)| plain(name) == heading || words.contains(&heading.as_str()));
    found.map(|(name, _)| *name)
}

/// Whether it is the name of a column, whatever else it could be.
fn is_reserved(heading: &str) -> bool {
    matches!(heading, NAME | NAMESPACE | LABELS)
}

// === impl Column ===

impl Column {
    /// The column of a heading. One that only looks like one of ours is refused: it would be an entry of no
    /// effect, where an end of validity was meant.
    pub(crate) fn read(heading: &str) -> Result<Self, String> {
        match heading {
            NAME => return Ok(Self::Name),
            NAMESPACE => return Ok(Self::Namespace),
            LABELS => return Ok(Self::Labels),
            _ => {}
        }
        let (rest, is_base64) = match heading.strip_suffix(BASE64) {
            Some(rest) => (rest, true),
            None => (heading, false),
        };
        let (name, is_certain) = match rest.strip_prefix(ENTRY) {
            Some(name) => (name, true),
            None => (rest, false),
        };
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if matches!(name, "" | "." | "..") || name.len() > 253 || !name.bytes().all(inner) {
            let why = "the name of an entry must consist of letters, digits, '-', '_' and '.'";
            return Err(if heading.is_empty() { "a heading is missing".to_owned() } else { why.to_owned() });
        }
        match meant(name) {
            Some(meant) if !is_certain && meant != name => Err(format!(
                "there is no such column: is {meant} meant? Metadata of this name are written {ENTRY}{name}"
            )),
            _ => Ok(Self::Entry { name: name.to_owned(), is_base64 }),
        }
    }

    /// The column for an entry of the data.
    pub(crate) fn of_entry(name: &str, value: &[u8]) -> Self {
        Self::Entry { name: name.to_owned(), is_base64: std::str::from_utf8(value).is_err() }
    }

    /// The column for an entry that is text.
    pub(crate) fn of_text(name: &str) -> Self {
        Self::of_entry(name, b"")
    }

    /// The columns in the order in which people read them.
    pub(crate) fn rank(&self) -> usize {
        const ORDER: [&str; 8] = [
            KEY_FIELD,
            DIGEST_FIELD,
            EXPIRES_FIELD,
            NOT_BEFORE_FIELD,
            DISABLED_FIELD,
            PREVIOUS_KEY_FIELD,
            PREVIOUS_DIGEST_FIELD,
            PREVIOUS_EXPIRES_FIELD,
        ];
        match self {
            Self::Name => 0,
            Self::Namespace => 1,
            Self::Labels => 2,
            Self::Entry { name, .. } => {
                ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()).saturating_add(3)
            }
        }
    }

    /// Whether it says which key it is.
    pub(super) fn is_key(&self) -> bool {
        matches!(self, Self::Entry { name, .. } if name == KEY_FIELD || name == DIGEST_FIELD)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str(NAME),
            Self::Namespace => f.write_str(NAMESPACE),
            Self::Labels => f.write_str(LABELS),
            Self::Entry { name, is_base64 } => {
                let is_ours = !is_reserved(name) && meant(name).is_none_or(|meant| meant == name);
                let entry = if is_ours { "" } else { ENTRY };
                write!(f, "{entry}{name}{}", if *is_base64 { BASE64 } else { "" })
            }
        }
    }
}
