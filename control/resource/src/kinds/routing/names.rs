//! The rules for words in routes: header names and values, hosts, paths, methods.

use std::net::Ipv6Addr;

use crate::kinds::route::{DEFAULT_IDENTITY_HEADER, same_header};
use crate::reader::Node;
use crate::syntax::{self, Check};

const TOKEN: &str = "must be the name of a header: letters, digits and any of !#$%&'*+-.^_`|~, at most 256";
const HOST: &str = "must be a host name or an address, with a port or without, such as \"example.com\", \
                    \"example.com:8080\" or \"[::1]\"";

/// Headers that belong to a connection and not to a request. The proxy makes them itself: a route that
/// changed them could make two requests of one.
const CONNECTION_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// What can be matched beside real headers.
const PSEUDO_HEADERS: &[&str] = &[":authority", ":method", ":path", ":scheme"];
/// The longest header value that the proxy takes in a configuration.
const MAX_VALUE_LEN: usize = 16_384;

pub(crate) fn is_token(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    matches!(text.len(), 1..=256) && text.bytes().all(inner)
}

fn check(right: bool, wrong: &'static str) -> Check {
    if right { Ok(()) } else { Err(wrong) }
}

/// A string that keeps a rule.
fn word<'a>(node: &Node<'a>, rule: impl FnOnce(&str) -> Check) -> Option<&'a str> {
    let text = node.string()?;
    if let Err(why) = rule(text) {
        node.invalid(why);
        return None;
    }
    Some(text)
}

/// The name of a header, in lower case.
pub(crate) fn header(node: Node<'_>) -> Option<String> {
    word(&node, |text| check(is_token(text), TOKEN)).map(str::to_ascii_lowercase)
}

/// The name of a header to be matched, in lower case.
pub(crate) fn matched_header(node: Node<'_>) -> Option<String> {
    let rule = |text: &str| {
        let pseudo = PSEUDO_HEADERS.contains(&text.to_ascii_lowercase().as_str());
        if text.starts_with(':') {
            return check(pseudo, "must be one of :authority, :method, :path and :scheme");
        }
        check(is_token(text), TOKEN)?;
        check(
            !same_header(text, DEFAULT_IDENTITY_HEADER),
            "carries the identity of the caller, which is known only after the route is chosen: a route must \
             not depend on it",
        )
    };
    word(&node, rule).map(str::to_ascii_lowercase)
}

/// The name of a header to be added, in lower case.
pub(crate) fn added_header(node: Node<'_>) -> Option<String> {
    let rule = |text: &str| {
        changed(text)?;
        check(
            !same_header(text, DEFAULT_IDENTITY_HEADER),
            "carries the identity of the caller: nothing but authentication sets it",
        )
    };
    word(&node, rule).map(str::to_ascii_lowercase)
}

/// The name of a header to be removed, in lower case.
pub(crate) fn removed_header(node: Node<'_>) -> Option<String> {
    word(&node, changed).map(str::to_ascii_lowercase)
}

fn changed(text: &str) -> Check {
    let lower = text.to_ascii_lowercase();
    check(
        !text.starts_with(':') && lower != "host",
        "cannot be changed here: options.hostRewrite and options.prefixRewrite change host and path",
    )?;
    check(
        !CONNECTION_HEADERS.contains(&lower.as_str()),
        "belongs to the connection: the proxy sets it by itself",
    )?;
    check(is_token(text), TOKEN)
}

/// The value of a header.
pub(crate) fn value(text: &str) -> Check {
    let inner = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
    check(text.len() <= MAX_VALUE_LEN, "must have at most 16384 bytes")?;
    check(text.bytes().all(inner), "must not contain control characters")
}

/// The value of a header that is matched as it is.
pub(crate) fn matched_value(text: &str) -> Check {
    value(text)?;
    check(text.trim() == text, "must not begin or end with a space: header values never do")
}

/// A host with a port or without, as it stands in a `host` header.
pub(crate) fn host(text: &str) -> Check {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match literal {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => syntax::host_name(host).is_ok(),
    };
    check(port && host, HOST)
}

/// A host with a port or without.
pub(crate) fn host_word(node: Node<'_>) -> Option<String> {
    word(&node, host).map(str::to_owned)
}

/// An exact path.
pub(crate) fn path(node: Node<'_>) -> Option<String> {
    word(&node, syntax::path_prefix).map(str::to_owned)
}

/// What stands in place of a part of a path. Empty stands for nothing.
pub(crate) fn new_prefix(node: Node<'_>) -> Option<Option<String>> {
    let rule = |text: &str| {
        if text.is_empty() {
            return Ok(());
        }
        check(text.starts_with('/'), "must begin with '/'")?;
        check(!text.contains(['?', '#']), "must not contain '?' or '#'")?;
        check(text.bytes().all(|byte| byte.is_ascii_graphic()), "must consist of visible ASCII characters")
    };
    word(&node, rule).map(|text| (!text.is_empty()).then(|| text.to_owned()))
}

/// The path of a redirect; it may have a query.
pub(crate) fn new_path(node: Node<'_>) -> Option<String> {
    let rule = |text: &str| {
        check(text.starts_with('/'), "must begin with '/'")?;
        check(text.bytes().all(|byte| byte.is_ascii_graphic()), "must consist of visible ASCII characters")
    };
    word(&node, rule).map(str::to_owned)
}

/// A method.
pub(crate) fn method(node: Node<'_>) -> Option<String> {
    let rule = |text: &str| check(is_token(text), "must be a method, such as \"GET\"");
    word(&node, rule).map(str::to_owned)
}
