//! Header values in cases: any bytes, written as text.

use serde::Deserialize;

/// A value as written: text in which `\xHH` is a byte and `\\` a backslash, or a repetition.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Text(String),
    Repeated(Repeated),
}

/// `{repeat: a, times: 5000}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeated {
    repeat: String,
    times: usize,
}

fn unescape(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match after {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'x', high, low, after @ ..] => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(str::from_utf8(&digits)?, 16)?);
                rest = after;
            }
            _ => anyhow::bail!("{text:?} has a backslash that is neither \\xHH nor \\\\"),
        }
    }
    Ok(bytes)
}

// === impl Written ===

impl Written {
    pub(super) fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Text(text) => unescape(text),
            Self::Repeated(repeated) => Ok(unescape(&repeated.repeat)?.repeat(repeated.times)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_unescaped() {
        assert_eq!(unescape(r"a\xff\\\x00b").unwrap(), b"a\xff\\\x00b");
        assert!(unescape(r"\n").is_err());
        assert!(unescape(r"\x0").is_err());
    }
}
