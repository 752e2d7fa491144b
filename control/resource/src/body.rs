//! Reads the body of a request, JSON or YAML, into one value; and files, which may hold several.
//!
//! Stricter than the parsers by themselves: a key that stands twice, a second document in a request
//! and numbers that JSON cannot say are mistakes. Errors give line and column and never repeat the
//! text, because the text may be a Secret.

mod places;

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{FieldError, FieldErrorReason};

pub use places::{Place, Places};

/// Deeper nesting than this is refused; no kind comes near it.
const MAX_DEPTH: usize = 64;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RFC 8259.
    Json,
    /// YAML 1.2, one document; `yes` and `on` are strings.
    Yaml,
}

/// Why a text is not what its format wants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed {format}: {what}")]
pub struct Malformed {
    /// What it should have been.
    pub format: Format,
    /// What is wrong, in words that repeat nothing of the text.
    pub what: String,
    /// Where, if that is known.
    pub place: Option<Place>,
}

/// Reads any value and refuses keys that stand twice.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

/// A value that [`Strict`] has read.
struct Strictly(Value);

/// Reads a body into one value.
///
/// # Errors
///
/// When the body is malformed, with line and column.
pub fn parse_body(body: &[u8], format: Format) -> Result<Value, FieldError> {
    let text = text(body, format)?;
    if text.trim().is_empty() {
        return Err(Malformed::new(format, "the body is empty", None).into());
    }
    let value = match format {
        Format::Json => parse_json(text),
        Format::Yaml => parse_yaml(text),
    };
    Ok(value?)
}

/// Reads the documents of a file: YAML separated by `---`, or JSON values one after the other.
/// Documents that say nothing are left out.
///
/// # Errors
///
/// When any of them is malformed.
pub fn parse_documents(body: &[u8], format: Format) -> Result<Vec<Value>, Malformed> {
    let text = text(body, format)?;
    let documents: Vec<Strictly> = match format {
        Format::Json => {
            let values = serde_json::Deserializer::from_str(text).into_iter();
            values.collect::<Result<_, _>>().map_err(|error| json_malformed(&error))?
        }
        Format::Yaml => serde_saphyr::from_multiple_with_options(text, yaml_options())
            .map_err(|error| yaml_malformed(&error))?,
    };
    Ok(documents.into_iter().map(|Strictly(value)| value).filter(|value| !value.is_null()).collect())
}

fn text(body: &[u8], format: Format) -> Result<&str, Malformed> {
    std::str::from_utf8(body).map_err(|error| {
        let sound = body.get(..error.valid_up_to()).unwrap_or_default();
        let place = Place::after(&String::from_utf8_lossy(sound));
        let what = format!("byte {} is not part of UTF-8 text", error.valid_up_to());
        Malformed::new(format, what, Some(place))
    })
}

fn parse_json(text: &str) -> Result<Value, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    value.map_err(|error| json_malformed(&error))
}

fn parse_yaml(text: &str) -> Result<Value, Malformed> {
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, yaml_options(), |deserializer| {
        Strict { depth: 0 }.deserialize(deserializer)
    });
    value.map_err(|error| yaml_malformed(&error))
}

fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        emit_comments: false,
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn json_malformed(error: &serde_json::Error) -> Malformed {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&place).unwrap_or(&text);
    Malformed::new(Format::Json, what, Place::known(error.line(), error.column()))
}

fn yaml_malformed(error: &serde_saphyr::Error) -> Malformed {
    let place = error.location().and_then(|location| {
        Place::known(location.line().try_into().ok()?, location.column().try_into().ok()?)
    });
    Malformed::new(Format::Yaml, yaml_mistake(error.without_snippet()), place)
}

/// What is wrong, in words that repeat nothing of the text. The parser's own messages repeat tags,
/// numbers and keys, and in a Secret that somebody forgot to quote any of them may be the API key.
fn yaml_mistake(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::MessageFormatter as _;
    let words = match error {
        Error::MultipleDocuments { .. } => "a second document begins; send one object in a request,",
        Error::DuplicateMappingKey { .. } => "a key stands twice in one object",
        Error::UnsupportedTag { .. } => "an unknown tag; a string that begins with '!' needs quotes,",
        Error::UnknownAnchor { .. } => "an unknown alias; a string that begins with '*' needs quotes,",
        Error::Budget { .. } => "too large, too deep or too many aliases",
        Error::NonFiniteFloat { .. } => "a number that JSON cannot say; a string needs quotes,",
        Error::SerdeInvalidType { .. } | Error::SerdeInvalidValue { .. } => "a value that JSON cannot say",
        Error::AliasError { error, .. } => return yaml_mistake(error),
        other => return serde_saphyr::UserMessageFormatter.format_message(other).into_owned(),
    };
    words.to_owned()
}

// === impl Malformed ===

impl Malformed {
    fn new(format: Format, what: impl Into<String>, place: Option<Place>) -> Self {
        Self { format, what: what.into(), place }
    }
}

impl From<Malformed> for FieldError {
    fn from(malformed: Malformed) -> Self {
        let place = match malformed.place {
            // The words for these say all there is to say.
            Some(place) if !malformed.what.contains("UTF-8") => {
                format!(" at line {} column {}", place.line, place.column)
            }
            _ => String::new(),
        };
        Self::new("", FieldErrorReason::TypeInvalid, format!("{malformed}{place}"))
    }
}

// === impl Format ===

impl Format {
    /// What a `Content-Type` header names; `None` for anything that is neither JSON nor YAML. A
    /// request without the header is JSON when its body begins like an object.
    #[must_use]
    pub fn from_content_type(content_type: Option<&str>, body: &[u8]) -> Option<Self> {
        let Some(content_type) = content_type else {
            let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
            return Some(if first == Some(&b'{') { Self::Json } else { Self::Yaml });
        };
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" => Some(Self::Json),
            "application/yaml"
            | "application/x-yaml"
            | "text/yaml"
            | "text/x-yaml"
            | "application/vnd.yaml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}

// === impl Strictly ===

impl<'de> Deserialize<'de> for Strictly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Strict { depth: 0 }.deserialize(deserializer).map(Self)
    }
}

// === impl Strict ===

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can say")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    // Only numbers that fit neither type above come here; serde's own error would repeat them.
    fn visit_i128<E: serde::de::Error>(self, _: i128) -> Result<Value, E> {
        Err(E::custom("a number that does not fit 64 bits"))
    }

    fn visit_u128<E: serde::de::Error>(self, _: u128) -> Result<Value, E> {
        Err(E::custom("a number that does not fit 64 bits"))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that JSON cannot say"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let seed = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(seed)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let seed = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom("a key stands twice in one object"));
            }
            let value = entries.next_value_seed(seed)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
