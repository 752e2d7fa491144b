//! Which policy a route asks for, and whom it allows.

use std::collections::BTreeMap;

use super::policies::{Written, known};
use super::read::Node;
use super::{ALLOWING, Target, When};
use crate::config::Policy;
use crate::record::MAX_IDENTITY_LEN;

/// Of those whose keys are valid, who passes; all, if nothing is said.
type Allowed = Option<Vec<Vec<u8>>>;

/// Reads `routes`: which policy each route asks for, the first that fits.
#[inline(never)]
pub(super) fn routes(node: &Node<'_>, policies: &BTreeMap<String, Written>) -> Vec<(When, Target, Allowed)> {
    let mut routes = Vec::new();
    for node in node.items() {
        let Some(fields) = node.fields(&["name", "prefix", "policy", "open", "allowed"]) else { continue };
        let name = fields.get("name").and_then(|node| node.text());
        let prefix = fields.get("prefix").and_then(|node| node.text());
        let when = match (name, prefix) {
            (Some(name), None) => Some(When::Is(name.to_owned())),
            (None, Some(prefix)) => Some(When::StartsWith(prefix.to_owned())),
            _ => {
                node.wrong("must have either name or prefix, of the name of a route");
                None
            }
        };
        let open = fields.get("open").and_then(|node| node.flag()).unwrap_or_default();
        let policy = fields.get("policy");
        let allowed = fields.get("allowed");
        if policy.is_none()
            && let Some(node) = &allowed
        {
            node.wrong("stands without policy, which says whose keys are valid");
        }
        let target = match (policy, open) {
            (Some(policy), false) => known(&policy, policies).map(Target::Policy),
            (None, true) => Some(Target::Open),
            _ => {
                node.wrong("must have either policy, or open: true, with which no key is asked for");
                None
            }
        };
        let allowed = allowed.map(|node| identities(&node));
        routes.extend(when.zip(target).map(|(when, target)| (when, target, allowed)));
    }
    routes
}

/// Reads `allowed`; ascending.
#[inline(never)]
fn identities(node: &Node<'_>) -> Vec<Vec<u8>> {
    let mut identities: Vec<Vec<u8>> = Vec::new();
    for node in node.items() {
        let Some(identity) = node.text() else { continue };
        if !(1..=MAX_IDENTITY_LEN).contains(&identity.len()) {
            node.wrong("must be 1 to 253 bytes");
        }
        if let Err(at) = identities.binary_search_by(|other| other.as_slice().cmp(identity.as_bytes())) {
            // The place of one that is not there is at most at the end, so this cannot panic.
            identities.insert(at, identity.as_bytes().to_vec());
        }
    }
    identities
}

/// Gives each route that allows only some a policy of its own. Nobody is on a list without a key.
#[inline(never)]
pub(super) fn with_lists(
    routes: Vec<(When, Target, Allowed)>,
    policies: &mut BTreeMap<String, Policy>,
) -> Vec<(When, Target)> {
    let mut told = Vec::new();
    for (at, (when, target, allowed)) in routes.into_iter().enumerate() {
        let target = match (target, allowed) {
            (Target::Policy(name), Some(only)) => {
                let of = format!("{name}{ALLOWING}{at}");
                if let Some(policy) = policies.get(&name) {
                    let mut policy = Policy { only: Some(only), ..policy.clone() };
                    policy.steps.iter_mut().for_each(|step| step.anonymous = false);
                    policies.insert(of.clone(), policy);
                }
                Target::Policy(of)
            }
            (target, _) => target,
        };
        told.push((when, target));
    }
    told
}
