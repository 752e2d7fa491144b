//! Keeps web pages out. The port has no credentials, and a browser on this machine reaches it: a
//! page may point its own name at 127.0.0.1, or send requests to it across origins.

use std::net::{IpAddr, SocketAddr};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use keyward_resource::ApiStatus;

/// Which `Host` headers are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostGuard {
    /// `localhost` and loopback addresses.
    Loopback,
    /// Any: the operator opened the port beyond this machine.
    Any,
}

/// The middleware.
pub(super) async fn check(State(guard): State<HostGuard>, request: Request, next: Next) -> Response {
    let host = request
        .uri()
        .authority()
        .map(Authority::as_str)
        .or_else(|| request.headers().get("host").and_then(|host| host.to_str().ok()));
    let refusal = if !guard.allows(host) {
        "this port answers only to names of its own machine: use http://127.0.0.1 or http://localhost"
    } else if is_of_another_origin(request.headers(), host) {
        "this port does not answer to pages of another origin"
    } else {
        return next.run(request).await;
    };
    (StatusCode::FORBIDDEN, Json(ApiStatus::forbidden(refusal))).into_response()
}

/// Whether a browser says that a page from elsewhere sends this. Browsers put `Origin` on every
/// request across origins that can change anything.
fn is_of_another_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return true;
    }
    let Some(origin) = headers.get("origin") else { return false };
    let origin =
        origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    origin.is_none() || origin != host
}

// === impl HostGuard ===

impl HostGuard {
    /// The guard that fits an address to listen on.
    #[must_use]
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.ip().is_loopback() { Self::Loopback } else { Self::Any }
    }

    fn allows(self, host: Option<&str>) -> bool {
        if self == Self::Any {
            return true;
        }
        // Without a Host header it was no browser.
        let Some(host) = host else { return true };
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_another_origin_are_told_apart() {
        for (name, value, foreign) in [
            ("accept", "*/*", false),
            ("origin", "http://127.0.0.1:9080", false),
            ("origin", "http://127.0.0.1:3000", true),
            ("origin", "https://evil.example", true),
            ("origin", "null", true),
            ("sec-fetch-site", "same-origin", false),
            ("sec-fetch-site", "none", false),
            ("sec-fetch-site", "same-site", true),
            ("sec-fetch-site", "cross-site", true),
        ] {
            let headers = HeaderMap::from_iter([(
                axum::http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]);
            assert_eq!(is_of_another_origin(&headers, Some("127.0.0.1:9080")), foreign, "{name}: {value}");
        }
    }

    #[test]
    fn only_names_of_this_machine_reach_a_loopback_port() {
        for (host, allowed) in [
            (Some("127.0.0.1:9080"), true),
            (Some("localhost"), true),
            (Some("LOCALHOST:1"), true),
            (Some("[::1]:9080"), true),
            (Some("127.9.9.9"), true),
            (None, true),
            (Some("rebound.example:9080"), false),
            (Some("localhost.example"), false),
            (Some("10.0.0.1"), false),
            (Some(""), false),
        ] {
            assert_eq!(HostGuard::Loopback.allows(host), allowed, "{host:?}");
            assert!(HostGuard::Any.allows(host), "{host:?}");
        }
    }
}
