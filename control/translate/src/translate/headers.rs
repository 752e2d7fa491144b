//! Who may do what with a header, where several have a use for it.
//!
//! What a policy in use sets is removed from every request on its proxy, before routes are looked for. So
//! no route there may ask for it, and no other policy may look for a key in it; nor may any route add it, as
//! upstreams believe what it says. Of two who do not go together the one that came later is refused, as with
//! domains: nobody who comes takes anything from those who were there before. In use is what a route that is
//! served demands, no earlier than all that it takes: the VirtualService, the tables that lead to the route,
//! and the AuthConfig.
//!
//! What counts is when objects were made, as with domains, not when they came to say what they say: the older
//! object wins, also when it was edited later. A last good version is as old as its object.
//!
//! Within one virtual host it is more than a loss: the filter sets a header, Envoy looks for the route once
//! more, and would find another one, under the authentication of the first. So a host that asks for what
//! its own policies set is refused whatever came first, and so is whoever asks for the identity, and whoever
//! copies a key ([`copies`]).

mod copies;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::Step;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{Meta, ObjectKey, ObjectRef};

use super::hosts::{Compiled, Mention, Use};
use super::kind::{AUTH_CONFIG, ROUTE_TABLE, VIRTUAL_SERVICE};
use super::refused::Refused;
use super::{Age, Known, age};
use crate::input::Input;

/// A version that a proxy serves.
pub(super) struct Live<'a> {
    pub(super) version: &'a Arc<VirtualService>,
    pub(super) compiled: &'a Compiled,
    /// It is the last good one.
    pub(super) outdated: bool,
}

/// What each proxy serves, some of it more than once.
pub(super) type ByProxy<'a> = BTreeMap<&'a str, Vec<Live<'a>>>;

/// Finds conflicts.
pub(super) struct Conflicts<'a> {
    pub(super) input: &'a Input,
    pub(super) known: &'a Known<'a>,
}

/// Somebody whose coming made a claim, or the last of several.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Party<'a> {
    age: Age<'a>,
    outdated: bool,
    key: ObjectKey,
}

/// Somebody does something with a header.
struct Claim<'a> {
    /// The last of all that it takes.
    since: Party<'a>,
    /// Who goes if it is in the way of an earlier one.
    blamed: Party<'a>,
    parties: Vec<ObjectKey>,
    header: String,
    what: What,
    /// The object that says it.
    object: ObjectKey,
    said: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Sets,
    TakesKey,
    Asks,
    Adds,
}

/// A header, however an upstream spells it.
pub(super) fn folded(header: &str) -> String {
    header.replace('_', "-")
}

fn object(kind: &'static str, reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(kind, &reference.namespace, &reference.name)
}

fn told(steps: &[Step]) -> impl Iterator<Item = &str> {
    steps.iter().flat_map(|step| &step.headers).map(|told| told.header.as_str())
}

// === impl Conflicts ===

impl<'a> Conflicts<'a> {
    /// Who has to go.
    pub(super) fn find(&self, served: &'a ByProxy<'a>) -> Refused {
        let mut found = Refused::default();
        let mut contested: Vec<(&str, BTreeSet<String>)> = Vec::new();
        for (proxy, lives) in served {
            let headers = self.contested(lives);
            if !headers.is_empty() {
                contested.push((proxy, headers));
            }
        }
        let mut alone = false;
        for (proxy, _) in &contested {
            for live in &served[proxy] {
                alone |= self.check_alone(live, &mut found);
            }
        }
        for live in served.values().flatten() {
            alone |= self.check_copies(live, &mut found);
        }
        // Whoever goes for its own sake is in nobody's way.
        if !alone {
            for (proxy, headers) in &contested {
                self.check_together(proxy, &served[proxy], headers, &mut found);
            }
        }
        found
    }

