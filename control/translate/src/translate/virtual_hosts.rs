//! A VirtualService to a virtual host: routes, their destinations, their authentication.

use keyward_resource::kinds::virtual_service::{ExtAuth, Route as RouteSpec, VirtualService};
use keyward_resource::{ObjectKey, Reports};

use super::Known;
use super::kind::VIRTUAL_SERVICE;
use super::served::Closed;
use crate::proxy::{Auth, Route, VirtualHost, names};

/// Builds the virtual host of a version that is served.
pub(super) fn build(virtual_service: &VirtualService, known: &Known<'_>) -> VirtualHost {
    let reference = virtual_service.meta.object_ref();
    let name = names::virtual_host(&reference);
    let mut routes = Vec::new();
    for (index, spec) in virtual_service.routes.iter().enumerate() {
        let auth = auth(virtual_service, spec, known);
        let cluster = match known.upstreams.problem(&spec.upstream) {
            None => names::cluster(&spec.upstream),
            Some(_) => names::no_cluster(&spec.upstream),
        };
        for (matcher_index, matcher) in spec.matchers.iter().enumerate() {
            let route_name = names::route(auth.auth_id(), &name, index, spec.name.as_deref(), matcher_index);
            routes.push(Route {
                name: route_name,
                prefix: matcher.prefix.clone(),
                cluster: cluster.clone(),
                auto_host_rewrite: spec.auto_host_rewrite,
                auth: auth.clone(),
            });
        }
    }
    VirtualHost { name, virtual_service: reference, domains: virtual_service.domains.clone(), routes }
}

/// Builds the virtual host of what is left of a rejected version.
pub(super) fn build_closed(closed: &Closed) -> VirtualHost {
    let reference = &closed.virtual_service;
    let auth_id = names::closed_auth_id(reference);
    let route = Route {
        name: names::route(Some(&auth_id), &names::virtual_host(reference), 0, None, 0),
        prefix: "/".to_owned(),
        cluster: names::closed_cluster(reference),
        auto_host_rewrite: false,
        auth: Auth::Denied { auth_id, reason: format!("VirtualService {reference} is rejected") },
    };
    VirtualHost {
        name: names::closed_virtual_host(reference),
        virtual_service: reference.clone(),
        domains: closed.domains.clone(),
        routes: vec![route],
    }
}

/// Says what deserves a look about the current version, served or not.
pub(super) fn report(virtual_service: &VirtualService, known: &Known<'_>, reports: &mut Reports) {
    let meta = &virtual_service.meta;
    let key = ObjectKey::new(VIRTUAL_SERVICE, &meta.namespace, &meta.name);
    for warning in &virtual_service.warnings {
        reports.warn(key.clone(), warning);
    }
    for (index, spec) in virtual_service.routes.iter().enumerate() {
        let route = match &spec.name {
            Some(name) => format!("route {index} ({name:?})"),
            None => format!("route {index}"),
        };
        if let Auth::Denied { reason, .. } = auth(virtual_service, spec, known) {
            reports.warn(key.clone(), format!("{reason}: every request of {route} is denied with 403"));
        }
        if let Some(problem) = known.upstreams.problem(&spec.upstream) {
            let upstream = &spec.upstream;
            reports.warn(
                key.clone(),
                format!("Upstream {upstream} {problem}: every request that {route} lets through gets 503"),
            );
        }
    }
}

/// The route's own authentication, else the virtual host's, else none.
fn auth(virtual_service: &VirtualService, spec: &RouteSpec, known: &Known<'_>) -> Auth {
    match spec.extauth.as_ref().or(virtual_service.extauth.as_ref()) {
        None | Some(ExtAuth::Disable) => Auth::Open,
        Some(ExtAuth::ConfigRef(reference)) => known.auth_configs.auth(reference),
    }
}
