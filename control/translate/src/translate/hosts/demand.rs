//! What a virtual host has to do with the headers of authentication: which it asks for, which it adds to
//! requests, and which policies it brings into use.

use std::collections::BTreeSet;

use keyward_resource::kinds::options::{ExtAuth, HeaderManipulation};
use keyward_resource::kinds::route::Route as RouteSpec;
use keyward_resource::{ObjectKey, ObjectRef};

use super::Compiler;
use super::key_places::Copying;
use super::walk::Place;
use crate::proxy::{Auth, names};

/// All that, of one virtual host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::translate) struct Demand {
    /// What matchers ask for.
    pub(in crate::translate) asks: BTreeSet<Mention>,
    /// What is added to requests.
    pub(in crate::translate) adds: BTreeSet<Mention>,
    /// What is copied from requests and answers to where a key must not be.
    pub(in crate::translate) copies: BTreeSet<Copying>,
    /// The policies of its routes.
    pub(in crate::translate) uses: BTreeSet<Use>,
}

/// A matcher asks for a header, or it is added to requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::translate) struct Mention {
    /// The header as it is written there.
    pub(in crate::translate) header: String,
    /// The object whose route it is.
    pub(in crate::translate) owner: ObjectKey,
    /// How people find the route in it.
    pub(in crate::translate) label: String,
    /// The tables through which one comes there.
    pub(in crate::translate) tables: Vec<ObjectRef>,
}

/// A route demands a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::translate) struct Use {
    /// The AuthConfig.
    pub(in crate::translate) auth_config: ObjectRef,
    /// The tables through which one comes there.
    pub(in crate::translate) tables: Vec<ObjectRef>,
}

pub(super) fn tables(steps: &[names::Step]) -> Vec<ObjectRef> {
    steps.iter().filter_map(|step| step.table.clone()).collect()
}

// === impl Compiler ===

impl Compiler<'_> {
    /// Notes what a route itself asks for; what it inherits was noted where it is written.
    pub(super) fn note_asks(
        &mut self,
        place: &Place<'_>,
        spec: &RouteSpec,
        steps: &[names::Step],
        label: &str,
    ) {
        for header in spec.matchers.iter().flat_map(|matcher| &matcher.headers) {
            self.demand.asks.insert(Mention {
                header: header.name.clone(),
                owner: place.owner.clone(),
                label: label.to_owned(),
                tables: tables(steps),
            });
        }
    }

    /// Notes what is added to requests, where it is written. It may be that no route there comes to add it.
    pub(super) fn note_adds(
        &mut self,
        owner: &ObjectKey,
        steps: &[names::Step],
        label: &str,
        headers: Option<&HeaderManipulation>,
    ) {
        for header in headers.into_iter().flat_map(|headers| &headers.request_add) {
            self.demand.adds.insert(Mention {
                header: header.name.clone(),
                owner: owner.clone(),
                label: label.to_owned(),
                tables: tables(steps),
            });
        }
    }

    /// Notes the policy of a route.
    pub(super) fn note_use(&mut self, extauth: Option<&ExtAuth>, auth: &Auth, steps: &[names::Step]) {
        if let (Some(ExtAuth::ConfigRef(auth_config)), Auth::Secured { .. }) = (extauth, auth) {
            self.demand.uses.insert(Use { auth_config: auth_config.clone(), tables: tables(steps) });
        }
    }
}
