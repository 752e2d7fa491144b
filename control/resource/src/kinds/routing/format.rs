//! Reads header values with the proxy's commands, `%REQ(:path)%` and the like.
//!
//! One value that the proxy cannot read makes it refuse everything that is sent with it, so only
//! commands are let through that it is known to take, with arguments that it is known to take. What
//! it takes was found by asking it: `testdata/envoy/header-commands.json`.

use super::names;
use crate::reader::Node;

/// What may stand in the parentheses of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// Nothing, and no parentheses.
    None,
    /// The name of a header, and another after `?` for when it is missing.
    Header,
    /// Words with colons between them.
    Path,
    /// The name of a query parameter.
    Word,
    /// A format of a time, or nothing.
    Time,
}

/// A command: its name, its argument, and whether its value can be cut by `:length`.
type Command = (&'static str, Argument, bool);

/// Commands with an argument, or that can be cut.
const COMMANDS: &[Command] = &[
    ("REQ", Argument::Header, true),
    ("RESP", Argument::Header, true),
    ("TRAILER", Argument::Header, true),
    ("QUERY_PARAM", Argument::Word, true),
    ("DYNAMIC_METADATA", Argument::Path, true),
    ("CLUSTER_METADATA", Argument::Path, false),
    ("UPSTREAM_METADATA", Argument::Path, false),
    ("START_TIME", Argument::Time, false),
    ("PATH", Argument::None, true),
    ("QUERY_PARAMS", Argument::None, true),
];

/// Commands without an argument.
pub(crate) const PLAIN_COMMANDS: &[&str] = &[
    "BYTES_RECEIVED",
    "BYTES_SENT",
    "CONNECTION_ID",
    "DOWNSTREAM_DIRECT_LOCAL_ADDRESS",
    "DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT",
    "DOWNSTREAM_DIRECT_LOCAL_PORT",
    "DOWNSTREAM_DIRECT_REMOTE_ADDRESS",
    "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT",
    "DOWNSTREAM_DIRECT_REMOTE_PORT",
    "DOWNSTREAM_LOCAL_ADDRESS",
    "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT",
    "DOWNSTREAM_LOCAL_DNS_SAN",
    "DOWNSTREAM_LOCAL_PORT",
    "DOWNSTREAM_LOCAL_SUBJECT",
    "DOWNSTREAM_LOCAL_URI_SAN",
    "DOWNSTREAM_PEER_CERT",
    "DOWNSTREAM_PEER_CERT_V_END",
    "DOWNSTREAM_PEER_CERT_V_START",
    "DOWNSTREAM_PEER_DNS_SAN",
    "DOWNSTREAM_PEER_FINGERPRINT_1",
    "DOWNSTREAM_PEER_FINGERPRINT_256",
    "DOWNSTREAM_PEER_ISSUER",
    "DOWNSTREAM_PEER_SERIAL",
    "DOWNSTREAM_PEER_SUBJECT",
    "DOWNSTREAM_PEER_URI_SAN",
    "DOWNSTREAM_REMOTE_ADDRESS",
    "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
    "DOWNSTREAM_REMOTE_PORT",
    "DOWNSTREAM_TLS_CIPHER",
    "DOWNSTREAM_TLS_SESSION_ID",
    "DOWNSTREAM_TLS_VERSION",
    "DURATION",
    "HOSTNAME",
    "PROTOCOL",
    "REQUESTED_SERVER_NAME",
    "REQUEST_DURATION",
    "RESPONSE_CODE",
    "RESPONSE_CODE_DETAILS",
    "RESPONSE_DURATION",
    "RESPONSE_FLAGS",
    "RESPONSE_FLAGS_LONG",
    "ROUTE_NAME",
    "STREAM_ID",
    "TLS_JA3_FINGERPRINT",
    "TLS_JA4_FINGERPRINT",
    "TRACE_ID",
    "UPSTREAM_CLUSTER",
    "UPSTREAM_HOST",
    "UPSTREAM_HOST_NAME",
    "UPSTREAM_LOCAL_ADDRESS",
    "UPSTREAM_PROTOCOL",
    "UPSTREAM_REMOTE_ADDRESS",
    "UPSTREAM_REMOTE_PORT",
    "UPSTREAM_REQUEST_ATTEMPT_COUNT",
    "UPSTREAM_TRANSPORT_FAILURE_REASON",
    "VIRTUAL_CLUSTER_NAME",
];

/// Reads a header value.
pub(crate) fn read(node: Node<'_>) -> Option<String> {
    let text = node.string()?;
    match names::value(text).map_err(str::to_owned).and_then(|()| check(text)) {
        Ok(()) => Some(text.to_owned()),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}

/// Checks the commands in a value.
fn check(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('%') {
        rest = match behind.strip_prefix('%') {
            Some(behind) => behind,
            None => command(behind)?,
        };
    }
    Ok(())
}

/// A command, taken apart.
pub(crate) struct Split<'t> {
    /// Its name.
    pub(crate) name: &'t str,
    /// What stands in its parentheses.
    pub(crate) argument: Option<&'t str>,
    /// What stands behind `:`.
    pub(crate) length: Option<&'t str>,
    /// What stands behind it.
    pub(crate) rest: &'t str,
}

/// Takes a command apart, behind its first `%`.
pub(crate) fn split_command(text: &str) -> Result<Split<'_>, String> {
    const LONE: &str =
        "a '%' begins a command such as %REQ(name)%: write '%%' for a percent sign that is none";
    let inner = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    let (name, rest) = text.split_at(text.find(|char| !inner(char)).unwrap_or(text.len()));
    if name.is_empty() {
        return Err(LONE.to_owned());
    }
    let (argument, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (argument, rest) =
                rest.split_once(')').ok_or_else(|| format!("the '(' of %{name} has no ')'"))?;
            (Some(argument), rest)
        }
        None => (None, rest),
    };
    let (length, rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
            let (length, rest) = rest.split_at(end);
            (Some(length), rest)
        }
        None => (None, rest),
    };
    let rest = rest.strip_prefix('%').ok_or_else(|| LONE.to_owned())?;
    Ok(Split { name, argument, length, rest })
}

