//! Which virtual host a host belongs to.

use crate::served::{RouteConfiguration, VirtualHost};

/// A virtual host, and the domain by which it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) virtual_host: &'a VirtualHost,
    pub(crate) domain: &'a str,
}

/// Takes the dot off that a host may end in: `example.com.` is `example.com`.
pub(crate) fn without_trailing_dot(host: &str) -> String {
    match host.rfind('.') {
        Some(at) if at + 1 == host.len() => host[..at].to_owned(),
        Some(at) if host[at + 1..].starts_with(':') => format!("{}{}", &host[..at], &host[at + 1..]),
        _ => host.to_owned(),
    }
}

/// A host without its port.
pub(crate) fn without_port(host: &str) -> &str {
    match (host.rfind(':'), host.rfind(']')) {
        (Some(colon), Some(bracket)) if bracket > colon => host,
        (Some(colon), _) => &host[..colon],
        (None, _) => host,
    }
}

/// Finds a virtual host: by the whole host, then by the longest end (`*.example.com`), then by the longest
/// beginning (`example.*`), then the one for everybody.
pub(crate) fn find<'a>(routes: &'a RouteConfiguration, host: &str) -> Option<Found<'a>> {
    let host = if routes.ignore_port_in_host_matching { without_port(host) } else { host };
    let host = host.to_ascii_lowercase();
    let all = || {
        let hosts = routes.virtual_hosts.iter();
        hosts.flat_map(|virtual_host| {
            virtual_host.domains.iter().map(move |domain| Found { virtual_host, domain })
        })
    };
    // A wildcard stands for at least one character.
    let longest = |part: fn(&str) -> Option<&str>, fits: fn(&str, &str) -> bool| {
        let fitting = all().filter(|found| {
            let domain = found.domain.to_ascii_lowercase();
            part(&domain).is_some_and(|part| !part.is_empty() && part.len() < host.len() && fits(&host, part))
        });
        // Of several of one length the first one, as there can be no two that are the same.
        fitting.max_by_key(|found| found.domain.len())
    };
    all()
        .find(|found| found.domain.eq_ignore_ascii_case(&host))
        .or_else(|| longest(|domain| domain.strip_prefix('*'), |host, end| host.ends_with(end)))
        .or_else(|| longest(|domain| domain.strip_suffix('*'), |host, start| host.starts_with(start)))
        .or_else(|| all().find(|found| found.domain == "*"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_most_specific_domain_wins() {
        let hosts = [
            ("all", "*"),
            ("exact", "www.example.com"),
            ("end", "*.example.com"),
            ("longer", "*.b.example.com"),
            ("dash", "*-x.example.com"),
            ("start", "example.*"),
            ("upper", "UPPER.test"),
            ("six", "[::1]"),
        ];
        let hosts = hosts.map(|(name, domain)| json!({ "name": name, "domains": [domain] }));
        let routes = json!({ "name": "r", "ignorePortInHostMatching": true, "virtualHosts": hosts });
        let routes: RouteConfiguration = serde_json::from_value(routes).expect("routes");
        for (host, expected) in [
            ("www.example.com", "exact"),
            ("WWW.example.com:8080", "exact"),
            ("a.example.com", "end"),
            ("a.b.example.com", "longer"),
            ("a-x.example.com", "dash"),
            // The wildcard stands for something.
            (".example.com", "all"),
            ("example.com", "start"),
            ("example.", "all"),
            ("upper.test", "upper"),
            ("[::1]:80", "six"),
            ("[::1]", "six"),
            ("", "all"),
        ] {
            let found = find(&routes, host).map(|found| found.virtual_host.name.as_str());
            assert_eq!(found, Some(expected), "{host}");
        }
        let routes = RouteConfiguration { virtual_hosts: routes.virtual_hosts[1..].to_vec(), ..routes };
        assert!(find(&routes, "other.test").is_none());
    }

    #[test]
    fn dots_and_ports_are_taken_off() {
        for (host, dotless, portless) in [
            ("example.com.", "example.com", "example.com"),
            ("example.com.:80", "example.com:80", "example.com"),
            ("example.com:80", "example.com:80", "example.com"),
            ("[::1]:80", "[::1]:80", "[::1]"),
            ("[::1]", "[::1]", "[::1]"),
            (".", "", ""),
        ] {
            assert_eq!(without_trailing_dot(host), dotless);
            assert_eq!(without_port(dotless), portless);
        }
    }
}
