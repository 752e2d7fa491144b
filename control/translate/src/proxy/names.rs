//! The names of everything generated. People script against them, and the filter reads them.

use std::net::SocketAddr;

use keyward_filter_core::config::{self, AUTH_ID_SEPARATOR};
use keyward_resource::ObjectRef;
use keyward_resource::kinds::options::AllowList;
use sha2::{Digest as _, Sha256};

/// The proxy that gateways are for when they name none.
pub const DEFAULT_PROXY: &str = "gateway-proxy";

/// The virtual host that answers 421. No virtual service has it, since each has a full stop in its own.
pub const MISDIRECTED: &str = "misdirected";

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

/// The route configuration of the chain of a listener with TLS that has this server name as its first:
/// `<listener>-routes-<server name>`. No two chains share a server name.
#[must_use]
pub fn route_config_of(listener: &str, server_name: &str) -> String {
    format!("{}-{server_name}", route_config(listener))
}

/// The secret with the certificate of a Secret: `tls:<namespace>/<name>`.
#[must_use]
pub fn certificate(secret: &ObjectRef) -> String {
    format!("tls:{secret}")
}

/// The secret with the root certificates of a Secret: `ca:<namespace>/<name>`.
#[must_use]
pub fn root_ca(secret: &ObjectRef) -> String {
    format!("ca:{secret}")
}

/// The secret with a certificate in files on the machine of the proxy.
#[must_use]
pub fn certificate_files(cert: &str, key: &str) -> String {
    format!("tls-files:{cert}:{key}")
}

/// The secret with root certificates in a file on the machine of the proxy.
#[must_use]
pub fn root_ca_file(path: &str) -> String {
    format!("ca-file:{path}")
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

/// The auth id of an AuthConfig on routes that allow only some of those whose keys are valid:
/// `<namespace>/<name>@<digest of the list>`. No name holds an `@`.
#[must_use]
pub fn allowing(auth_config: &ObjectRef, list: &AllowList) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    for identity in &list.identities {
        add("identity");
        add(identity);
    }
    for (name, value) in &list.labels {
        ["label", name, value].into_iter().for_each(&mut add);
    }
    let digest = hash.finalize();
    let list: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    config::allowing(&auth_id(auth_config), &list)
}

/// The AuthConfig of an auth id; of one that no AuthConfig can have, none that exists.
#[must_use]
pub fn auth_config(auth_id: &str) -> Option<ObjectRef> {
    let (namespace, name) = config::without_list(auth_id).split_once('/')?;
    Some(ObjectRef::new(namespace, name))
}

/// Where routes go whose upstream group does not exist: `no-upstream-group:<name>_<namespace>`.
#[must_use]
pub fn no_group(group: &ObjectRef) -> String {
    format!("no-upstream-group:{}", cluster(group))
}

/// A route on the way to the one that decides: of the virtual service, then of each route table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// The route table; none for the virtual service itself.
    pub table: Option<ObjectRef>,
    /// The place of the route, from 0.
    pub index: usize,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// How people find it in its object.
    pub label: String,
}

/// What stands for a route table in the name of a route: `rt:<namespace>.<name>`. No name that users
/// give a route becomes one.
#[must_use]
pub fn table_step(table: &ObjectRef) -> String {
    format!("rt:{}.{}", table.namespace, table.name)
}

/// The route of one matcher: `<auth id>|<virtual host>/<route>/<matcher index>`, and without
/// `<auth id>|` when the route is open. `<route>` is the name that the user gave, else the index; with
/// delegation `/rt:<namespace>.<name>/<route>` follows for each table.
///
/// The filter takes what stands before the first separator for the auth id, so nothing that users
/// write reaches an open route's name with a separator in it.
#[must_use]
pub fn route(auth_id: Option<&str>, host: &str, steps: &[Step], matcher: usize) -> String {
    let mut path = plain(host);
    for step in steps {
        if let Some(table) = &step.table {
            path.push_str(&format!("/{}", table_step(table)));
        }
        path.push('/');
        match step.name.as_deref().map(plain) {
            Some(name) if !name.is_empty() => path.push_str(&name),
            _ => path.push_str(&step.index.to_string()),
        }
    }
    path.push_str(&format!("/{matcher}"));
    match auth_id {
        Some(auth_id) => format!("{auth_id}{}{path}", char::from(AUTH_ID_SEPARATOR)),
        None => path,
    }
}

/// The same for people, as the original product writes it:
/// `vs:<namespace>_<name>_route:<route>_rt:<namespace>_<name>_route:<route>`.
#[must_use]
pub fn route_path(virtual_service: &ObjectRef, steps: &[Step]) -> String {
    let mut path = format!("vs:{}_{}", virtual_service.namespace, virtual_service.name);
    for step in steps {
        if let Some(table) = &step.table {
            path.push_str(&format!("_rt:{}_{}", table.namespace, table.name));
        }
        match &step.name {
            Some(name) => path.push_str(&format!("_route:{name}")),
            None => path.push_str(&format!("_route:<unnamed-{}>", step.index)),
        }
    }
    path
}

fn plain(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}
