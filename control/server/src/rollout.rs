//! Make before break: what a proxy was told stays told until nothing can use it any more.
//!
//! ```text
//! change ─▶ Keys: old routes; old and new policies, old and new tables
//!              │ every worker of the role runs with the new policies and holds their tables
//!              ▼
//!           Routes: new routes; old and new policies, old and new tables
//!              │ every proxy of the role has accepted the new routes
//!              ▼
//!           Policies: new policies, old and new tables
//!              │ every worker of the role reports the new plugin configuration
//!              ▼
//!           Settled: what the routes need, and nothing else
//! ```
//!
//! A change that needs no policy and no table that was not there begins with its routes. One that does
//! keeps the old routes for as long as its keys are on their way, so that nobody meets a route whose keys
//! have not come; a change of what is told already, such as a policy that is gone, is not kept back. Waited
//! for are those policies and tables that are new and that a route asks for, and no others: a worker that
//! has no room for other keys keeps nobody waiting. While routes wait, all routes of the role do, as one
//! that is there before another may take over what was that one's; so a change that takes something away
//! ([`closes`]) makes the wait a brief one. And a request may still be on the old route when the policy or
//! the table that it needs would go, so these go last. No wait is for ever.
//!
//! A role that is served no more goes by the same steps: see [`leaving`].

mod closing;
mod leaving;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyward_filter_core::config::Policy;
use keyward_resource::kinds::options::AllowList;
use keyward_translate::proxy::Proxy;
use tokio::time::Instant;

use closing::closes;
use leaving::Leaving;

/// Proxies that do not follow are not waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where a change takes something away, routes wait for no longer than this: keys take milliseconds, unless a
/// worker is stuck.
const BRIEFLY: Duration = Duration::from_secs(1);
/// What was accepted reaches all workers of a proxy within this.
pub(crate) const SETTLE: Duration = Duration::from_millis(100);

/// What is rolled out to each role.
#[derive(Debug, Default)]
pub(crate) struct Rollouts {
    roles: BTreeMap<String, Rollout>,
    /// Roles that are served no more.
    leaving: BTreeMap<String, Leaving>,
}

#[derive(Debug, Default)]
struct Rollout {
    stage: Stage,
    /// How often routes waited for keys, for how long at most, and how often in vain.
    waits: Waits,
    policies: BTreeMap<String, Policy>,
    tables: BTreeSet<String>,
    /// Behind some of the tables.
    allow_lists: BTreeMap<String, AllowList>,
    /// What routes wait for.
    lacking: Lacking,
}

/// What routes need that was not told before.
#[derive(Debug, Default)]
struct Lacking {
    policies: BTreeSet<String>,
    tables: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Settled,
    Keys {
        since: Instant,
        until: Instant,
    },
    Routes(Wait),
    Policies(Wait),
}

/// Since when a stage lasts, and since when what it waits for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    since: Instant,
    reached: Option<Instant>,
}

/// How routes have waited for keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// How often.
    pub(crate) count: u64,
    /// How often in vain.
    pub(crate) expired: u64,
    /// The longest of them that is over.
    pub(crate) longest: Duration,
    /// Since when they wait now, if they do.
    pub(crate) since: Option<Instant>,
}

// === impl Rollouts ===

impl Rollouts {
    /// The resources have changed: whatever each role was told may still be in use.
    pub(crate) fn restart(&mut self, now: Instant) {
        for rollout in self.roles.values_mut() {
            // Who waits for keys goes on doing so, and not from the beginning.
            if !matches!(rollout.stage, Stage::Keys { .. }) {
                rollout.stage = Stage::Routes(Wait::new(now));
            }
        }
    }

    /// Whether the routes of a role wait for keys.
    pub(crate) fn holds_routes(&self, role: &str) -> bool {
        self.roles.get(role).is_some_and(|rollout| matches!(rollout.stage, Stage::Keys { .. }))
    }

    /// Whether those of any role do.
    pub(crate) fn holds_any(&self) -> bool {
        self.roles.keys().any(|role| self.holds_routes(role))
    }

    /// How the routes of each role have waited.
    pub(crate) fn waits(&self) -> BTreeMap<String, Waits> {
        let waits = |(role, rollout): (&String, &Rollout)| {
            let since = match rollout.stage {
                Stage::Keys { since, .. } => Some(since),
                _ => None,
            };
            (role.clone(), Waits { since, ..rollout.waits })
        };
        self.roles.iter().map(waits).collect()
    }

    /// Adds to a proxy what its Envoys may still use.
    ///
    /// A policy that a route asks for and does not get stays away: its `AuthConfig` is gone or
    /// rejected, and from now on denies.
    ///
    /// Where the proxy needs what its role was not told before, and `may_wait`, its routes wait for it; only
    /// briefly where something of what was there `before` is taken away.
    pub(crate) fn widen(&mut self, proxy: &mut Proxy, before: Option<&Proxy>, may_wait: bool, now: Instant) {
        let asked_for: BTreeSet<String> =
            proxy.routes().filter_map(|route| route.auth.auth_id()).map(str::to_owned).collect();
        let is_known = self.roles.contains_key(&proxy.role);
        let left = self.leaving.remove(&proxy.role).map(|leaving| leaving.back(now)).unwrap_or_default();
        let rollout = self.roles.entry(proxy.role.clone()).or_insert(left);
        rollout.wait(proxy, is_known && may_wait, now);
        if let Stage::Keys { until, .. } = &mut rollout.stage
            && before.is_some_and(|before| closes(before, proxy))
        {
            *until = (*until).min(now + BRIEFLY);
        }
        let needed = (proxy.policies.len(), proxy.tables.len());
        if matches!(rollout.stage, Stage::Keys { .. } | Stage::Routes(_)) {
            let unused = rollout.policies.iter().filter(|(id, _)| !asked_for.contains(*id));
            proxy.policies.extend(unused.map(|(id, policy)| (id.clone(), policy.clone())));
        }
        if rollout.stage != Stage::Settled {
            proxy.tables.extend(rollout.tables.iter().cloned());
            let lists = rollout.allow_lists.iter();
            proxy.allow_lists.extend(lists.map(|(id, list)| (id.clone(), list.clone())));
        }
        let is_all = needed == (proxy.policies.len(), proxy.tables.len());
        if is_all && !matches!(rollout.stage, Stage::Keys { .. }) {
            rollout.stage = Stage::Settled;
        }
        rollout.policies = proxy.policies.clone();
        rollout.tables = proxy.tables.clone();
        rollout.allow_lists = proxy.allow_lists.clone();
    }

