//! Which Upstreams there are, and the clusters that they make.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::kinds::upstream::Upstream;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::UPSTREAM;
use crate::input::{Input, Settings};
use crate::proxy::{Cluster, names};

/// The Upstreams, accepted and not.
pub(super) struct Upstreams<'a> {
    accepted: BTreeMap<&'a ObjectRef, &'a Upstream>,
    rejected: BTreeSet<&'a ObjectRef>,
}

/// Sorts the accepted from the rejected.
pub(super) fn check<'a>(input: &'a Input, settings: &Settings, reports: &mut Reports) -> Upstreams<'a> {
    let mut checked = Upstreams { accepted: BTreeMap::new(), rejected: BTreeSet::new() };
    for (reference, upstream) in &input.upstreams {
        let key = ObjectKey::new(UPSTREAM, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        // A cluster of the bootstrap cannot be replaced: Envoy would keep its own, silently, and send
        // the requests of users to the control server.
        if names::cluster(reference) == settings.control_cluster {
            checked.rejected.insert(reference);
            let reason = format!(
                "its cluster would be named {}, as the control server's own: choose another name",
                settings.control_cluster
            );
            reports.reject(key, reason);
        } else {
            checked.accepted.insert(reference, upstream);
        }
    }
    checked
}

// === impl Upstreams ===

impl Upstreams<'_> {
    /// What is wrong with a reference to this Upstream.
    pub(super) fn problem(&self, reference: &ObjectRef) -> Option<&'static str> {
        if self.accepted.contains_key(reference) {
            None
        } else if self.rejected.contains(reference) {
            Some("is rejected")
        } else {
            Some("is not found")
        }
    }

    /// The clusters of all that are accepted, by name.
    pub(super) fn clusters(&self) -> BTreeMap<String, Cluster> {
        let cluster = |(reference, upstream): (&&ObjectRef, &&Upstream)| {
            let name = names::cluster(reference);
            let upstream_ref = (*reference).clone();
            let cluster =
                Cluster { name: name.clone(), upstream: upstream_ref, hosts: upstream.hosts.clone() };
            (name, cluster)
        };
        self.accepted.iter().map(cluster).collect()
    }
}
