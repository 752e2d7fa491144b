//! Which current versions get all that they ask for.
//!
//! What is in force stays with whom it has: who did not have a domain asks for it in vain while who had it
//! wants to keep it, or is rejected and so falls back to the version that had it. Who that is shows only
//! once it is known who is rejected. So there are rounds, and in each of them those who were rejected before
//! keep everything that their last good version has.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::ObjectRef;
use keyward_resource::kinds::virtual_service::VirtualService;

use crate::proxy::TlsTerms;
use crate::translate::claims::{Claims, Conflict};
use crate::translate::gateways::Binding;

/// A current version that may be served.
pub(super) struct Candidate<'a> {
    pub(super) reference: ObjectRef,
    pub(super) version: &'a VirtualService,
    pub(super) terms: Option<&'a TlsTerms>,
}

/// A version that was in force before.
pub(super) struct Before<'a> {
    pub(super) version: &'a VirtualService,
    pub(super) terms: Option<TlsTerms>,
}

/// What belongs to whom, and why others do not get what they ask for.
pub(super) struct Round {
    pub(super) claims: Vec<Claims>,
    pub(super) conflicts: BTreeMap<ObjectRef, Vec<Conflict>>,
}

/// Gives everything to those who had it before, then to the first who ask. `fallen` are those that are
/// rejected whatever the others ask for.
pub(super) fn settle<'a>(
    candidates: &[Candidate<'_>],
    bindings: &[Binding],
    mut fallen: BTreeSet<ObjectRef>,
    before: impl Fn(&ObjectRef) -> Option<Before<'a>>,
) -> Round {
    // Mostly nobody asks for what another one has, and then it makes no difference who had what.
    let first = round(candidates, &[], bindings, &fallen, &before);
    if first.conflicts.is_empty() {
        return first;
    }
    loop {
        let round = round(candidates, candidates, bindings, &fallen, &before);
        let known = fallen.len();
        fallen.extend(round.conflicts.keys().cloned());
        // Each time there is at least one more, so this ends.
        if fallen.len() == known {
            return round;
        }
    }
}

fn round<'a>(
    candidates: &[Candidate<'_>],
    holders: &[Candidate<'_>],
    bindings: &[Binding],
    fallen: &BTreeSet<ObjectRef>,
    before: &impl Fn(&ObjectRef) -> Option<Before<'a>>,
) -> Round {
    let mut claims: Vec<Claims> = bindings.iter().map(|_| Claims::default()).collect();
    for Candidate { reference, version, terms } in holders {
        let standing = before(reference).filter(|_| !fallen.contains(reference));
        let Some(good) = standing.filter(|good| good.terms.as_ref() == *terms) else { continue };
        let places = bindings.iter().zip(&mut claims);
        let both = places.filter(|(binding, _)| binding.serves(version) && binding.serves(good.version));
        both.for_each(|(_, claims)| claims.hold_what_stays(version, good.version, *terms));
    }
    for good in fallen.iter().filter_map(before) {
        let terms = good.terms.as_ref();
        for (_, claims) in free(good.version, terms, bindings, &mut claims) {
            claims.hold_what_stays(good.version, good.version, terms);
        }
    }
    let mut all = BTreeMap::new();
    for Candidate { reference, version, terms } in candidates {
        let conflicts = claim(version, *terms, bindings, &mut claims);
        if !conflicts.is_empty() {
            all.insert(reference.clone(), conflicts);
        }
    }
    Round { claims, conflicts: all }
}

/// Takes everything on all bindings, or nothing and tells why.
pub(super) fn claim(
    version: &VirtualService,
    terms: Option<&TlsTerms>,
    bindings: &[Binding],
    claims: &mut [Claims],
) -> Vec<Conflict> {
    let conflicts = conflicts(version, terms, bindings, claims);
    if conflicts.is_empty() {
        for (binding, claims) in bindings.iter().zip(claims).filter(|(binding, _)| binding.serves(version)) {
            if !binding.outdated || claims.conflicts(version, terms, binding).is_empty() {
                claims.take(version, terms);
            }
        }
    }
    conflicts
}

/// Takes everything on the bindings where it is free: somebody may have opened another one for what was kept
/// apart before, and nobody is to suffer from that where it was served. On how many, and on how many not.
pub(super) fn claim_where_free(
    version: &VirtualService,
    terms: Option<&TlsTerms>,
    bindings: &[Binding],
    claims: &mut [Claims],
) -> (usize, usize) {
    let all = bindings.iter().filter(|binding| binding.serves(version)).count();
    let mut taken = 0;
    for (_, claims) in free(version, terms, bindings, claims) {
        claims.take(version, terms);
        taken += 1;
    }
    (taken, all - taken)
}

/// The bindings that serve it on which nobody else has what it asks for.
fn free<'b>(
    version: &VirtualService,
    terms: Option<&TlsTerms>,
    bindings: &'b [Binding],
    claims: &'b mut [Claims],
) -> impl Iterator<Item = (&'b Binding, &'b mut Claims)> {
    let places = bindings.iter().zip(claims);
    places.filter(move |(binding, claims)| {
        binding.serves(version) && claims.conflicts(version, terms, binding).is_empty()
    })
}

/// Why it does not get everything. What is opened for the last good version of a Gateway does not count:
/// nobody is to suffer from what somebody else got wrong.
fn conflicts(
    version: &VirtualService,
    terms: Option<&TlsTerms>,
    bindings: &[Binding],
    claims: &[Claims],
) -> Vec<Conflict> {
    let places = bindings.iter().zip(claims).filter(|(binding, _)| binding.serves(version));
    let of_current = places.filter(|(binding, _)| !binding.outdated);
    of_current.flat_map(|(binding, claims)| claims.conflicts(version, terms, binding)).collect()
}