    /// The headers that are set by a policy, and that somebody else has a use for.
    fn contested(&self, lives: &[Live<'_>]) -> BTreeSet<String> {
        let demands = || lives.iter().map(|live| &live.compiled.demand);
        let used: BTreeSet<&ObjectRef> =
            demands().flat_map(|demand| &demand.uses).map(|used| &used.auth_config).collect();
        let steps = || used.iter().flat_map(|used| self.steps(used));
        let mut set: BTreeSet<String> =
            used.iter().flat_map(|used| told(self.steps(used))).map(folded).collect();
        set.insert(folded(&self.known.settings.identity_header));
        let mentions = demands().flat_map(|demand| demand.asks.iter().chain(&demand.adds));
        let mentioned = mentions.map(|mention| &mention.header);
        let wanted = mentioned.chain(steps().map(|step| &step.key_header)).map(|header| folded(header));
        wanted.filter(|header| set.contains(header)).collect()
    }

    /// Whether a host asks for the identity, or for what its own policies set.
    fn check_alone(&self, live: &Live<'_>, found: &mut Refused) -> bool {
        const WHY: &str = "a route must not depend on what authentication adds";
        let identity = folded(&self.known.settings.identity_header);
        let demand = &live.compiled.demand;
        let mut any = false;
        for ask in &demand.asks {
            let asked = folded(&ask.header);
            let matcher = |blamed: &Party<'_>| {
                let owner =
                    if ask.owner == blamed.key { String::new() } else { format!(" of {}", ask.owner) };
                format!("a matcher of {}{owner} asks for header {}", ask.label, ask.header)
            };
            if asked == identity {
                let table = ask.tables.last().filter(|_| ask.owner.kind == ROUTE_TABLE);
                let blamed = table.and_then(|table| self.table(table)).unwrap_or_else(|| service(live));
                let reason = format!("{}, which carries the identity: {WHY}", matcher(&blamed));
                found.refuse(blamed.key, blamed.outdated, reason);
                any = true;
                continue;
            }
            for used in &demand.uses {
                if !told(self.steps(&used.auth_config)).any(|told| folded(told) == asked) {
                    continue;
                }
                let tables = ask.tables.iter().chain(&used.tables).filter_map(|table| self.table(table));
                // A table that goes on with its last good version is less than the whole.
                let parties = tables.chain([service(live)]);
                let blamed = parties.max_by(|a, b| (a.outdated, a).cmp(&(b.outdated, b)));
                let Some(blamed) = blamed else { continue };
                let auth_config = object(AUTH_CONFIG, &used.auth_config);
                let reason = format!("{}, which {auth_config} sets: {WHY}", matcher(&blamed));
                found.refuse(blamed.key, blamed.outdated, reason);
                any = true;
            }
        }
        any
    }

