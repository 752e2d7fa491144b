//! Which version of shared options is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::route_option::RouteOption;
use keyward_resource::kinds::virtual_host_option::VirtualHostOption;
use keyward_resource::{Meta, ObjectKey, ObjectRef, Reports};

use super::kind::{ROUTE_OPTION, VIRTUAL_HOST_OPTION};

/// Options that several objects refer to.
pub(super) trait Shared {
    /// Their kind.
    const KIND: &'static str;

    fn meta(&self) -> &Meta;

    fn warnings(&self) -> &[String];
}

/// The current versions, and the last good ones of those that are withheld. Tells how each is as it is
/// written, whoever refers to it, or nobody.
pub(super) fn choose<T: Shared>(
    current: &BTreeMap<ObjectRef, Arc<T>>,
    withheld: &BTreeSet<ObjectKey>,
    last_good: &BTreeMap<ObjectRef, Arc<T>>,
    reports: &mut Reports,
) -> BTreeMap<ObjectRef, Arc<T>> {
    let mut used = current.clone();
    for (reference, one) in current {
        let key = ObjectKey::new(T::KIND, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        one.warnings().iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
    }
    for key in withheld.iter().filter(|object| object.kind == T::KIND) {
        let reference = key.object_ref();
        used.remove(&reference);
        if let Some(good) = last_good.get(&reference) {
            let generation = good.meta().generation;
            reports.reject(
                key.clone(),
                format!("the last good version, generation {generation}, is used instead"),
            );
            used.insert(reference, Arc::clone(good));
        }
    }
    used
}

impl Shared for VirtualHostOption {
    const KIND: &'static str = VIRTUAL_HOST_OPTION;

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Shared for RouteOption {
    const KIND: &'static str = ROUTE_OPTION;

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
