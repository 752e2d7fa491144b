//! Reads what a line of an access log says: text with the proxy's commands, `%RESPONSE_CODE%` and the like.
//!
//! Only commands are let through that cannot print a key, and that the proxy is known to take: one that it
//! cannot read makes it refuse the whole listener. A key may stand in any request header that an AuthConfig
//! can name, in cookies and in the query; upstreams may repeat it in their answers. So of headers those are
//! listed that may be logged, and no AuthConfig can name any of them.

use crate::kinds::routing::format::{PLAIN_COMMANDS, WITH_QUERY, split_command};

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text and commands, for the proxy as they are.
    Proxy(&'t str),
    /// `%KEYWARD(identity)%`: who it was.
    Identity,
    /// `%KEYWARD(key_id)%`: which key it was.
    KeyId,
    /// `%KEYWARD(auth_config)%`: whose policy decided.
    AuthConfig,
    /// `%KEYWARD(reason)%`: what was decided.
    Reason,
}

const REQUEST_HEADERS: &[&str] = &[
    ":authority",
    ":method",
    ":protocol",
    ":scheme",
    "accept",
    "accept-encoding",
    "accept-language",
    "b3",
    "content-encoding",
    "content-length",
    "content-type",
    "forwarded",
    "host",
    "origin",
    "range",
    "traceparent",
    "tracestate",
    "user-agent",
    "via",
    "x-amzn-trace-id",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-client-trace-id",
    "x-cloud-trace-context",
    "x-envoy-external-address",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
    "x-request-id",
];

const RESPONSE_HEADERS: &[&str] = &[
    ":status",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-type",
    "grpc-status",
    "retry-after",
    "server",
    "www-authenticate",
    "x-request-id",
];

/// What `%PATH%` may say in its parentheses.
const PATHS: &[&str] = &["NQ", "NQ:ORIG", "NQ:PATH", "NQ:ORIG_OR_PATH"];

/// Commands beside those that headers may have, all without an argument.
const MORE_COMMANDS: &[&str] = &[
    "ACCESS_LOG_TYPE",
    "CONNECTION_TERMINATION_DETAILS",
    "DOWNSTREAM_HANDSHAKE_DURATION",
    "DOWNSTREAM_HEADER_BYTES_RECEIVED",
    "DOWNSTREAM_HEADER_BYTES_SENT",
    "DOWNSTREAM_TRANSPORT_FAILURE_REASON",
    "DOWNSTREAM_WIRE_BYTES_RECEIVED",
    "DOWNSTREAM_WIRE_BYTES_SENT",
    "EMIT_TIME",
    "FILTER_CHAIN_NAME",
    "GRPC_STATUS",
    "GRPC_STATUS_NUMBER",
    "REQUEST_HEADERS_BYTES",
    "REQUEST_TX_DURATION",
    "RESPONSE_HEADERS_BYTES",
    "RESPONSE_TRAILERS_BYTES",
    "RESPONSE_TX_DURATION",
    "ROUNDTRIP_DURATION",
    "UNIQUE_ID",
    "UPSTREAM_CLUSTER_RAW",
    "UPSTREAM_HEADER_BYTES_RECEIVED",
    "UPSTREAM_HEADER_BYTES_SENT",
    "UPSTREAM_LOCAL_PORT",
    "UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
    "UPSTREAM_TLS_CIPHER",
    "UPSTREAM_TLS_VERSION",
    "UPSTREAM_WIRE_BYTES_RECEIVED",
    "UPSTREAM_WIRE_BYTES_SENT",
];

/// Takes a format apart.
///
/// # Errors
///
/// When a command in it may not be logged; for people.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(percent) = text.get(at..).and_then(|rest| rest.find('%')).map(|found| at + found) {
        let behind = text.get(percent + 1..).unwrap_or_default();
        if behind.starts_with('%') {
            at = percent + 2;
            continue;
        }
        let command = split_command(behind)?;
        let end = text.len() - command.rest.len();
        if let Some(part) = check(command.name, command.argument, command.length)? {
            parts.extend(text.get(plain..percent).filter(|text| !text.is_empty()).map(Part::Proxy));
            parts.push(part);
            plain = end;
        }
        at = end;
    }
    parts.extend(text.get(plain..).filter(|text| !text.is_empty()).map(Part::Proxy));
    Ok(parts)
}

