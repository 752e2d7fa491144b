//! What routes must not do with the headers of authentication.
//!
//! The filter changes headers, and Envoy then looks for the route once more. A route that asks for a
//! header which the filter takes away would be another one the second time, under the authentication of
//! the first. For headers that it sets, see [`headers`](super::super::headers).

use std::collections::BTreeSet;

use keyward_filter_core::config::Step;
use keyward_resource::ObjectKey;
use keyward_resource::kinds::options::{HeaderManipulation, HeaderToAdd};

use super::super::Known;
use super::super::headers::folded;
use super::{Compiler, closed_route};
use crate::proxy::{Auth, Route, RouteMatcher};

// === impl Compiler ===

impl Compiler<'_> {
    /// A key is taken out of the request once it is verified, unless it is forwarded: see above. Only
    /// routes of the same virtual host can be found in place of each other.
    pub(super) fn close_matchers_on_removed_keys(&mut self) {
        let steps = || {
            let steps = self.routes.iter().flat_map(|route| self.known.auth_configs.steps(&route.auth));
            steps.filter(|step| !step.forward_key)
        };
        let removed: BTreeSet<String> = steps().flat_map(Step::key_headers).map(str::to_owned).collect();
        let removed_parameters: BTreeSet<String> =
            steps().flat_map(Step::key_parameters).map(str::to_owned).collect();
        let mut routes = std::mem::take(&mut self.routes);
        for route in &mut routes {
            let RouteMatcher { headers, query_parameters, .. } = &route.matcher;
            let header = headers.iter().find(|header| removed.contains(&header.name));
            let parameter = query_parameters.iter().find(|asked| removed_parameters.contains(&asked.name));
            let asked = match (header, parameter) {
                (Some(header), _) => ("header", &header.name),
                (None, Some(parameter)) => ("query parameter", &parameter.name),
                (None, None) => continue,
            };
            let why = format!(
                "a matcher of {} asks for {} {}, which is taken out of a request with a valid key",
                route.label, asked.0, asked.1
            );
            let what = format!(
                "every request that it could mean is denied with 403; forwardKey: true keeps the {}",
                asked.0
            );
            self.warn(&route.from.clone(), format!("{why}: {what}"));
            let mut matcher = route.matcher.clone();
            matcher.headers.retain(|header| !removed.contains(&header.name));
            matcher.query_parameters.retain(|asked| !removed_parameters.contains(&asked.name));
            let closed = closed_route(&self.reference(), &self.host_name, &[], matcher, why);
            let (path, label, from) = (route.path.clone(), route.label.clone(), route.from.clone());
            *route = Route { path, label, from, ..closed };
        }
        self.routes = routes;
    }

    /// Headers that are added and removed, without those that would bring back an identity, or give one
    /// away. Who copies keys is rejected as a whole: see [`key_places`](super::key_places).
    pub(super) fn guarded(
        &mut self,
        owner: &ObjectKey,
        label: &str,
        headers: Option<&HeaderManipulation>,
        auth: &[Auth],
    ) -> Option<HeaderManipulation> {
        let mut headers = headers?.clone();
        let known = self.known;
        let steps: Vec<&Step> = auth.iter().flat_map(|auth| known.auth_configs.steps(auth)).collect();
        let mut refused = Vec::new();
        let mut keep = |header: &HeaderToAdd, where_to: &str, why: Option<&'static str>| {
            if let Some(why) = why {
                refused
                    .push(format!("{label}: header {} is not added to the {where_to}: {why}", header.name));
            }
            why.is_none()
        };
        headers.request_add.retain(|header| keep(header, "request", known.refused_in_request(header)));
        headers
            .response_add
            .retain(|header| keep(header, "response", known.refused_in_response(header, &steps)));
        refused.into_iter().for_each(|reason| self.warn(owner, reason));
        (headers != HeaderManipulation::default()).then_some(headers)
    }
}

// === impl Known ===

impl Known<'_> {
    /// Who adds what a policy sets that is in use on the same proxy is rejected.
    fn refused_in_request(&self, header: &HeaderToAdd) -> Option<&'static str> {
        self.is_auth_header(&header.name, &[]).then_some("only authentication sets it")
    }

    fn refused_in_response(&self, header: &HeaderToAdd, steps: &[&Step]) -> Option<&'static str> {
        if self.is_auth_header(&header.name, steps) {
            return Some("only authentication sets it");
        }
        // The text of a configuration is nobody's identity; what is copied from the request may be.
        let value = header.value.to_ascii_lowercase();
        let names = |name: &str| value.contains(name);
        let told = steps.iter().flat_map(|step| &step.headers).any(|told| names(&told.header))
            || names(&self.settings.identity_header);
        // An expression can put the name of a header together.
        (value.contains('%') && (told || names("%cel(")))
            .then_some("a client must not be told an identity or a key")
    }

    /// Whether authentication sets it where these are looked at, also in a spelling that an upstream could
    /// take for it.
    fn is_auth_header(&self, name: &str, steps: &[&Step]) -> bool {
        let told = steps.iter().flat_map(|step| &step.headers).map(|told| &told.header);
        let name = folded(name);
        told.chain([&self.settings.identity_header]).any(|header| folded(header) == name)
    }
}
