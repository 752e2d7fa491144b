//! Reads which headers are added and removed.

use super::{all, format, names};
use crate::kinds::options::{HeaderManipulation, HeaderToAdd};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// `headerManipulation`.
pub(crate) const FIELD: Field =
    Field::new("headerManipulation", Type::Object(&MANIPULATION), "Headers that are added or removed.");

static MANIPULATION: Message = Message {
    name: "HeaderManipulation",
    doc: "Headers that are added or removed. Removal comes first.",
    fields: &[
        Field::new(
            "requestHeadersToAdd",
            Type::List(&Type::Object(&ADDED)),
            "Headers that the upstream sees in addition.",
        ),
        Field::new(
            "requestHeadersToRemove",
            Type::STRING_LIST,
            "Names of headers that the upstream does not see.",
        ),
        Field::new(
            "responseHeadersToAdd",
            Type::List(&Type::Object(&ADDED)),
            "Headers that the client sees in addition.",
        ),
        Field::new(
            "responseHeadersToRemove",
            Type::STRING_LIST,
            "Names of headers that the client does not see.",
        ),
    ],
    unsupported: &[],
};

static ADDED: Message = Message {
    name: "HeaderValueOption",
    doc: "A header to add.",
    fields: &[
        Field::required("header", Type::Object(&HEADER), "The header."),
        Field::new(
            "append",
            Type::Boolean,
            "Whether values that are there already stay. Otherwise this one replaces them. Default true.",
        ),
    ],
    unsupported: &["headerSecretRef"],
};

static HEADER: Message = Message {
    name: "HeaderValue",
    doc: "A header.",
    fields: &[
        Field::required(
            "key",
            Type::String,
            "The name, in any case. Not the header that carries the identity of the caller, which only \
             authentication sets, and none that belongs to the connection or to the start line.",
        ),
        Field::new(
            "value",
            Type::String,
            "The value, at most 16384 bytes. The proxy replaces `%REQ(name)%`, `%DOWNSTREAM_REMOTE_ADDRESS%` \
             and its other commands; write `%%` for a percent sign. Whoever copies what a policy of the same \
             virtual host looks for a key in, or the header `api-key`, is rejected. Default empty.",
        ),
    ],
    unsupported: &[],
};

/// The most headers that the proxy takes in one list.
const MAX_HEADERS: usize = 1000;

/// Reads `headerManipulation` of these options.
pub(crate) fn read(options: &Object<'_>) -> Option<Option<HeaderManipulation>> {
    options.maybe("headerManipulation", |node| {
        let fields = node.object(&MANIPULATION)?;
        let request_add = fields.or("requestHeadersToAdd", Vec::new(), |list| listed(list, added));
        let request_remove =
            fields.or("requestHeadersToRemove", Vec::new(), |list| listed(list, names::removed_header));
        let response_add = fields.or("responseHeadersToAdd", Vec::new(), |list| listed(list, added));
        let response_remove =
            fields.or("responseHeadersToRemove", Vec::new(), |list| listed(list, names::removed_header));
        Some(HeaderManipulation {
            request_add: request_add?,
            request_remove: request_remove?,
            response_add: response_add?,
            response_remove: response_remove?,
        })
    })
}

fn listed<T>(node: Node<'_>, read: impl FnMut(Node<'_>) -> Option<T>) -> Option<Vec<T>> {
    let items = all(node, read)?;
    if items.len() > MAX_HEADERS {
        node.invalid(format_args!("must have at most {MAX_HEADERS} entries"));
        return None;
    }
    Some(items)
}

fn added(node: Node<'_>) -> Option<HeaderToAdd> {
    let fields = node.object(&ADDED)?;
    let append = fields.flag("append", true);
    let header = fields.choice("header", "a header to add needs a header").and_then(|node| {
        let header = node.object(&HEADER)?;
        let name = header.required("key", "a header needs a name").and_then(names::added_header);
        let value = header.or("value", String::new(), format::read);
        Some((name?, value?))
    });
    let (name, value) = header?;
    Some(HeaderToAdd { name, value, append: append? })
}