/// Checks one command; answers with what it is if it is one of ours.
fn check<'t>(
    name: &str,
    argument: Option<&'t str>,
    length: Option<&str>,
) -> Result<Option<Part<'t>>, String> {
    const OURS: &str = "%KEYWARD% says identity, key_id, auth_config or reason, as in %KEYWARD(identity)%";
    if length.is_some_and(|length| length.parse::<u16>().is_err()) {
        return Err(format!("%{name}%: what stands behind ':' must be a number up to 65535"));
    }
    let uncut = match length {
        Some(_) => Err(format!("%{name}% cannot be cut by ':'")),
        None => Ok(()),
    };
    match (name, argument) {
        ("KEYWARD", Some("identity")) => uncut.map(|()| Some(Part::Identity)),
        ("KEYWARD", Some("key_id")) => uncut.map(|()| Some(Part::KeyId)),
        ("KEYWARD", Some("auth_config")) => uncut.map(|()| Some(Part::AuthConfig)),
        ("KEYWARD", Some("reason")) => uncut.map(|()| Some(Part::Reason)),
        ("KEYWARD", _) => Err(OURS.to_owned()),
        ("REQ", Some(headers)) => headers.split('?').try_for_each(request_header).map(|()| None),
        ("RESP", Some(headers)) => headers.split('?').try_for_each(response_header).map(|()| None),
        ("PATH", Some(what)) if PATHS.contains(&what) => Ok(None),
        ("PATH", _) => Err("%PATH% has the query in it, in which a key may stand: write %PATH(NQ)%, which \
                            leaves it away"
            .to_owned()),
        ("QUERY_PARAM" | "QUERY_PARAMS", _) => {
            Err(format!("%{name}% is not logged: a key may stand in the query"))
        }
        ("START_TIME", argument) => match argument {
            Some(format)
                if !format
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"%-./:_, ".contains(&byte)) =>
            {
                Err("%START_TIME%: the argument must be a format of a time, such as (%Y-%m-%d)".to_owned())
            }
            _ => uncut.map(|()| None),
        },
        _ if PLAIN_COMMANDS.contains(&name) || MORE_COMMANDS.contains(&name) => match argument {
            Some(_) => Err(format!("%{name}%: takes no argument")),
            None => uncut.map(|()| None),
        },
        _ => Err(format!("%{name}% is no command that may stand in a log")),
    }
}

fn request_header(header: &str) -> Result<(), String> {
    let name = header.to_ascii_lowercase();
    if REQUEST_HEADERS.contains(&name.as_str()) {
        return Ok(());
    }
    if WITH_QUERY.contains(&name.as_str()) {
        return Err(format!(
            "%REQ({header})% has a query in it, in which a key may stand: write %PATH(NQ)%, which leaves it away"
        ));
    }
    Err(format!(
        "%REQ({header})% is not logged: a key may stand in this header. Who it was is %KEYWARD(identity)%, and \
         which key %KEYWARD(key_id)%; the headers that may be logged are {}",
        REQUEST_HEADERS.join(", ")
    ))
}

