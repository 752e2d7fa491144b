//! Finds options that do nothing where they stand: those for forwarding, on a route that forwards nothing.

use crate::kinds::options::{HeaderManipulation, HostRewrite, RouteOptions};
use crate::kinds::route::{Action, Route};

/// Says which of a route's own options have no effect. What it inherits is for other routes as well.
pub(super) fn options(route: &Route) -> Option<String> {
    let action = match route.action {
        Action::DirectResponse(_) => "directResponseAction",
        Action::Redirect(_) => "redirectAction",
        Action::Forward(_) | Action::Delegate(_) => return None,
    };
    let idle = for_forwarding(&route.options);
    let (have, name) = match idle.as_slice() {
        [] => return None,
        [one] => ("has", format!("options.{one}")),
        several => ("have", format!("options {}", several.join(", "))),
    };
    Some(format!("{name} {have} no effect: {action} forwards nothing"))
}

/// The names of the options that are set and say how requests are forwarded.
fn for_forwarding(options: &RouteOptions) -> Vec<&'static str> {
    // Without a rest: whoever adds an option has to say where it counts.
    let RouteOptions {
        extauth: _,
        allowed: _,
        host_rewrite,
        append_x_forwarded_host,
        prefix_rewrite,
        regex_rewrite,
        timeout,
        idle_timeout,
        max_stream_duration,
        retries,
        header_manipulation,
        cors: _,
        faults: _,
        shadowing,
        upgrades,
        lb_hash,
    } = options;
    let host = match host_rewrite {
        None | Some(HostRewrite::Auto(false)) => None,
        Some(HostRewrite::Auto(true)) => Some("autoHostRewrite"),
        Some(HostRewrite::Literal(_)) => Some("hostRewrite"),
        Some(HostRewrite::Header(_)) => Some("hostRewriteHeader"),
        Some(HostRewrite::PathRegex(_)) => Some("hostRewritePathRegex"),
    };
    let changes =
        |headers: &HeaderManipulation| !headers.request_add.is_empty() || !headers.request_remove.is_empty();
    let others = [
        (*append_x_forwarded_host == Some(true), "appendXForwardedHost"),
        (prefix_rewrite.as_ref().is_some_and(|prefix| !prefix.is_empty()), "prefixRewrite"),
        (regex_rewrite.is_some(), "regexRewrite"),
        (timeout.is_some(), "timeout"),
        (idle_timeout.is_some(), "idleTimeout"),
        (max_stream_duration.is_some(), "maxStreamDuration"),
        (retries.is_some(), "retries"),
        (header_manipulation.as_ref().is_some_and(changes), "headerManipulation of requests"),
        (shadowing.is_some(), "shadowing"),
        (upgrades.as_ref().is_some_and(|upgrades| !upgrades.is_empty()), "upgrades"),
        (lb_hash.as_ref().is_some_and(|hash| !hash.is_empty()), "lbHash"),
    ];
    host.into_iter().chain(others.into_iter().filter(|(set, _)| *set).map(|(_, name)| name)).collect()
}
