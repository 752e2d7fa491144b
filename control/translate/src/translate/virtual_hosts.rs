//! A VirtualService to a virtual host: routes, their destinations, their authentication.

use keyward_resource::kinds::options::{ExtAuth, HostRewrite, RouteOptions, VirtualHostOptions};
use keyward_resource::kinds::route::{Action, Matcher, PathMatcher, Route as RouteSpec, Target};
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::Known;
use super::kind::VIRTUAL_SERVICE;
use super::served::Closed;
use crate::proxy::{Auth, Route, VirtualHost, names};

/// A route of the only form that is translated so far: path prefixes to one upstream.
struct Plain<'a> {
    prefixes: Vec<&'a str>,
    upstream: &'a ObjectRef,
    auto_host_rewrite: bool,
}

/// Builds the virtual host of a version that is served.
pub(super) fn build(virtual_service: &VirtualService, known: &Known<'_>) -> VirtualHost {
    let reference = virtual_service.meta.object_ref();
    let name = names::virtual_host(&reference);
    let mut routes = Vec::new();
    for (index, spec) in virtual_service.routes.iter().enumerate() {
        let auth = auth(virtual_service, spec, known);
        let Some(plain) = plain(spec) else {
            routes.push(closed_route(&reference, index));
            continue;
        };
        let cluster = match known.upstreams.problem(plain.upstream) {
            None => names::cluster(plain.upstream),
            Some(_) => names::no_cluster(plain.upstream),
        };
        for (matcher_index, prefix) in plain.prefixes.iter().enumerate() {
            let route_name = names::route(auth.auth_id(), &name, index, spec.name.as_deref(), matcher_index);
            routes.push(Route {
                name: route_name,
                prefix: (*prefix).to_owned(),
                cluster: cluster.clone(),
                auto_host_rewrite: plain.auto_host_rewrite,
                auth: auth.clone(),
            });
        }
    }
    VirtualHost { name, virtual_service: reference, domains: virtual_service.domains.clone(), routes }
}

/// Stands in place of a route that is not translated: nothing behind it is reached by mistake.
fn closed_route(reference: &ObjectRef, index: usize) -> Route {
    let auth_id = names::closed_auth_id(reference);
    Route {
        name: names::route(Some(&auth_id), &names::virtual_host(reference), index, None, 0),
        prefix: "/".to_owned(),
        cluster: names::closed_cluster(reference),
        auto_host_rewrite: false,
        auth: Auth::Denied { auth_id, reason: "the route is not translated".to_owned() },
    }
}

/// The route in its plain form, if that is all that it says.
fn plain(spec: &RouteSpec) -> Option<Plain<'_>> {
    let Action::Forward(Target::Single(upstream)) = &spec.action else { return None };
    let auto_host_rewrite = match spec.options.host_rewrite {
        None => false,
        Some(HostRewrite::Auto(auto)) => auto,
        Some(_) => return None,
    };
    let extauth = spec.options.extauth.clone();
    let host_rewrite = spec.options.host_rewrite.clone();
    if spec.options != (RouteOptions { extauth, host_rewrite, ..RouteOptions::default() }) {
        return None;
    }
    if !spec.options_refs.is_empty() {
        return None;
    }
    let prefixes = match spec.matchers.as_slice() {
        [] => vec!["/"],
        matchers => matchers.iter().map(only_prefix).collect::<Option<Vec<_>>>()?,
    };
    Some(Plain { prefixes, upstream, auto_host_rewrite })
}

/// The prefix of a matcher that has nothing else.
fn only_prefix(matcher: &Matcher) -> Option<&str> {
    let Some(PathMatcher::Prefix(prefix)) = &matcher.path else { return None };
    let plain = Matcher {
        path: matcher.path.clone(),
        case_sensitive: matcher.case_sensitive.filter(|sensitive| *sensitive),
        ..Matcher::default()
    };
    (*matcher == plain).then_some(prefix)
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
    let extauth = virtual_service.options.extauth.clone();
    if virtual_service.options != (VirtualHostOptions { extauth, ..VirtualHostOptions::default() })
        || !virtual_service.options_refs.is_empty()
    {
        reports.warn(key.clone(), "of the options of the virtual host only extauth is translated");
    }
    for (index, spec) in virtual_service.routes.iter().enumerate() {
        let route = match &spec.name {
            Some(name) => format!("route {index} ({name:?})"),
            None => format!("route {index}"),
        };
        if let Auth::Denied { reason, .. } = auth(virtual_service, spec, known) {
            reports.warn(key.clone(), format!("{reason}: every request of {route} is denied with 403"));
        }
        let Some(Plain { upstream, .. }) = plain(spec) else {
            reports.warn(
                key.clone(),
                format!("{route} is not translated: it and all behind it are denied with 403"),
            );
            continue;
        };
        if let Some(problem) = known.upstreams.problem(upstream) {
            reports.warn(
                key.clone(),
                format!("Upstream {upstream} {problem}: every request that {route} lets through gets 503"),
            );
        }
    }
}

/// The route's own authentication, else the virtual host's, else none.
fn auth(virtual_service: &VirtualService, spec: &RouteSpec, known: &Known<'_>) -> Auth {
    match spec.options.extauth.as_ref().or(virtual_service.options.extauth.as_ref()) {
        None | Some(ExtAuth::Disable) => Auth::Open,
        Some(ExtAuth::ConfigRef(reference)) => known.auth_configs.auth(reference),
    }
}