/// What of a request, or of its answer, gets into a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The header of this name in lower case.
    Header(String),
    /// This query parameter.
    Parameter(String),
    /// The whole query.
    Query,
}

/// Headers with a path in them, and its query.
pub(crate) const WITH_QUERY: &[&str] = &[":path", "referer", "x-envoy-original-path"];

/// What a value takes over from requests and answers, as far as the proxy can read it.
pub(crate) fn sources(text: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('%') {
        rest = behind.strip_prefix('%').unwrap_or_else(|| {
            let Ok(Split { name, argument, rest, .. }) = split_command(behind) else { return behind };
            match (name, argument) {
                ("REQ" | "RESP" | "TRAILER", Some(headers)) => {
                    found.extend(headers.split('?').map(Source::header));
                }
                ("QUERY_PARAM", Some(name)) => found.push(Source::Parameter(name.to_owned())),
                ("QUERY_PARAMS" | "PATH", _) => found.push(Source::Query),
                _ => {}
            }
            rest
        });
    }
    found
}

/// Checks one command, behind its first `%`; answers with what stands behind it.
fn command(text: &str) -> Result<&str, String> {
    let Split { name, argument, length, rest } = split_command(text)?;
    let known = COMMANDS.iter().find(|(known, ..)| *known == name).copied();
    let plain = || PLAIN_COMMANDS.iter().find(|known| **known == name);
    let Some((_, kind, can_be_cut)) = known.or_else(|| plain().map(|name| (*name, Argument::None, false)))
    else {
        return Err(format!("%{name}% is no command that is supported"));
    };
    if !kind.takes(argument) {
        return Err(format!("%{name}%: {}", kind.rule()));
    }
    match length {
        Some(_) if !can_be_cut => Err(format!("%{name}% cannot be cut by ':'")),
        Some(length) if length.parse::<u16>().is_err() => {
            Err(format!("%{name}%: what stands behind ':' must be a number up to 65535"))
        }
        _ => Ok(rest),
    }
}

// === impl Source ===

impl Source {
    /// A header, in any case; of those with a path in them the query is what counts.
    #[must_use]
    pub fn header(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if WITH_QUERY.contains(&name.as_str()) { Self::Query } else { Self::Header(name) }
    }
}

// === impl Argument ===

impl Argument {
    fn takes(self, argument: Option<&str>) -> bool {
        let word = |text: &str| {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
            !text.is_empty() && text.bytes().all(inner)
        };
        let header = |text: &str| names::is_token(text.strip_prefix(':').unwrap_or(text));
        match (self, argument) {
            (Self::None | Self::Time, None) => true,
            (Self::None, Some(_)) | (Self::Header | Self::Path | Self::Word, None) => false,
            (Self::Header, Some(text)) => match text.split_once('?') {
                Some((first, second)) => header(first) && header(second),
                None => header(text),
            },
            (Self::Path, Some(text)) => text.split(':').all(word),
            (Self::Word, Some(text)) => word(text),
            (Self::Time, Some(text)) => {
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%-./:_, ".contains(&byte))
            }
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::None => "takes no argument",
            Self::Header => "the argument must be the name of a header, or two as in (first?second)",
            Self::Path => "the argument must be words with ':' between them",
            Self::Word => "the argument must be the name of a query parameter",
            Self::Time => "the argument must be a format of a time, such as (%Y-%m-%d)",
        }
    }
}

#[cfg(test)]
mod tests;
