//! A REST port on loopback without credentials answers only to names of this machine, so that a
//! web page cannot reach it by pointing its own name at 127.0.0.1.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use keyward_resource::ApiStatus;

use super::reply::ApiError;

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
    if guard.allows(host) {
        return next.run(request).await;
    }
    ApiError::from(ApiStatus::forbidden(
        "this port answers only to names of its own machine: use http://127.0.0.1 or http://localhost",
    ))
    .into_response()
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
