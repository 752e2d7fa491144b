//! The decision: may this request pass, and as whom?

use std::fmt;

use crate::config::{FilterConfig, Policy, Step, auth_id_of_route};
use crate::generated::{self, Shape};
use crate::key;
use crate::life::Lapse;
use crate::place::{JOINT, PlaceRef};
use crate::record::Record;
use crate::standalone::Demand;
use crate::table::Table;
use crate::wire::Digest;

#[cfg(test)]
mod tests;

/// Where key tables are found.
pub trait Tables {
    /// A table by name; `None` until its first snapshot is complete.
    fn table(&self, name: &str) -> Option<&Table>;

    /// A key of a table lets a request pass. Whoever tallies uses is told here.
    fn used(&self, _table: &str, _digest: &Digest) {}
}

/// What there is to know of a request. Each answer costs a call to the proxy.
pub trait Facts {
    /// Every value of a request header, in order, byte for byte. Dearer than
    /// [`joined_values`](Self::joined_values).
    fn values(&mut self, header: &str) -> Vec<Vec<u8>>;

    /// The same joined with commas, for the price of one value; none if there is no such header.
    fn joined_values(&mut self, header: &str) -> Option<Vec<u8>> {
        let values = self.values(header);
        (!values.is_empty()).then(|| values.join(&b','))
    }

    /// The time, in milliseconds since 1970. Without it no key is valid whose validity depends on it.
    fn now(&mut self) -> Option<u64>;

    /// A key of the request stands in a table, valid or not. Whoever tells an access log is told here.
    fn found(&mut self, _digest: &Digest) {}
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It passes, as somebody.
    Allow(Permit<'a>),
    /// It passes, as nobody: its route asks for no key.
    Open(OpenRoute),
    /// It has no valid key: 401.
    Deny(Denial),
    /// This key does not help, or none would: 403.
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

/// Why it does not help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// The route does not say which policy applies.
    NoPolicyNamed,
    /// The route names a policy that does not exist or was rejected.
    UnknownPolicy,
    /// The key is valid, and the route does not allow whose it is.
    NotAllowed,
}

/// What becomes of every request on a route that demands no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Foregone {
    /// It passes, as nobody.
    Open(OpenRoute),
    /// No key would help.
    Forbidden(Forbidden),
}

/// Proof that a request may pass. Only [`decide`] makes one, and only with one in hand can a request be
/// given an identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Permit<'a> {
    policy: &'a Policy,
    /// The last one names the identity. There is none where the policy lets requests without a key pass.
    last: Option<Grant<'a>>,
    earlier: Vec<Grant<'a>>,
}

/// Proof that a route asks for no key. Only [`decide`] makes one.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct OpenRoute(());

/// A key that was verified.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant<'a> {
    /// The step that demanded it.
    pub step: &'a Step,
    /// What the table says of it.
    pub record: Record<'a>,
    /// Under which it stands there.
    pub digest: Digest,
    /// The value that was verified. Never to be logged.
    pub key: Vec<u8>,
    /// Where it stood.
    pub place: PlaceRef<'a>,
}

/// Decides on a request by its route's name and the keys in it, in whatever value of a header they stand.
///
/// Nothing is asked for but what matters, and nothing before the policy and its tables are known.
pub fn decide<'a>(
    config: &'a FilterConfig,
    tables: &'a impl Tables,
    route_name: Option<&[u8]>,
    facts: &mut impl Facts,
) -> Verdict<'a> {
    match demanded(config, route_name) {
        Ok(policy) => decide_by(policy, tables, facts),
        Err(foregone) => foregone.verdict(),
    }
}

/// The policy that a route demands.
///
/// # Errors
///
/// When it demands none.
pub fn demanded<'a>(config: &'a FilterConfig, route_name: Option<&[u8]>) -> Result<&'a Policy, Foregone> {
    let not_named = Foregone::Forbidden(Forbidden::NoPolicyNamed);
    match &config.standalone {
        None => {
            let auth_id = route_name.and_then(auth_id_of_route).ok_or(not_named)?;
            config.policies.get(auth_id).ok_or(Foregone::Forbidden(Forbidden::UnknownPolicy))
        }
        Some(standalone) => match standalone.demand(route_name, &config.policies) {
            Demand::Policy(policy) => Ok(policy),
            Demand::Nothing => Err(Foregone::Open(OpenRoute(()))),
            Demand::Unsaid => Err(not_named),
        },
    }
}

