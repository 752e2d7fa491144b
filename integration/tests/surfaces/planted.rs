//! Keys that cannot be mistaken for anything else, and the search for them in whatever form.

use std::fmt::Write as _;

/// What every planted key has in it: of letters and digits alone, and of what is written differently in JSON,
/// in URLs and in shells.
pub(crate) const CORES: [&str; 2] = ["Zq7vXw2Tn8Lb4Rk6", "Zq7/Xw+2Tn=8L%b4\"Rk\\6"];

/// A key of this name.
pub(crate) fn key(name: &str) -> String {
    format!("{name}-{}", CORES[0])
}

/// One whose characters are escaped here and there.
pub(crate) fn odd(name: &str) -> String {
    format!("{name}-{}", CORES[1])
}

/// What is looked for.
pub(crate) struct Needles {
    spellings: Vec<Vec<u8>>,
    /// Whether any begins with these two bytes.
    begins: Vec<bool>,
}

/// Base64 with the two last characters of the alphabet.
fn base64(bytes: &[u8], last: [u8; 2]) -> String {
    let mut alphabet: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').collect();
    alphabet.extend(last);
    let mut encoded = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
        let word = word << (8 * (3 - group.len()));
        for at in 0..=group.len() {
            let index = (word >> (18 - 6 * at)) & 63;
            encoded.push(char::from(alphabet[index as usize]));
        }
    }
    encoded
}

/// Percent-encoded: everything but letters and digits, or everything.
fn percent(text: &str, digits: fn(u8) -> String, all: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() && !all {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{}", digits(byte));
        }
    }
    encoded
}

/// Every way in which a text could be written down.
fn spellings(text: &str) -> Vec<String> {
    let upper = |byte| format!("{byte:02X}");
    let lower = |byte| format!("{byte:02x}");
    let mut all = vec![
        text.to_owned(),
        text.to_lowercase(),
        text.escape_default().to_string(),
        percent(text, upper, false),
        percent(text, lower, false),
        percent(text, upper, true),
        percent(text, lower, true),
        text.bytes().map(upper).collect(),
        text.bytes().map(lower).collect(),
    ];
    for last in [*b"+/", *b"-_"] {
        // Each of the three alignments that it can have inside a longer text, less the characters at its
        // ends that depend on what stands around.
        for shift in 0..3 {
            let padded = [vec![0; shift], text.as_bytes().to_vec()].concat();
            let encoded = base64(&padded, last);
            all.push(encoded[(shift * 8).div_ceil(6)..padded.len() * 8 / 6].to_owned());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn begin(bytes: &[u8]) -> Option<usize> {
    Some(usize::from(*bytes.first()?) << 8 | usize::from(*bytes.get(1)?))
}

// === impl Needles ===

impl Needles {
    /// The cores of the planted keys, and these texts.
    pub(crate) fn new(more: &[String]) -> Self {
        let texts = CORES.into_iter().chain(more.iter().map(String::as_str));
        let spellings: Vec<Vec<u8>> = texts.flat_map(spellings).map(String::into_bytes).collect();
        let mut begins = vec![false; 1 << 16];
        for spelling in &spellings {
            assert!(spelling.len() >= 16, "{} is found anywhere", spelling.escape_ascii());
            begins[begin(spelling).unwrap()] = true;
        }
        Self { spellings, begins }
    }

    /// The first that is found, with what stands around it.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<String> {
        (0..bytes.len()).find_map(|at| {
            let rest = &bytes[at..];
            if !self.begins[begin(rest)?] {
                return None;
            }
            let found = self.spellings.iter().find(|spelling| rest.starts_with(spelling))?;
            let around = &bytes[at.saturating_sub(120)..(at + found.len() + 40).min(bytes.len())];
            Some(around.escape_ascii().to_string())
        })
    }
}

#[test]
fn a_key_is_found_in_every_form() {
    let needles = Needles::new(&["generated-0123456789".to_owned()]);
    for key in [key("ann"), odd("ann"), "x-generated-0123456789".to_owned()] {
        for shift in 0..4 {
            let text = format!("{}{key}!", &"abc"[..shift.min(3)]);
            let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            let forms = [
                base64(text.as_bytes(), *b"+/"),
                base64(text.as_bytes(), *b"-_"),
                hex.to_uppercase(),
                hex,
                percent(&text, |byte| format!("{byte:02X}"), false),
                serde_json::Value::from(text.as_str()).to_string(),
                format!("{text:?}"),
                text,
            ];
            for form in forms {
                assert!(needles.find(format!("... {form} ...").as_bytes()).is_some(), "{key}: {form}");
            }
        }
    }
    assert_eq!(needles.find(b"Zq7vXw2Tn8Lb4Rk and its SHA-256 are no key"), None);
}