    /// The role is served no more.
    pub(crate) fn remove(&mut self, role: &str, now: Instant) {
        if let Some(rollout) = self.roles.remove(role) {
            self.leaving.insert(role.to_owned(), Leaving::new(role, rollout, now));
        }
    }

    /// Forgets roles that are served no more, once their proxies have accepted that and unless somebody `is_there`.
    pub(crate) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.leaving.retain(|role, leaving| !leaving.is_over() || is_there(role));
    }

    /// What is still told of roles that are served no more.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = &Proxy> {
        self.leaving.values().map(Leaving::proxy)
    }

    /// The tables that the workers of such roles are to hold; `exists` tells of a table whether there is one.
    pub(crate) fn left_tables(
        &self,
        exists: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (String, BTreeSet<String>)> {
        self.leaving.iter().map(move |(role, leaving)| (role.clone(), leaving.tables(&exists)))
    }

    /// Whether anything is waited for.
    pub(crate) fn pending(&self) -> bool {
        let is_unsettled = |rollout: &Rollout| rollout.stage != Stage::Settled;
        self.roles.values().any(is_unsettled) || !self.leaving.values().all(Leaving::is_over)
    }

    /// Looks whether what is waited for is there; says whether to publish again.
    ///
    /// `keys_held` tells of a role whether all its workers hold these tables, and the policies, `routes_accepted`
    /// whether all its proxies have accepted what was published last, `policies_applied` whether all its workers
    /// run with the last plugin configuration.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        keys_held: impl Fn(&str, &BTreeSet<String>) -> bool,
        routes_accepted: impl Fn(&str) -> bool,
        policies_applied: impl Fn(&str) -> bool,
    ) -> bool {
        let mut publish = false;
        for (role, rollout) in &mut self.roles {
            let stage = match rollout.stage {
                Stage::Settled => continue,
                Stage::Keys { since, until } => {
                    let held = keys_held(role, &rollout.lacking.tables);
                    if held || now >= until {
                        publish = true;
                        rollout.waits.expired += u64::from(!held);
                        rollout.end_wait(since, now)
                    } else {
                        Stage::Keys { since, until }
                    }
                }
                Stage::Routes(mut wait) => {
                    if wait.is_over(now, routes_accepted(role)) {
                        publish = true;
                        Stage::Policies(Wait::new(now))
                    } else {
                        Stage::Routes(wait)
                    }
                }
                Stage::Policies(mut wait) => {
                    if wait.is_over(now, policies_applied(role)) {
                        publish = true;
                        Stage::Settled
                    } else {
                        Stage::Policies(wait)
                    }
                }
            };
            rollout.stage = stage;
        }
        for (role, leaving) in &mut self.leaving {
            publish |= leaving.advance(now, routes_accepted(role));
        }
        publish
    }
}

// === impl Rollout ===

impl Rollout {
    /// Waits for what this proxy needs and was not told before, or no more for what it needs no more.
    fn wait(&mut self, proxy: &Proxy, may_begin: bool, now: Instant) {
        let waiting = match self.stage {
            Stage::Keys { since, .. } => Some(since),
            _ => None,
        };
        let Self { lacking: Lacking { policies, tables }, .. } = self;
        if may_begin || waiting.is_some() {
            policies.extend(proxy.policies.keys().filter(|id| !self.policies.contains_key(*id)).cloned());
            tables.extend(proxy.tables.difference(&self.tables).cloned());
        }
        policies.retain(|id| proxy.policies.contains_key(id));
        tables.retain(|table| proxy.tables.contains(table));
        let lacks_nothing = policies.is_empty() && tables.is_empty();
        match waiting {
            None if !lacks_nothing => {
                self.stage = Stage::Keys { since: now, until: now + PATIENCE };
                self.waits.count += 1;
            }
            Some(since) if lacks_nothing => self.stage = self.end_wait(since, now),
            _ => {}
        }
    }

    fn end_wait(&mut self, since: Instant, now: Instant) -> Stage {
        self.lacking = Lacking::default();
        self.waits.longest = self.waits.longest.max(now.saturating_duration_since(since));
        Stage::Routes(Wait::new(now))
    }
}

// === impl Wait ===

impl Wait {
    fn new(now: Instant) -> Self {
        Self { since: now, reached: None }
    }

    fn is_over(&mut self, now: Instant, there: bool) -> bool {
        self.reached = if there { self.reached.or(Some(now)) } else { None };
        self.reached.is_some_and(|reached| now >= reached + SETTLE) || now >= self.since + PATIENCE
    }
}

#[cfg(test)]
mod tests;
