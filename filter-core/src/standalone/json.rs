//! JSON as it was written: fields in their order, and twice where they stand twice.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value. Text is borrowed unless something in it was escaped.
#[derive(Clone)]
pub(super) enum Json<'a> {
    /// Stands for a field that is not there, as in resources.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number; only whole ones that are not negative are of use.
    Number(Option<u64>),
    /// Text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Object(Vec<(Cow<'a, str>, Self)>),
}

/// The name of a field.
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

struct AnyJson;
struct AnyName;

// === impl Json ===

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(Some(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(u64::try_from(value).ok()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        // A Struct holds all numbers as these, and not everybody writes a whole one as such.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at")]
        let whole = (value.fract() == 0.0 && (0.0..=9e15).contains(&value)).then_some(value as u64);
        Ok(Json::Number(whole))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::new();
        while let Some(Name(name)) = fields.next_key()? {
            object.push((name, fields.next_value()?));
        }
        Ok(Json::Object(object))
    }
}

// === impl Name ===

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(AnyName)
    }
}

impl<'de> Visitor<'de> for AnyName {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Name(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Name(Cow::Owned(value.to_owned())))
    }
}
