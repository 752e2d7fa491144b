//! The names of everything generated. People script against them, and the filter reads them.

use std::net::SocketAddr;

use keyward_filter_core::config::AUTH_ID_SEPARATOR;
use keyward_resource::ObjectRef;

/// The proxy that gateways are for when they name none.
pub const DEFAULT_PROXY: &str = "gateway-proxy";

/// The node role of a proxy: `<system namespace>~<proxy>`.
#[must_use]
pub fn role(system_namespace: &str, proxy: &str) -> String {
    format!("{system_namespace}~{proxy}")
}

/// `listener-<addr>-<port>`, such as `listener-0.0.0.0-8080` or `listener-::-8080`.
#[must_use]
pub fn listener(address: SocketAddr) -> String {
    format!("listener-{}-{}", address.ip(), address.port())
}

/// The route configuration of a listener: `<listener>-routes`.
#[must_use]
pub fn route_config(listener: &str) -> String {
    format!("{listener}-routes")
}

/// The cluster of an upstream: `<name>_<namespace>`. Names hold no underscore, so no two collide.
#[must_use]
pub fn cluster(upstream: &ObjectRef) -> String {
    format!("{}_{}", upstream.name, upstream.namespace)
}

/// Where routes go whose upstream does not exist: `no-upstream:<name>_<namespace>`. No cluster has such
/// a name, not even one of the bootstrap: a reference to an upstream that is not there must not reach
/// the control server because the names happen to agree.
#[must_use]
pub fn no_cluster(upstream: &ObjectRef) -> String {
    format!("no-upstream:{}", cluster(upstream))
}

/// The virtual host of a virtual service: `<namespace>.<name>`. Namespaces hold no dot, so no two
/// collide.
#[must_use]
pub fn virtual_host(virtual_service: &ObjectRef) -> String {
    format!("{}.{}", virtual_service.namespace, virtual_service.name)
}

/// The virtual host of the domains that are left of a rejected virtual service:
/// `!<namespace>.<name>`. It stands beside the one of the last good version.
#[must_use]
pub fn closed_virtual_host(virtual_service: &ObjectRef) -> String {
    format!("!{}", virtual_host(virtual_service))
}

/// The auth id on the route of [`closed_virtual_host`]: `!<namespace>/<name>` of the virtual service.
/// No AuthConfig has it, since no namespace holds a `!`: nobody is let through.
#[must_use]
pub fn closed_auth_id(virtual_service: &ObjectRef) -> String {
    format!("!{virtual_service}")
}

/// The cluster on that route, `closed:<name>_<namespace>` of the virtual service, which never exists
/// either.
#[must_use]
pub fn closed_cluster(virtual_service: &ObjectRef) -> String {
    format!("closed:{}", cluster(virtual_service))
}

/// The auth id of an AuthConfig, which is also the name of its key table: `<namespace>/<name>`.
#[must_use]
pub fn auth_id(auth_config: &ObjectRef) -> String {
    auth_config.to_string()
}

/// The route of one matcher: `<auth id>|<virtual host>/<route>/<matcher index>`, and without
/// `<auth id>|` when the route is open. `<route>` is the name that the user gave, else the index.
///
/// The filter takes what stands before the first separator for the auth id, so nothing that users
/// write reaches an open route's name with a separator in it.
#[must_use]
pub fn route(auth_id: Option<&str>, host: &str, index: usize, name: Option<&str>, matcher: usize) -> String {
    let route = match name.map(plain) {
        Some(name) if !name.is_empty() => name,
        _ => index.to_string(),
    };
    let path = format!("{}/{route}/{matcher}", plain(host));
    match auth_id {
        Some(auth_id) => format!("{auth_id}{}{path}", char::from(AUTH_ID_SEPARATOR)),
        None => path,
    }
}

fn plain(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}
