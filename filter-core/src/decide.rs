//! The decision: may this request pass, and as whom?

use std::fmt;

use crate::config::{FilterConfig, Policy, Step, auth_id_of_route};
use crate::generated::{self, Shape};
use crate::key;
use crate::life::Lapse;
use crate::place::PlaceRef;
use crate::record::Record;
use crate::table::Table;

#[cfg(test)]
mod tests;

/// Where key tables are found.
pub trait Tables {
    /// A table by name; `None` until its first snapshot is complete.
    fn table(&self, name: &str) -> Option<&Table>;
}

/// What there is to know of a request. Each answer costs a call to the proxy.
pub trait Facts {
    /// The first value of a request header, byte for byte.
    fn first_value(&mut self, header: &str) -> Option<Vec<u8>>;

    /// The time, in milliseconds since 1970. Without it no key is valid whose validity depends on it.
    fn now(&mut self) -> Option<u64>;
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
    /// There is no key, or an empty one.
    Missing,
    /// There are two, and nobody knows which one is meant.
    Ambiguous,
    /// Nobody has this key.
    Unknown,
    /// Somebody has this key, but it is not valid now.
    Lapsed(Lapse),
}

/// Why no key would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// The route does not say which policy applies.
    NoPolicyNamed,
    /// The route names a policy that does not exist or was rejected.
    UnknownPolicy,
}

/// Proof that a request may pass. Only [`decide`] makes one, and only with one in hand can a request be
/// given an identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Permit<'a> {
    policy: &'a Policy,
    /// The last one names the identity.
    last: Grant<'a>,
    earlier: Vec<Grant<'a>>,
}

/// A key that was verified.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The step that demanded it.
    pub step: &'a Step,
    /// What the table says of it.
    pub record: Record<'a>,
    /// The value that was verified. Never to be logged.
    pub key: Vec<u8>,
    /// Where it stood.
    pub place: PlaceRef<'a>,
}

/// Decides on a request by its route's name and the keys in it; of a header the first value counts.
///
/// Nothing is asked for but what matters, and nothing before the policy and its tables are known.
pub fn decide<'a>(
    config: &'a FilterConfig,
    tables: &'a impl Tables,
    route_name: Option<&[u8]>,
    facts: &mut impl Facts,
) -> Verdict<'a> {
    let Some(auth_id) = route_name.and_then(auth_id_of_route) else {
        return Verdict::Forbid(Forbidden::NoPolicyNamed);
    };
    let Some(policy) = config.policies.get(auth_id) else {
        return Verdict::Forbid(Forbidden::UnknownPolicy);
    };
    // Before any header is looked at: until the keys are there nobody is told that his is missing.
    if policy.tables().any(|table| tables.table(table).is_none()) {
        return Verdict::Wait;
    }
    let mut denial = Denial::Missing;
    let mut grants: Vec<Grant<'a>> = Vec::new();
    let mut last = None;
    let mut look = |at: usize| {
        // A step that a rule names twice is looked at once.
        let granted =
            |grant: &Grant<'_>| policy.steps.get(at).is_some_and(|step| std::ptr::eq(step, grant.step));
        if last.iter().chain(&grants).any(granted) {
            return true;
        }
        match policy.steps.get(at).map(|step| verify(step, tables, facts)) {
            Some(Ok(grant)) => {
                grants.extend(last.replace(grant));
                true
            }
            // A rule that names no step holds for nobody.
            Some(Err(Denial::Missing)) | None => false,
            Some(Err(why)) => {
                denial = why;
                false
            }
        }
    };
    let holds = match &policy.rule {
        Some(rule) => rule.holds(&mut look),
        None => (0..policy.steps.len()).all(look),
    };
    match last {
        Some(last) if holds => Verdict::Allow(Permit { policy, last, earlier: grants }),
        // What holds without any key has no identity to give, and so nobody passes by it.
        _ => Verdict::Deny(denial),
    }
}

fn verify<'a>(step: &'a Step, tables: &'a impl Tables, facts: &mut impl Facts) -> Result<Grant<'a>, Denial> {
    let (key, place) = find(step, facts)?;
    let table = tables.table(&step.table).ok_or(Denial::Unknown)?;
    // A table knows what its keys look like. Where one of them may look like this, it is looked up.
    if !table.may_hold_damaged() && generated::shape(&key) == Shape::Damaged {
        return Err(Denial::Unknown);
    }
    let record = table.get(&key::digest(&key)).ok_or(Denial::Unknown)?;
    record.life().check(|| facts.now()).map_err(Denial::Lapsed)?;
    Ok(Grant { step, record, key, place })
}

/// The one key that stands in the places of a step.
fn find<'a>(step: &'a Step, facts: &mut impl Facts) -> Result<(Vec<u8>, PlaceRef<'a>), Denial> {
    if step.places.is_empty() {
        // Most have one header, and pay for nothing else.
        let key = facts.first_value(&step.key_header).filter(|key| !key.is_empty()).ok_or(Denial::Missing)?;
        return Ok((key, PlaceRef::Header(&step.key_header, None)));
    }
    let mut found: Option<(Vec<u8>, PlaceRef<'a>)> = None;
    for place in step.places() {
        for key in place.keys(facts) {
            match &found {
                None => found = Some((key, place)),
                Some((first, _)) if *first == key => {}
                Some(_) => return Err(Denial::Ambiguous),
            }
        }
    }
    found.ok_or(Denial::Missing)
}

// === impl Denial ===

impl Denial {
    /// Tells it to operators. Clients are told of none which it is.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Ambiguous => "ambiguous",
            Self::Unknown => "unknown",
            Self::Lapsed(Lapse::Disabled) => "disabled",
            Self::Lapsed(Lapse::Expired) => "expired",
            Self::Lapsed(Lapse::NotYetValid) => "not-yet-valid",
        }
    }
}

// === impl Permit ===

impl<'a> Permit<'a> {
    /// Who passes: the owner of the key that was verified last.
    #[must_use]
    pub fn identity(&self) -> &'a [u8] {
        self.last.record.identity()
    }

    /// The policy that let the request pass.
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The keys that were verified, in this order.
    pub fn grants(&self) -> impl Iterator<Item = &Grant<'a>> {
        self.earlier.iter().chain([&self.last])
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("last", &self.last).finish_non_exhaustive()
    }
}

impl fmt::Debug for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("record", &self.record).finish_non_exhaustive()
    }
}
