//! Options: one's own, then those of shared objects, then those of the delegating route.

use keyward_resource::kinds::options::{ExtAuth, RouteOptions, VirtualHostOptions};
use keyward_resource::kinds::route::Route as RouteSpec;
use keyward_resource::{ObjectRef, State};

use super::super::kind::{ROUTE_OPTION, VIRTUAL_HOST_OPTION};
use super::Compiler;
use super::walk::Place;
use crate::proxy::names;

// === impl Compiler ===

impl Compiler<'_> {
    /// The options of the virtual host.
    pub(super) fn host_options(&mut self) -> VirtualHostOptions {
        let mut options = self.virtual_service.options.clone();
        for reference in &self.virtual_service.options_refs {
            let key = self.reads(VIRTUAL_HOST_OPTION, reference);
            let known = self.known;
            match known.virtual_host_options.get(reference) {
                Some(shared) => {
                    self.used(&key);
                    options.fill(&shared.options);
                }
                None if known.withheld.contains(&key) => {
                    self.warn_top(format!("VirtualHostOption {reference} cannot be read"));
                    // It might have demanded authentication.
                    options.extauth.get_or_insert_with(|| ExtAuth::ConfigRef(unreadable(reference)));
                }
                None => self.warn_top(format!("VirtualHostOption {reference} is not found")),
            }
        }
        options
    }

    /// The options of a route, and what there is to say of its authentication.
    pub(super) fn settle(
        &mut self,
        place: &Place<'_>,
        spec: &RouteSpec,
        steps: &[names::Step],
        label: &str,
    ) -> RouteOptions {
        let mut options = spec.options.clone();
        for reference in &spec.options_refs {
            let key = self.reads(ROUTE_OPTION, reference);
            let known = self.known;
            match known.route_options.get(reference) {
                Some(shared) => {
                    self.used(&key);
                    fill(&mut options, &shared.options);
                }
                None if known.withheld.contains(&key) => {
                    self.warn(place.owner, format!("{label}: RouteOption {reference} cannot be read"));
                    // It might have demanded authentication.
                    options.extauth.get_or_insert_with(|| ExtAuth::ConfigRef(unreadable(reference)));
                }
                None => self.warn(place.owner, format!("{label}: RouteOption {reference} is not found")),
            }
        }
        self.note_adds(place.owner, steps, label, options.header_manipulation.as_ref());
        match &place.parent {
            None => {
                if options.extauth.is_none() {
                    options.extauth.clone_from(&self.options.extauth);
                }
            }
            Some(parent) => {
                self.guard_authentication(place, &mut options, parent.options.extauth.as_ref(), label);
                fill(&mut options, &parent.options);
            }
        }
        options
    }

    /// A table may do something else than the route that delegates to it demands; this is told, or not
    /// allowed at all.
    fn guard_authentication(
        &mut self,
        place: &Place<'_>,
        options: &mut RouteOptions,
        demanded: Option<&ExtAuth>,
        label: &str,
    ) {
        let Some(ExtAuth::ConfigRef(config)) = demanded else { return };
        let what = match &options.extauth {
            None => return,
            Some(ExtAuth::ConfigRef(own)) if own == config => return,
            Some(ExtAuth::ConfigRef(own)) => format!(
                "{label} replaces AuthConfig {config}, which the route that delegates to it demands, by AuthConfig \
                 {own}"
            ),
            Some(ExtAuth::Disable) => format!(
                "{label} switches off AuthConfig {config}, which the route that delegates to it demands"
            ),
        };
        if self.known.settings.routing.allow_auth_override {
            self.warn(place.owner, what);
        } else {
            options.extauth = Some(ExtAuth::ConfigRef(config.clone()));
            let why = "gateway.delegation.allowAuthOverride is false";
            let reason = format!("{what}: {why}, so AuthConfig {config} stays in force");
            self.note(place.owner, State::Rejected, reason);
        }
    }
}

/// An AuthConfig that cannot exist, as no namespace has such a name: who demands it denies everybody.
fn unreadable(options: &ObjectRef) -> ObjectRef {
    ObjectRef::new(format!("!{}", options.namespace), options.name.clone())
}

/// Fills in what is unset. Of the two ways to rewrite a path only one can be in force.
fn fill(options: &mut RouteOptions, from: &RouteOptions) {
    if options.prefix_rewrite.is_some() || options.regex_rewrite.is_some() {
        let from = RouteOptions { prefix_rewrite: None, regex_rewrite: None, ..from.clone() };
        options.fill(&from);
    } else {
        options.fill(from);
    }
}
