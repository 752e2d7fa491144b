//! Where requests are forwarded to.

use keyward_resource::ObjectRef;
use keyward_resource::kinds::options::{RouteOptions, Shadowing};
use keyward_resource::kinds::route::{DirectResponse, Target, WeightedDestination};

use super::super::kind::{UPSTREAM, UPSTREAM_GROUP};
use super::Compiler;
use super::leaf::At;
use crate::proxy::{Action, Destination, Forward, Shadow, names};

/// Envoy adds weights up in 32 bits.
fn fit(to: &mut [Destination]) {
    let sum = |to: &[Destination]| to.iter().map(|to| u64::from(to.weight)).sum::<u64>();
    while sum(to) > u64::from(u32::MAX) {
        // What had a share keeps one.
        to.iter_mut().filter(|to| to.weight > 1).for_each(|to| to.weight /= 2);
    }
}

// === impl Compiler ===

impl Compiler<'_> {
    pub(super) fn forward(&mut self, at: &At<'_>, target: &Target, options: &RouteOptions) -> Action {
        let to = match target {
            Target::Single(upstream) => {
                let single =
                    WeightedDestination { upstream: upstream.clone(), weight: 1, header_manipulation: None };
                self.weighted(at, &[single])
            }
            Target::Multi(destinations) => self.weighted(at, destinations),
            Target::Group(group) => self.group(at, group),
        };
        match to {
            Ok(to) => {
                let forwarding = self.forwarding(at, options);
                Action::Forward(Box::new(Forward { to, ..forwarding }))
            }
            Err(replacement) => Action::DirectResponse(replacement),
        }
    }

    /// The clusters, or what is answered when none of them exists.
    fn weighted(
        &mut self,
        at: &At<'_>,
        destinations: &[WeightedDestination],
    ) -> Result<Vec<Destination>, DirectResponse> {
        let mut to = Vec::with_capacity(destinations.len());
        let mut missing = Vec::new();
        for destination in destinations {
            let upstream = &destination.upstream;
            let cluster = match self.problem(upstream) {
                None => {
                    self.outdated(at, upstream);
                    names::cluster(upstream)
                }
                Some(problem) => {
                    missing.push(format!("Upstream {upstream} {problem}"));
                    names::no_cluster(upstream)
                }
            };
            let headers = destination.header_manipulation.as_ref();
            self.note_adds(at.place.owner, at.steps, at.label, headers);
            self.note_copies(at.place.owner, at.steps, at.label, (None, headers));
            let auth = std::slice::from_ref(at.auth);
            let header_manipulation = self.guarded(at.place.owner, at.label, headers, auth);
            to.push(Destination { cluster, weight: destination.weight, header_manipulation });
        }
        fit(&mut to);
        if missing.len() < destinations.len() {
            for problem in missing {
                let what = format!("every request that {} lets through to it gets 503", at.label);
                self.warn(at.place.owner, format!("{problem}: {what}"));
            }
            return Ok(to);
        }
        self.nowhere(at, missing).map_or(Ok(to), Err)
    }

    /// The destinations of a group.
    fn group(&mut self, at: &At<'_>, group: &ObjectRef) -> Result<Vec<Destination>, DirectResponse> {
        let key = self.reads(UPSTREAM_GROUP, group);
        let known = self.known;
        if let Some(found) = known.upstream_groups.get(group) {
            self.used(&key);
            return self.weighted(at, &found.destinations);
        }
        match self.nowhere(at, vec![format!("UpstreamGroup {group} is not found")]) {
            Some(replacement) => Err(replacement),
            None => {
                let cluster = names::no_group(group);
                Ok(vec![Destination { cluster, weight: 1, header_manipulation: None }])
            }
        }
    }

    /// Says that there is nowhere to go, and what is answered instead of 503, if anything.
    fn nowhere(&mut self, at: &At<'_>, problems: Vec<String>) -> Option<DirectResponse> {
        let replacement = self.known.settings.routing.invalid_routes.clone();
        let status = replacement.as_ref().map_or(503, |replacement| replacement.status);
        for problem in problems {
            let what = format!("every request that {} lets through gets {status}", at.label);
            self.warn(at.place.owner, format!("{problem}: {what}"));
        }
        replacement
    }

    pub(super) fn shadow(&mut self, at: &At<'_>, shadow: &Shadowing) -> Option<Shadow> {
        let upstream = &shadow.upstream;
        if let Some(problem) = self.problem(upstream) {
            let reason = format!("Upstream {upstream} {problem}: {} is not shadowed", at.label);
            self.warn(at.place.owner, reason);
            return None;
        }
        Some(Shadow {
            cluster: names::cluster(upstream),
            per_million: shadow.per_million,
            disable_host_suffix: shadow.disable_host_suffix,
            host_rewrite: shadow.host_rewrite.clone(),
        })
    }

    /// Says so if another version of an Upstream is used than the current one.
    fn outdated(&mut self, at: &At<'_>, upstream: &ObjectRef) {
        if self.known.upstreams.is_outdated(upstream) {
            let reason = format!("Upstream {upstream} is rejected: its last good version is used");
            self.warn(at.place.owner, format!("{}: {reason}", at.label));
        }
    }

    fn problem(&mut self, upstream: &ObjectRef) -> Option<&'static str> {
        self.reads(UPSTREAM, upstream);
        self.known.upstreams.problem(upstream)
    }
}
