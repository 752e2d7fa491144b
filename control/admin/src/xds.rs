//! What proxies are told, as JSON: protobuf's own mapping, with what Envoy calls sensitive taken out.

use std::sync::LazyLock;

use bytes::Bytes;
use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, ReflectMessage as _, SerializeOptions, Value as Field,
};
use serde_json::{Value, json};

use crate::redact::{self, REDACTED};

/// The messages that are sent, and those inside them. Made by `scripts/xds-descriptors.py`,
/// of what `descriptors.txt` names.
static DESCRIPTORS: &[u8] = include_bytes!("xds/descriptors.bin");
static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap_or_default());

/// Marks the fields that Envoy shows nobody either.
const SENSITIVE: &str = "udpa.annotations.sensitive";
/// Packs a message of any type.
const ANY: &str = "google.protobuf.Any";
/// Stands for what cannot be read.
const TEXT: &str = "google.protobuf.StringValue";
/// Strings beyond this are cut: the filter's code is one, and nobody reads it.
const MAX_TEXT: usize = 8 * 1024;
/// So much is left of them.
const KEPT_TEXT: usize = 64;

/// What is done to the fields of a message.
type Change<'a> = dyn FnMut(&FieldDescriptor, &mut Field) -> bool + 'a;

/// A resource as JSON, for people: without the values of headers that are added too. What cannot be read is named with its size, and not shown.
#[must_use]
pub fn resource(type_url: &str, body: &Bytes) -> Value {
    let mut shown = json(type_url, body, &mut redacted);
    redact::all(&mut shown);
    shorten(&mut shown);
    shown
}

/// A resource as JSON, for programs that work with it: no text is cut, but the code of the filter and the
/// like is, which is bytes.
#[must_use]
pub fn whole(type_url: &str, body: &Bytes) -> Value {
    json(type_url, body, &mut |field, value| redacted(field, value) || cut(value))
}

/// `change` is asked of each field, and says whether it has seen to it.
fn json(type_url: &str, body: &Bytes, change: &mut Change<'_>) -> Value {
    let unreadable = || json!({ "@type": type_url, "unreadable": format!("{} bytes", body.len()) });
    let Some(mut message) = decode(type_url, body) else { return unreadable() };
    each_field(&mut message, change);
    let shown = message.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new());
    shown.unwrap_or_else(|_| unreadable())
}

fn decode(type_url: &str, body: &[u8]) -> Option<DynamicMessage> {
    let name = type_url.rsplit('/').next()?;
    DynamicMessage::decode(POOL.get_message_by_name(name)?, body).ok()
}

fn each_field(message: &mut DynamicMessage, change: &mut Change<'_>) {
    if message.descriptor().full_name() == ANY {
        return each_packed_field(message, change);
    }
    for (field, value) in message.fields_mut() {
        if !change(&field, value) {
            each_message(value, &mut |message| each_field(message, change));
        }
    }
}

/// What is packed is read, changed, and packed again.
fn each_packed_field(any: &mut DynamicMessage, change: &mut Change<'_>) {
    let type_url = any.get_field_by_name("type_url").and_then(|url| url.as_str().map(str::to_owned));
    let type_url = type_url.unwrap_or_default();
    let body = any.get_field_by_name("value").and_then(|body| body.as_bytes().cloned()).unwrap_or_default();
    let (type_url, packed) = match decode(&type_url, &body) {
        Some(mut message) => {
            each_field(&mut message, change);
            (type_url, message)
        }
        None => {
            let Some(mut text) = POOL.get_message_by_name(TEXT).map(DynamicMessage::new) else { return };
            // The empty one is what a route turns a filter on with.
            let note = match (type_url.as_str(), body.len()) {
                ("", 0) => String::new(),
                (_, length) => format!("{length} bytes of the unknown type {type_url}"),
            };
            text.set_field_by_name("value", Field::String(note));
            (format!("type.googleapis.com/{TEXT}"), text)
        }
    };
    any.set_field_by_name("type_url", Field::String(type_url));
    any.set_field_by_name("value", Field::Bytes(packed.encode_to_vec().into()));
}

/// Hides what Envoy calls sensitive.
fn redacted(field: &FieldDescriptor, value: &mut Field) -> bool {
    let options = field.options();
    let sensitive = options.extensions().any(|(extension, _)| extension.full_name() == SENSITIVE);
    if sensitive {
        hide(value);
    }
    sensitive
}

/// Puts a note in the place of bytes that nobody reads.
fn cut(value: &mut Field) -> bool {
    let Field::Bytes(bytes) = value else { return false };
    if bytes.len() > MAX_TEXT {
        *bytes = format!("{} bytes", bytes.len()).into();
    }
    true
}

/// Hides a value, and every text inside it.
fn hide(value: &mut Field) {
    match value {
        Field::String(text) => *text = REDACTED.to_owned(),
        Field::Bytes(bytes) => *bytes = Bytes::from_static(REDACTED.as_bytes()),
        Field::List(items) => items.iter_mut().for_each(hide),
        Field::Map(entries) => entries.values_mut().for_each(hide),
        Field::Message(message) => message.fields_mut().for_each(|(_, value)| hide(value)),
        _ => {}
    }
}

fn each_message(value: &mut Field, action: &mut dyn FnMut(&mut DynamicMessage)) {
    match value {
        Field::Message(message) => action(message),
        Field::List(items) => items.iter_mut().for_each(|item| each_message(item, action)),
        Field::Map(entries) => entries.values_mut().for_each(|entry| each_message(entry, action)),
        _ => {}
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let kept: String = text.chars().take(KEPT_TEXT).collect();
            *text = format!("{kept}... ({} characters)", text.chars().count());
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