    /// Gives every header to those who came first.
    fn check_together(
        &self,
        proxy: &str,
        lives: &[Live<'_>],
        headers: &BTreeSet<String>,
        found: &mut Refused,
    ) {
        let mut claims: Vec<Claim<'_>> = lives.iter().flat_map(|live| self.claims(live, headers)).collect();
        claims.sort_by(|a, b| a.order().cmp(&b.order()));
        claims.dedup_by(|a, b| a.order() == b.order());
        let mut gone: BTreeSet<&ObjectKey> = BTreeSet::new();
        let mut standing: BTreeMap<&str, Vec<&Claim<'_>>> = BTreeMap::new();
        let mut all = Refused::default();
        for together in claims.chunk_by(|a, b| (&a.since, &a.blamed) == (&b.since, &b.blamed)) {
            let alive = |claim: &&Claim<'_>| claim.parties.iter().all(|party| !gone.contains(party));
            let together: Vec<&Claim<'_>> = together.iter().filter(alive).collect();
            let mut conflicts = Vec::new();
            for mine in &together {
                let before = standing.get(mine.header.as_str()).into_iter().flatten();
                let other = before.chain(&together).find(|theirs| mine.is_against(theirs));
                conflicts.extend(other.map(|theirs| (*mine, *theirs)));
            }
            let Some((Claim { blamed, .. }, _)) = conflicts.first() else {
                for claim in together {
                    standing.entry(&claim.header).or_default().push(claim);
                }
                continue;
            };
            // Others may have had to give way to what it takes along with it: without it they need not.
            let stood = standing.values().flatten().any(|claim| claim.parties.contains(&blamed.key));
            if stood {
                all = Refused::default();
            }
            gone.insert(&blamed.key);
            conflicts.iter().for_each(|(mine, theirs)| mine.give_way(theirs, proxy, &mut all));
            if stood {
                break;
            }
        }
        found.add(all);
    }

    /// What a version has to do with these headers.
    fn claims<'l>(&'l self, live: &'l Live<'l>, headers: &BTreeSet<String>) -> Vec<Claim<'l>> {
        let mut claims = Vec::new();
        let demand = &live.compiled.demand;
        let mentions = demand.asks.iter().map(|ask| (What::Asks, ask));
        for (what, mention) in mentions.chain(demand.adds.iter().map(|add| (What::Adds, add))) {
            if headers.contains(&folded(&mention.header)) {
                claims.extend(self.mention(live, what, mention));
            }
        }
        for used in &demand.uses {
            for step in self.steps(&used.auth_config) {
                let told = step.headers.iter().map(|told| (What::Sets, &told.header));
                for (what, header) in told.chain([(What::TakesKey, &step.key_header)]) {
                    if headers.contains(&folded(header)) {
                        claims.extend(self.policy(live, used, what, header));
                    }
                }
            }
        }
        claims
    }

    fn mention<'l>(&'l self, live: &'l Live<'l>, what: What, mention: &Mention) -> Option<Claim<'l>> {
        let Mention { header, owner, label, tables } = mention;
        let said = match what {
            What::Adds => {
                format!("headerManipulation of {label} of {owner} adds header {header} to requests")
            }
            _ => format!("a matcher of {label} of {owner} asks for header {header}"),
        };
        self.claim(live, tables, None, (what, header), owner.clone(), said)
    }

    fn policy<'l>(&'l self, live: &'l Live<'l>, used: &Use, what: What, header: &str) -> Option<Claim<'l>> {
        let key = object(AUTH_CONFIG, &used.auth_config);
        let does = if what == What::Sets { "sets header" } else { "looks for a key in header" };
        let user = service(live).key;
        let said = format!("{key}, which {user} uses, {does} {header}");
        let auth_config = self.input.auth_configs.get(&used.auth_config)?;
        let party = party(AUTH_CONFIG, &auth_config.meta, false);
        self.claim(live, &used.tables, Some(party), (what, header), key, said)
    }

    fn claim<'l>(
        &'l self,
        live: &'l Live<'l>,
        tables: &[ObjectRef],
        auth_config: Option<Party<'l>>,
        (what, header): (What, &str),
        object: ObjectKey,
        said: String,
    ) -> Option<Claim<'l>> {
        let tables: Vec<Party<'l>> = tables.iter().filter_map(|table| self.table(table)).collect();
        let mixed = tables.iter().any(|table| table.outdated != live.outdated);
        let last_table = tables.last().filter(|_| mixed).cloned();
        let parties: Vec<Party<'l>> = tables.into_iter().chain(auth_config).chain([service(live)]).collect();
        let since = parties.iter().max()?.clone();
        // Where a last good version and a current one come together, either may be the one that does not
        // fit the other: the table is less than the whole.
        let blamed = last_table.unwrap_or_else(|| since.clone());
        let parties = parties.into_iter().map(|party| party.key).collect();
        Some(Claim { since, blamed, parties, header: folded(header), what, object, said })
    }

    fn steps(&self, auth_config: &ObjectRef) -> &[Step] {
        self.known.auth_configs.steps_of(auth_config)
    }

    fn table(&self, reference: &ObjectRef) -> Option<Party<'_>> {
        let table = self.known.tables.used().get(reference)?;
        Some(party(ROUTE_TABLE, &table.meta, self.known.tables.is_outdated(reference)))
    }
}

fn service<'l>(live: &'l Live<'_>) -> Party<'l> {
    party(VIRTUAL_SERVICE, &live.version.meta, live.outdated)
}

fn party<'m>(kind: &'static str, meta: &'m Meta, outdated: bool) -> Party<'m> {
    Party { outdated, age: age(meta), key: ObjectKey::new(kind, &meta.namespace, &meta.name) }
}

// === impl Claim ===

impl Claim<'_> {
    fn order(&self) -> impl Ord + '_ {
        (&self.since, &self.blamed, &self.header, self.what, &self.said)
    }

    /// Whether only one of both can be.
    fn is_against(&self, other: &Self) -> bool {
        self.header == other.header && (self.what == What::Sets) != (other.what == What::Sets)
    }

    /// Refuses it for the sake of an earlier one.
    fn give_way(&self, earlier: &Self, proxy: &str, found: &mut Refused) {
        let Self { blamed, said, .. } = self;
        let why = if [self.what, earlier.what].contains(&What::Adds) {
            format!("what a policy sets nobody else may set on proxy {proxy}")
        } else {
            format!("what a policy sets is removed from every request on proxy {proxy}")
        };
        let reason = format!("{said}, but {}, which came first: {why}", earlier.said);
        found.refuse(blamed.key.clone(), blamed.outdated, reason);
        if !blamed.outdated && earlier.blamed != *blamed {
            let warning = format!(
                "{}, and {said}: {why}, so {}, which came later, is rejected",
                earlier.said, blamed.key
            );
            found.warn(earlier.object.clone(), warning);
        }
    }
}
