//! A route that says itself what becomes of a request.

use keyward_resource::kinds::options::{Allowed, ExtAuth, RouteOptions, Upgrade};
use keyward_resource::kinds::route::{Action as ActionSpec, Matcher, Route as RouteSpec};

use super::super::kind::AUTH_CONFIG;
use super::Compiler;
use super::matchers;
use super::walk::Place;
use crate::proxy::{Action, Auth, Forward, PathRewrite, Route, names};

/// The route that is made.
pub(super) struct At<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) label: &'a str,
    pub(super) steps: &'a [names::Step],
    pub(super) auth: &'a Auth,
}

/// Envoy refuses a kind that is named twice; the first counts.
fn once_each(upgrades: &[Upgrade]) -> Vec<Upgrade> {
    let mut once: Vec<Upgrade> = Vec::new();
    for upgrade in upgrades {
        if once.iter().all(|earlier| earlier.kind != upgrade.kind) {
            once.push(upgrade.clone());
        }
    }
    once
}

// === impl Compiler ===

impl Compiler<'_> {
    /// One route for each matcher.
    pub(super) fn leaf(
        &mut self,
        place: &Place<'_>,
        spec: &RouteSpec,
        matchers: &[Matcher],
        options: RouteOptions,
        steps: &[names::Step],
        label: &str,
    ) -> Vec<Route> {
        let auth = self.auth(options.extauth.as_ref(), options.allowed.as_ref());
        self.note_use(options.extauth.as_ref(), &auth, steps);
        if let Auth::Denied { reason, .. } = &auth {
            self.warn(place.owner, format!("{reason}: every request of {label} is denied with 403"));
        }
        let action = match &spec.action {
            ActionSpec::Forward(target) => {
                self.check_headers(place, &options, &auth, label);
                self.forward(&At { place, label, steps, auth: &auth }, target, &options)
            }
            ActionSpec::Redirect(redirect) => Action::Redirect(redirect.clone()),
            ActionSpec::DirectResponse(response) => Action::DirectResponse(response.clone()),
            ActionSpec::Delegate(_) => return Vec::new(),
        };
        let headers = options.header_manipulation;
        let auths = std::slice::from_ref(&auth);
        let header_manipulation = self.guarded(place.owner, label, headers.as_ref(), auths);
        let cors = self.cors(place, options.cors.as_ref(), label);
        let path = names::route_path(&self.reference(), steps);
        let mut routes = Vec::with_capacity(matchers.len());
        for (index, matcher) in matchers.iter().enumerate() {
            let matcher = matchers::complete(matcher);
            routes.push(Route {
                name: names::route(auth.auth_id(), &self.host_name, steps, index),
                path: path.clone(),
                label: label.to_owned(),
                from: place.owner.clone(),
                matcher,
                auth: auth.clone(),
                action: action.clone(),
                header_manipulation: header_manipulation.clone(),
                cors: cors.clone(),
                faults: options.faults.clone(),
            });
        }
        routes
    }

    fn auth(&mut self, extauth: Option<&ExtAuth>, allowed: Option<&Allowed>) -> Auth {
        let list = match allowed {
            None | Some(Allowed::Everyone) => None,
            Some(Allowed::Only(list)) => Some(list),
        };
        match (extauth, list) {
            (None | Some(ExtAuth::Disable), None) => Auth::Open,
            // Somebody is to be kept out, and there is nobody to tell who that is.
            (None | Some(ExtAuth::Disable), Some(_)) => Auth::Denied {
                auth_id: names::closed_auth_id(&self.reference()),
                reason: "extauth.allowed names who may pass, but no AuthConfig decides who calls".to_owned(),
            },
            (Some(ExtAuth::ConfigRef(reference)), list) => {
                self.reads(AUTH_CONFIG, reference);
                self.known.auth_configs.auth(reference, list)
            }
        }
    }

    /// Everything about forwarding but where to.
    pub(super) fn forwarding(&mut self, at: &At<'_>, options: &RouteOptions) -> Forward {
        let prefix = options.prefix_rewrite.as_ref().filter(|prefix| !prefix.is_empty());
        let path_rewrite = match (prefix, &options.regex_rewrite) {
            (Some(prefix), _) => Some(PathRewrite::Prefix(prefix.clone())),
            (None, Some(rewrite)) => Some(PathRewrite::Regex(rewrite.clone())),
            (None, None) => None,
        };
        Forward {
            to: Vec::new(),
            host_rewrite: options.host_rewrite.clone(),
            append_x_forwarded_host: options.append_x_forwarded_host == Some(true),
            path_rewrite,
            timeout: options.timeout,
            idle_timeout: options.idle_timeout,
            max_stream_duration: options.max_stream_duration.clone(),
            retries: options.retries.clone().or_else(|| self.options.retries.clone()),
            shadow: options.shadowing.as_ref().and_then(|shadow| self.shadow(at, shadow)),
            upgrades: once_each(options.upgrades.as_deref().unwrap_or_default()),
            hash: options.lb_hash.clone().unwrap_or_default(),
        }
    }
}
