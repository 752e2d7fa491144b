//! Which requests look at what is secret: at Secrets, or at everything that a server or its proxy holds.

use axum::http::Method;

/// A kind of port, with paths of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    /// REST.
    Rest,
    /// One of those for debugging.
    Debug,
}

/// On REST, beside Secrets. Some are asked by a body.
const REST: [&str; 5] = [
    "/keyward/v1/explain/records",
    "/keyward/v1/logs",
    "/keyward/v1/served",
    "/keyward/v1/usage",
    "/keyward/v1/whoami",
];
/// On the other ports. Envoy's admin takes POST for its own as well.
const DEBUG: [&str; 10] = [
    "/api",
    "/certs",
    "/config_dump",
    "/contention",
    "/heap_dump",
    "/init_dump",
    "/peak_heap_dump",
    "/runtime",
    "/tap",
    "/xds",
];
/// And what is below these.
const BELOW: [&str; 4] = ["/debug/", "/snapshots/", "/xds/", "/zpages/"];

fn is_of_secrets(path: &str) -> bool {
    let mut parts = path.strip_prefix("/api/v1/").unwrap_or_default().split('/');
    match parts.next() {
        Some("namespaces") => parts.nth(1) == Some("secrets"),
        first => first == Some("secrets"),
    }
}

// === impl Port ===

impl Port {
    /// Whether a request is such a look.
    pub(super) fn shows(self, method: &Method, path: &str) -> bool {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match self {
            Self::Rest if REST.contains(&path) => reads || *method == Method::POST,
            Self::Rest => reads && is_of_secrets(path),
            Self::Debug if DEBUG.contains(&path) => reads || *method == Method::POST,
            Self::Debug => reads && BELOW.iter().any(|begin| path.starts_with(begin)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_what_is_secret_is_known_by_its_path() {
        use Port::{Debug, Rest};
        const SECRETS: &str = "/api/v1/namespaces/team/secrets";
        for (port, method, path, shows) in [
            (Rest, Method::GET, SECRETS, true),
            (Rest, Method::GET, "/api/v1/namespaces/team/secrets/alice", true),
            (Rest, Method::HEAD, "/api/v1/secrets", true),
            (Rest, Method::POST, SECRETS, false),
            (Rest, Method::DELETE, SECRETS, false),
            (Rest, Method::GET, "/api/v1/namespaces/secrets", false),
            (Rest, Method::GET, "/apis/service.keyward.io/v1/namespaces/team/upstreams", false),
            (Rest, Method::GET, "/api", false),
            (Rest, Method::GET, "/keyward/v1/logs", true),
            (Rest, Method::POST, "/keyward/v1/whoami", true),
            (Rest, Method::GET, "/keyward/v1/sync", false),
            (Debug, Method::GET, "/snapshots/input", true),
            (Debug, Method::GET, "/debug/pprof/heap", true),
            (Debug, Method::GET, "/xds/a~b", true),
            (Debug, Method::GET, "/api", true),
            (Debug, Method::POST, "/config_dump", true),
            (Debug, Method::PUT, "/config_dump", false),
            (Debug, Method::GET, "/metrics", false),
            (Debug, Method::GET, "/stats", false),
            (Debug, Method::GET, "/", false),
        ] {
            assert_eq!(port.shows(&method, path), shows, "{port:?} {method} {path}");
        }
    }
}
