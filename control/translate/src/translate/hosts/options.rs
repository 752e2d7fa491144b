//! Options: one's own, then those of shared objects, then those of the delegating route.

use keyward_resource::kinds::options::{AllowList, Allowed, ExtAuth, RouteOptions, VirtualHostOptions};
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
                    let VirtualHostOptions { extauth, allowed, .. } = &mut options;
                    distrust(reference, extauth, allowed);
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
                    let RouteOptions { extauth, allowed, .. } = &mut options;
                    distrust(reference, extauth, allowed);
                }
                None => self.warn(place.owner, format!("{label}: RouteOption {reference} is not found")),
            }
        }
        let headers = options.header_manipulation.as_ref();
        self.note_adds(place.owner, steps, label, headers);
        self.note_copies(place.owner, steps, label, (options.host_rewrite.as_ref(), headers));
        match &place.parent {
            None => options.fill_authentication(&self.options),
            Some(parent) => {
                self.guard_authentication(place, &mut options, &parent.options, label);
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
        demanded: &RouteOptions,
        label: &str,
    ) {
        let Some(ExtAuth::ConfigRef(config)) = &demanded.extauth else { return };
        let mut done = Vec::new();
        match &options.extauth {
            None => {}
            Some(ExtAuth::ConfigRef(own)) if own == config => {}
            Some(ExtAuth::ConfigRef(own)) => done.push((
                format!(
                    "replaces AuthConfig {config}, which the route that delegates to it demands, by AuthConfig {own}"
                ),
                format!("AuthConfig {config} stays in force"),
            )),
            Some(ExtAuth::Disable) => done.push((
                format!("switches off AuthConfig {config}, which the route that delegates to it demands"),
                format!("AuthConfig {config} stays in force"),
            )),
        }
        let others = demanded.allowed.as_ref().filter(|demanded| **demanded != Allowed::Everyone);
        if others.is_some() && options.allowed.is_some() && options.allowed.as_ref() != others {
            done.push((
                "replaces extauth.allowed of the route that delegates to it".to_owned(),
                "that stays in force".to_owned(),
            ));
        }
        let may = self.known.settings.routing.allow_auth_override;
        for (what, instead) in &done {
            if may {
                self.warn(place.owner, format!("{label} {what}"));
                continue;
            }
            let why = "gateway.delegation.allowAuthOverride is false";
            self.note(place.owner, State::Rejected, format!("{label} {what}: {why}, so {instead}"));
        }
        if !may && !done.is_empty() {
            options.extauth.clone_from(&demanded.extauth);
            options.allowed = others.cloned().or(options.allowed.take());
        }
    }
}

/// Options that cannot be read might have demanded authentication, or allowed only some.
fn distrust(options: &ObjectRef, extauth: &mut Option<ExtAuth>, allowed: &mut Option<Allowed>) {
    if *extauth != Some(ExtAuth::Disable) {
        allowed.get_or_insert_with(|| Allowed::Only(AllowList::default()));
    }
    extauth.get_or_insert_with(|| ExtAuth::ConfigRef(unreadable(options)));
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