fn response_header(header: &str) -> Result<(), String> {
    let name = header.to_ascii_lowercase();
    if RESPONSE_HEADERS.contains(&name.as_str()) {
        return Ok(());
    }
    Err(format!(
        "%RESP({header})% is not logged: upstreams may repeat keys in their answers; the headers that may be logged are {}",
        RESPONSE_HEADERS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::headers;

    #[test]
    fn no_key_can_stand_in_a_header_that_may_be_logged() {
        let real = REQUEST_HEADERS.iter().filter(|name| !name.starts_with(':'));
        for name in real {
            assert!(headers::key_header(name, "x-user-id").is_err(), "an AuthConfig can name {name}");
        }
        // Those do hold some, whatever an AuthConfig says.
        for name in ["authorization", "cookie", "proxy-authorization", "referer"] {
            assert!(!REQUEST_HEADERS.contains(&name), "{name}");
        }
    }

    #[test]
    fn what_could_print_a_key_is_refused_and_says_what_to_write_instead() {
        for (format, said) in [
            ("%REQ(api-key)%", "%REQ(api-key)% is not logged: a key may stand in this header"),
            ("%REQ(API-KEY)%", "%KEYWARD(identity)%"),
            ("%REQ(authorization):20%", "is not logged"),
            ("%REQ(Cookie)%", "is not logged"),
            ("%REQ(x-user-id)%", "%KEYWARD(identity)%"),
            ("%REQ(user-agent?x-api-key)%", "%REQ(x-api-key)% is not logged"),
            ("%REQ(:path)%", "%PATH(NQ)%"),
            ("%REQ(x-envoy-original-path?:path)%", "%PATH(NQ)%"),
            ("%REQ(referer)%", "%PATH(NQ)%"),
            ("%PATH%", "%PATH(NQ)%"),
            ("%PATH(WQ)%", "%PATH(NQ)%"),
            ("%QUERY_PARAM(key)%", "a key may stand in the query"),
            ("%QUERY_PARAMS%", "a key may stand in the query"),
            ("%RESP(set-cookie)%", "upstreams may repeat keys"),
            ("%RESP(location)%", "upstreams may repeat keys"),
            ("%TRAILER(x-key)%", "no command that may stand in a log"),
            ("%FILTER_STATE(wasm.keyward_key_id:PLAIN)%", "no command that may stand in a log"),
            ("%DYNAMIC_METADATA(a:b)%", "no command that may stand in a log"),
            ("%CEL(request.headers['api-key'])%", "no command that may stand in a log"),
            ("%LOCAL_REPLY_BODY%", "no command that may stand in a log"),
            ("%ENVIRONMENT(HOME)%", "no command that may stand in a log"),
            ("%KEYWARD%", "identity, key_id"),
            ("%KEYWARD(key)%", "identity, key_id"),
            ("%KEYWARD(identity):3%", "cannot be cut"),
            ("%DURATION(x)%", "takes no argument"),
            ("100%", "'%%'"),
            ("%REQ(user-agent%", "has no ')'"),
        ] {
            let why = parts(format).expect_err(format);
            assert!(why.contains(said), "{format}: {why}");
        }
    }

    #[test]
    fn a_format_is_taken_apart_where_something_of_ours_stands_and_nowhere_else() {
        for (format, expected) in [
            ("", &[][..]),
            ("plain 100%%", &[Part::Proxy("plain 100%%")]),
            ("%KEYWARD(reason)%", &[Part::Reason]),
            (
                "a %KEYWARD(identity)%/%KEYWARD(key_id)% %DURATION% %KEYWARD(auth_config)%\n",
                &[
                    Part::Proxy("a "),
                    Part::Identity,
                    Part::Proxy("/"),
                    Part::KeyId,
                    Part::Proxy(" %DURATION% "),
                    Part::AuthConfig,
                    Part::Proxy("\n"),
                ],
            ),
            // A percent sign that is none, and no command behind it.
            ("%%KEYWARD(reason)%%", &[Part::Proxy("%%KEYWARD(reason)%%")]),
            (
                "%START_TIME(%Y-%m)% %REQ(user-agent?:authority):40% %PATH(NQ:ORIG):9% %RESP(:status)% ü",
                &[Part::Proxy(
                    "%START_TIME(%Y-%m)% %REQ(user-agent?:authority):40% %PATH(NQ:ORIG):9% %RESP(:status)% ü",
                )],
            ),
        ] {
            assert_eq!(parts(format).as_deref(), Ok(expected), "{format}");
        }
    }
}
