//! The decision: may this request pass, and as whom?

use std::fmt;

use crate::config::{FilterConfig, Policy, auth_id_of_route};
use crate::key;
use crate::table::Table;

#[cfg(test)]
mod tests;

/// Where key tables are found.
pub trait Tables {
    /// A table by name; `None` until its first snapshot is complete.
    fn table(&self, name: &str) -> Option<&Table>;
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It passes, as somebody.
    Allow(Permit<'a>),
    /// It has no valid key: 401.
    Deny(Denial),
    /// No key would help: 403.
    Forbid(Forbidden),
    /// The keys that decide have not arrived yet.
    Wait,
}

/// Why a key is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The header is missing or empty.
    Missing,
    /// Nobody has this key.
    Unknown,
}

/// Why no key would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// The route does not say which policy applies.
    NoPolicyNamed,
    /// The route names a policy that does not exist or was rejected.
    UnknownPolicy,
}

/// Proof that a key was verified. Only [`decide`] makes one, and only with one in hand can a
/// request be given an identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Permit<'a> {
    identity: &'a str,
    policy: &'a Policy,
    key: Vec<u8>,
}

/// Decides on a request by its route's name and the first value of its key header.
///
/// `first_value` is asked at most once, for the header that the policy names, and never before the
/// policy and its table are known: reading a header costs a call to the proxy. It gives the value
/// byte for byte.
pub fn decide<'a>(
    config: &'a FilterConfig,
    tables: &'a impl Tables,
    route_name: Option<&[u8]>,
    first_value: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Verdict<'a> {
    let Some(auth_id) = route_name.and_then(auth_id_of_route) else {
        return Verdict::Forbid(Forbidden::NoPolicyNamed);
    };
    let Some(policy) = config.policies.get(auth_id) else {
        return Verdict::Forbid(Forbidden::UnknownPolicy);
    };
    // Before the header is looked at: until the keys are there nobody is told that his is missing.
    let Some(table) = tables.table(&policy.table) else { return Verdict::Wait };
    match first_value(&policy.key_header) {
        Some(value) if !value.is_empty() => match table.get(&key::digest(&value)) {
            Some(identity) => Verdict::Allow(Permit { identity, policy, key: value }),
            None => Verdict::Deny(Denial::Unknown),
        },
        _ => Verdict::Deny(Denial::Missing),
    }
}

// === impl Permit ===

impl<'a> Permit<'a> {
    /// Who the key belongs to.
    #[must_use]
    pub fn identity(&self) -> &'a str {
        self.identity
    }

    /// The policy that let the request pass.
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The value that was verified. Never to be logged.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("identity", &self.identity).finish_non_exhaustive()
    }
}
