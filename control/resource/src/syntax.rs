//! The rules for names, labels, host names and header names. Each answers what is wrong.

use std::net::{IpAddr, Ipv6Addr};

pub(crate) use keyward_filter_core::header_name as headers;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                     start and end with an alphanumeric character, and have at most 63 characters";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                         '-' or '.', start and end with an alphanumeric character, and have at most 253 \
                         characters";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', start and \
                         end with an alphanumeric character, have at most 63 characters, and may have a \
                         prefix that is a DNS subdomain and '/'";
const LABEL_VALUE: &str = "a label value must be empty or consist of alphanumeric characters, '-', '_' or '.', \
                           start and end with an alphanumeric character, and have at most 63 characters";
const DATA_KEY: &str = "a key must consist of alphanumeric characters, '-', '_' or '.', and have at most 253 \
                        characters";
const HOST_NAME: &str = "a host name must consist of alphanumeric characters, '-', '_' or '.', no part may be \
                         empty, longer than 63 characters or start or end with '-', and all have at most 253 \
                         characters";

/// What is wrong with a word, as a sentence for people.
pub(crate) type Check = Result<(), &'static str>;

fn check(right: bool, wrong: &'static str) -> Check {
    if right { Ok(()) } else { Err(wrong) }
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63 && text.bytes().all(inner) && has_plain_ends(text)
}

fn is_qualified_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 63 && text.bytes().all(inner) && has_plain_ends(text)
}

fn has_plain_ends(text: &str) -> bool {
    let plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    plain(text.as_bytes().first()) && plain(text.as_bytes().last())
}

/// A namespace.
pub(crate) fn label(text: &str) -> Check {
    check(is_label(text), LABEL)
}

/// The name of an object.
pub(crate) fn subdomain(text: &str) -> Check {
    // Kubernetes limits the whole, not the parts.
    let part = |part: &str| {
        has_plain_ends(part)
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    check(text.len() <= 253 && text.split('.').all(part), SUBDOMAIN)
}

/// The key of a label or of an annotation.
pub(crate) fn qualified_name(text: &str) -> Check {
    let right = match text.split_once('/') {
        Some((prefix, name)) => subdomain(prefix).is_ok() && is_qualified_part(name),
        None => is_qualified_part(text),
    };
    check(right, QUALIFIED)
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Check {
    check(text.is_empty() || is_qualified_part(text), LABEL_VALUE)
}

/// A key in the data of a Secret.
pub(crate) fn data_key(text: &str) -> Check {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let right = !matches!(text, "" | "." | "..") && text.len() <= 253 && text.bytes().all(inner);
    check(right, DATA_KEY)
}

/// A DNS name, in any case, or an IPv4 address.
pub(crate) fn host_name(text: &str) -> Check {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let part = |part: &str| {
        matches!(part.len(), 1..=63)
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    let whole = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 || !whole.split('.').all(part) {
        return Err(HOST_NAME);
    }
    // A name whose last part is a number is an address, or else a mistyped one (RFC 1123 2.1). Some
    // resolvers take `0x7f000001` for one as well.
    let number = whole.rsplit('.').next().is_some_and(is_number);
    check(!number || text.parse::<IpAddr>().is_ok(), "is neither an IP address nor a host name")
}

/// Whether resolvers may take the last part of a name for a number (WHATWG URL, "ends in a number").
fn is_number(part: &str) -> bool {
    let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
    part.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A domain of a virtual host without its port: a host name, `*.suffix`, `prefix.*`, `*` or an
/// IPv6 address in brackets.
pub(crate) fn domain(text: &str) -> Check {
    const WRONG: &str =
        "must be a host name, \"*.suffix\", \"prefix.*\" or \"*\" (without scheme, path or spaces)";
    if text == "*" {
        return Ok(());
    }
    if let Some(address) = text.strip_prefix('[') {
        let address = address.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
        return check(address.is_some(), "an IPv6 address must be written as in \"[::1]\"");
    }
    check(!text.ends_with('.'), "must not end with '.': \"example.com\" stands for \"example.com.\" too")?;
    let wildcard = text.strip_prefix("*.").or_else(|| text.strip_suffix(".*"));
    let right = match wildcard {
        // The rest may end in a number: 10.0.* is a prefix, no address.
        Some(rest) => !rest.ends_with('.') && host_name(&format!("{rest}.x")).is_ok(),
        None => host_name(text).is_ok(),
    };
    check(right, WRONG)
}

/// A path prefix.
pub(crate) fn path_prefix(text: &str) -> Check {
    check(text.starts_with('/'), "must begin with '/'")?;
    check(text.bytes().all(|byte| byte.is_ascii_graphic()), "must consist of visible ASCII characters")?;
    check(!text.contains('#'), "must not contain '#'")?;
    check(!text.contains('?'), "must not contain '?': the query takes no part in path matching")?;
    check(!text.contains("//"), "must not contain '//'")?;
    check(!text.contains("/./"), "must not contain '/./'")?;
    check(!text.contains("/../"), "must not contain '/../'")?;
    check(!text.to_ascii_lowercase().contains("%2f"), "must not contain '%2f'")?;
    check(!text.ends_with("/.") && !text.ends_with("/.."), "must not end with '/.' or '/..'")
}

/// The name of a header, in lower case.
pub(crate) fn header_token(name: &str) -> Check {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    check(
        matches!(name.len(), 1..=256) && name.bytes().all(token),
        "must be the name of a header: letters, digits and any of !#$%&'*+-.^_`|~, at most 256",
    )
}

/// The name of a query parameter or of a cookie.
pub(crate) fn parameter_name(name: &str) -> Check {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    check(
        matches!(name.len(), 1..=256) && name.bytes().all(plain),
        "must consist of letters, digits and any of -._~, at most 256",
    )
}

#[cfg(test)]
mod tests;