/// Decides on a request by the policy of its route, see [`decide`].
pub fn decide_by<'a>(policy: &'a Policy, tables: &'a impl Tables, facts: &mut impl Facts) -> Verdict<'a> {
    // Before any header is looked at: until the keys are there nobody is told that his is missing.
    if policy.tables().any(|table| tables.table(table).is_none()) {
        return Verdict::Wait;
    }
    let judged = match judge(policy, tables, facts, false) {
        // A valid key gives an identity wherever it can, so nobody is anonymous before that is known.
        Err(_) if policy.steps.iter().any(|step| step.anonymous) => judge(policy, tables, facts, true),
        judged => judged,
    };
    match judged {
        Ok(permit) if permit.is_allowed(tables) => Verdict::Allow(permit),
        Ok(_) => Verdict::Forbid(Forbidden::NotAllowed),
        Err(why) => Verdict::Deny(why),
    }
}

/// Looks at the keys, step by step. With `anonymous` those steps that are succeed without a key.
fn judge<'a>(
    policy: &'a Policy,
    tables: &'a impl Tables,
    facts: &mut impl Facts,
    anonymous: bool,
) -> Result<Permit<'a>, Denial> {
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
        // A rule that names no step holds for nobody.
        let Some(step) = policy.steps.get(at) else { return false };
        match verify(step, tables, facts) {
            Ok(grant) => {
                grants.extend(last.replace(grant));
                true
            }
            Err(Denial::Missing) => anonymous && step.anonymous,
            Err(why) => {
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
        Some(_) if holds => Ok(Permit { policy, last, earlier: grants }),
        // Whoever is let in without an identity brought no key at all, not even to where nobody had to look.
        None if holds && anonymous => match key_of_any(policy, tables, facts) {
            None => Ok(Permit { policy, last, earlier: grants }),
            Some(why) => Err(why),
        },
        // What holds without any key has no identity to give, and so nobody passes by it.
        _ => Err(denial),
    }
}

/// What is wrong with the first key that stands anywhere; none if none does.
fn key_of_any(policy: &Policy, tables: &impl Tables, facts: &mut impl Facts) -> Option<Denial> {
    policy.steps.iter().find_map(|step| match verify(step, tables, facts) {
        Err(Denial::Missing) => None,
        Err(why) => Some(why),
        // A valid one that did not help: it is not the one that is asked for.
        Ok(_) => Some(Denial::Unknown),
    })
}

fn verify<'a>(step: &'a Step, tables: &'a impl Tables, facts: &mut impl Facts) -> Result<Grant<'a>, Denial> {
    let (key, place) = find(step, facts)?;
    let table = tables.table(&step.table).ok_or(Denial::Unknown)?;
    // A table knows what its keys look like. Where one of them may look like this, it is looked up.
    if !table.may_hold_damaged() && generated::shape(&key) == Shape::Damaged {
        return Err(Denial::Unknown);
    }
    let digest = key::digest(&key);
    let record = table.get(&digest).ok_or(Denial::Unknown)?;
    facts.found(&digest);
    record.life().check(|| facts.now()).map_err(Denial::Lapsed)?;
    Ok(Grant { step, record, digest, key, place })
}

/// The one key that stands in the places of a step, and where.
///
/// # Errors
///
/// When there is none, or when there are two.
pub fn find<'a>(step: &'a Step, facts: &mut impl Facts) -> Result<(Vec<u8>, PlaceRef<'a>), Denial> {
    if step.places.is_empty() {
        // Most have one header with one value, and pay for nothing else.
        let key = facts.joined_values(&step.key_header).ok_or(Denial::Missing)?;
        if !key.contains(&JOINT) {
            let place = PlaceRef::Header(&step.key_header, None);
            return if key.is_empty() { Err(Denial::Missing) } else { Ok((key, place)) };
        }
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

// === impl Foregone ===

impl Foregone {
    /// The same as a verdict.
    #[must_use]
    pub fn verdict<'a>(self) -> Verdict<'a> {
        match self {
            Self::Open(route) => Verdict::Open(route),
            Self::Forbidden(why) => Verdict::Forbid(why),
        }
    }
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
    /// Who passes: the owner of the key that was verified last. None if there was no key, and the policy lets
    /// such requests pass.
    #[must_use]
    pub fn identity(&self) -> Option<&'a [u8]> {
        self.last.as_ref().map(|grant| grant.record.identity())
    }

    /// Whether the route allows who passes. A list names whose each key is, since list and keys do not change
    /// in the same moment.
    fn is_allowed(&self, tables: &impl Tables) -> bool {
        let Some(grant) = &self.last else { return true };
        let identity = grant.record.identity();
        let names_him =
            |only: &[Vec<u8>]| only.binary_search_by(|other| other.as_slice().cmp(identity)).is_ok();
        if self.policy.only.as_deref().is_some_and(|only| !names_him(only)) {
            return false;
        }
        let Some(list) = &grant.step.allowed else { return true };
        let listed = tables.table(list).and_then(|list| list.get(&grant.digest));
        listed.is_some_and(|listed| listed.identity() == grant.record.identity())
    }

    /// The policy that let the request pass.
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The keys that were verified, in this order.
    pub fn grants(&self) -> impl Iterator<Item = &Grant<'a>> {
        self.earlier.iter().chain(&self.last)
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
