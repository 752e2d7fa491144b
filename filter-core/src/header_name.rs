//! Which headers a policy may take and set: the rules of writing, of translation and of a configuration
//! without a control server.

/// Headers that have a meaning already, so that no policy may take or set them.
struct Reserved {
    /// In lower case, with hyphens. One that ends in `*` stands for all that begin so.
    names: &'static [&'static str],
    /// They may carry a key all the same.
    carries_key: bool,
    /// Says of one of them what it is.
    what: &'static str,
}

/// Everything that HTTP, the proxy or this product has a use for. What a policy sets is removed from every
/// request that a client sends, whoever it was meant for, so none of these can be among it. A key header
/// is taken out of requests with a valid key only.
static RESERVED_HEADERS: &[Reserved] = &[
    Reserved {
        names: &[
            "connection",
            "expect",
            "host",
            "http2-settings",
            "keep-alive",
            "max-forwards",
            "proxy-*",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "via",
        ],
        carries_key: false,
        what: "is a header that proxies act on",
    },
    Reserved {
        names: &[
            "forwarded",
            "grpc-*",
            "x-client-trace-id",
            "x-envoy-*",
            "x-forwarded-*",
            "x-real-ip",
            "x-request-id",
        ],
        carries_key: false,
        what: "is a header that the proxy itself sets or acts on",
    },
    Reserved {
        names: &[
            "b3",
            "baggage",
            "traceparent",
            "tracestate",
            "uber-trace-id",
            "x-amzn-trace-id",
            "x-b3-*",
            "x-cloud-trace-context",
            "x-ot-span-context",
        ],
        carries_key: false,
        what: "is a header of tracing",
    },
    Reserved {
        names: &[
            "accept",
            "accept-*",
            "access-control-*",
            "cache-control",
            "content-*",
            "cookie",
            "date",
            "from",
            "if-*",
            "origin",
            "pragma",
            "range",
            "referer",
            "sec-*",
            "set-cookie",
            "user-agent",
            "www-authenticate",
        ],
        carries_key: false,
        what: "is a header of HTTP with another meaning",
    },
    Reserved {
        names: &["api-key", "api-key-sha256", "authorization"],
        carries_key: true,
        what: "is a header in which clients send credentials",
    },
];

/// What is wrong with the name of a header, as a sentence for people.
pub type Check = Result<(), String>;

/// The name of the header that carries a key, in lower case.
///
/// # Errors
///
/// When it may not be that; for people.
pub fn key_header(name: &str, identity_header: &str) -> Check {
    plain(name)?;
    if same(name, identity_header) {
        return Err(format!(
            "stands for {identity_header}, which carries the identity of the caller and is removed from every \
             request before it is looked at: a key cannot arrive there"
        ));
    }
    match reserved(name).filter(|reserved| !reserved.carries_key) {
        Some(Reserved { what, .. }) => {
            Err(format!("{what} and cannot carry a key: name one of your own, such as api-key or x-api-key"))
        }
        None => Ok(()),
    }
}

/// The name of a header that tells the upstream something about a key, in lower case.
///
/// # Errors
///
/// When it may not be that; for people.
pub fn told_header(name: &str, identity_header: &str) -> Check {
    plain(name)?;
    if same(name, identity_header) {
        return Err(format!(
            "stands for {identity_header}, which carries the identity of the caller and cannot carry anything \
             else"
        ));
    }
    settable(name)
}

/// The name of the header that carries the identity, in lower case.
///
/// # Errors
///
/// When it may not be that; for people.
pub fn identity_header(name: &str) -> Check {
    plain(name)?;
    settable(name)
}

/// Whether an upstream may take one name for the other, in lower case: many turn both `-` and `_` into `_`.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    let folded = |byte: u8| if byte == b'_' { b'-' } else { byte };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| folded(a) == folded(b))
}

/// HTTP allows more in names, but upstreams do not agree on what becomes of it: CGI and its kin turn all of
/// it into `_`, so that a client could send what looks like the header there and is another one here.
fn plain(name: &str) -> Check {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if matches!(name.len(), 1..=256) && name.bytes().all(usual) {
        return Ok(());
    }
    Err("must consist of letters, digits, '-' and '_', at most 256: upstreams may take other characters in the name \
         of a header for one of these"
        .to_owned())
}

fn settable(name: &str) -> Check {
    match reserved(name) {
        Some(Reserved { what, .. }) => Err(format!(
            "{what} and cannot be set: clients could not send it any more; name one of your own, such as x-team"
        )),
        None => Ok(()),
    }
}

fn reserved(name: &str) -> Option<&'static Reserved> {
    let is = |reserved: &str| match reserved.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|begins| same(begins, start)),
        None => same(name, reserved),
    };
    RESERVED_HEADERS.iter().find(|reserved| reserved.names.iter().any(|name| is(name)))
}

#[cfg(test)]
mod tests;
