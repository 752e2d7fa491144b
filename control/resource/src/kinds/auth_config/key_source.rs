//! `spec.configs[].apiKeyAuth.keySource`: where in a request the key may stand.

use super::api_key::IDENTITY_HEADER;
use crate::metadata;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax::{self, headers};

/// Where a key may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header.
    Header {
        /// Its name, in lower case.
        name: String,
        /// What stands before the key, such as `Bearer`.
        prefix: Option<String>,
    },
    /// In a query parameter of this name.
    QueryParam(String),
    /// In a cookie of this name.
    Cookie(String),
}

/// The longest prefix, in bytes.
const MAX_PREFIX_LEN: usize = 64;

pub(super) static KEY_SOURCE: Message = Message {
    name: "ApiKeySource",
    doc: "Where in a request the key may stand: looked at in the order headers, query parameters, cookies, and \
          of each in the order of its list, in every value of a header. A request with two different keys in these \
          places is refused with 401. Unless forwardKey is true, the key is taken out of all of them.",
    fields: &[
        Field::new("headers", Type::List(&Type::Object(&SOURCE_HEADER)), "Headers that may carry the key."),
        Field::new(
            "queryParams",
            Type::STRING_LIST,
            "Query parameters that may carry the key, percent-encoded; `+` stands for itself. The letter case of \
             names matters. Queries often end up in logs: prefer headers.",
        ),
        Field::new("cookies", Type::STRING_LIST, "Cookies that may carry the key, as it is."),
    ],
    unsupported: &[],
};

static SOURCE_HEADER: Message = Message {
    name: "ApiKeySourceHeader",
    doc: "A header that may carry the key.",
    fields: &[
        Field::required("header", Type::String, "The name of the header."),
        Field::new(
            "prefix",
            Type::String,
            "What stands before the key, such as `Bearer`, in letters of any case and followed by a blank if it \
             ends in a letter or digit. A value without it is no key, and is left in the request. Default: the \
             whole value is the key.",
        ),
    ],
    unsupported: &[],
};

/// Reads `keySource`.
pub(super) fn read(node: Node<'_>) -> Option<Vec<KeyPlace>> {
    let source = node.object(&KEY_SOURCE)?;
    let headers = places(&source, "headers", header);
    let params = places(&source, "queryParams", |node| {
        metadata::word(&node, syntax::parameter_name).map(KeyPlace::QueryParam)
    });
    let cookies = places(&source, "cookies", |node| {
        metadata::word(&node, syntax::parameter_name).map(KeyPlace::Cookie)
    });
    let places = [headers?, params?, cookies?].concat();
    if places.is_empty() {
        source.node().required("must name a header, a query parameter or a cookie");
        return None;
    }
    Some(places)
}

/// Reads one of the lists. Every mistake is found.
fn places(
    source: &Object<'_>,
    key: &str,
    read: impl Fn(Node<'_>) -> Option<KeyPlace>,
) -> Option<Vec<KeyPlace>> {
    let Some(list) = source.optional(key) else { return Some(Vec::new()) };
    let list = list.list()?;
    let mut places: Vec<KeyPlace> = Vec::new();
    for item in list.iter() {
        match read(item) {
            Some(place) if places.contains(&place) => item.duplicate(),
            Some(place) if places.iter().any(|other| clash(other, &place)) => {
                item.invalid("stands there with a prefix and without one: then no value could be one key");
            }
            Some(place) => places.push(place),
            None => {}
        }
    }
    // Some were left out of it: they have been noted.
    (places.len() == list.len()).then_some(places)
}

/// Whether any value in the first of two places would be another key in the second.
fn clash(one: &KeyPlace, other: &KeyPlace) -> bool {
    match (one, other) {
        (KeyPlace::Header { name, prefix }, KeyPlace::Header { name: same, prefix: other }) => {
            name == same && prefix.is_some() != other.is_some()
        }
        _ => false,
    }
}

fn header(node: Node<'_>) -> Option<KeyPlace> {
    let fields = node.object(&SOURCE_HEADER)?;
    let name = fields.required("header", "names the header").and_then(|node| {
        let name = node.string()?.to_ascii_lowercase();
        match headers::key_header(&name, IDENTITY_HEADER) {
            Ok(()) => Some(name),
            Err(why) => {
                node.invalid(why);
                None
            }
        }
    });
    let prefix = fields.or("prefix", None, |node| {
        let prefix = node.string()?.trim();
        if prefix.len() > MAX_PREFIX_LEN || !prefix.bytes().all(|byte| byte.is_ascii_graphic()) {
            node.invalid(format_args!(
                "must be one word of at most {MAX_PREFIX_LEN} visible ASCII characters, such as Bearer"
            ));
            return None;
        }
        Some((!prefix.is_empty()).then(|| prefix.to_owned()))
    });
    Some(KeyPlace::Header { name: name?, prefix: prefix? })
}
