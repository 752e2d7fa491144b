//! Make before break: what a proxy was told stays told until nothing can use it any more.
//!
//! ```text
//! change ─▶ Routes: old and new policies, old and new tables
//!              │ every proxy of the role has accepted the new routes
//!              ▼
//!           Policies: new policies, old and new tables
//!              │ every worker of the role reports the new plugin configuration
//!              ▼
//!           Settled: what the routes need, and nothing else
//! ```
//!
//! New things go out in the right order by themselves: the xDS sessions send policies before routes,
//! and a request whose keys have not arrived waits for them. Old things need this: a request may
//! still be on the old route when the policy or the table that it needs would go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyward_filter_core::config::Policy;
use keyward_translate::proxy::Proxy;
use tokio::time::Instant;

/// Proxies that do not follow are not waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// What was accepted reaches all workers of a proxy within this.
const SETTLE: Duration = Duration::from_millis(100);

/// What is rolled out to each role.
#[derive(Debug, Default)]
pub(crate) struct Rollouts {
    roles: BTreeMap<String, Rollout>,
}

#[derive(Debug, Default)]
struct Rollout {
    stage: Stage,
    policies: BTreeMap<String, Policy>,
    tables: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Settled,
    Routes(Wait),
    Policies(Wait),
}

/// Since when a stage lasts, and since when what it waits for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    since: Instant,
    reached: Option<Instant>,
}

// === impl Rollouts ===

impl Rollouts {
    /// The resources have changed: whatever each role was told may still be in use.
    pub(crate) fn restart(&mut self, now: Instant) {
        for rollout in self.roles.values_mut() {
            rollout.stage = Stage::Routes(Wait::new(now));
        }
    }

    /// Adds to a proxy what its Envoys may still use.
    ///
    /// A policy that a route asks for and does not get stays away: its `AuthConfig` is gone or
    /// rejected, and from now on denies.
    pub(crate) fn widen(&mut self, proxy: &mut Proxy) {
        let asked_for: BTreeSet<String> =
            proxy.routes().filter_map(|route| route.auth.auth_id()).map(str::to_owned).collect();
        let rollout = self.roles.entry(proxy.role.clone()).or_default();
        let needed = (proxy.policies.len(), proxy.tables.len());
        if matches!(rollout.stage, Stage::Routes(_)) {
            let unused = rollout.policies.iter().filter(|(id, _)| !asked_for.contains(*id));
            proxy.policies.extend(unused.map(|(id, policy)| (id.clone(), policy.clone())));
        }
        if rollout.stage != Stage::Settled {
            proxy.tables.extend(rollout.tables.iter().cloned());
        }
        if needed == (proxy.policies.len(), proxy.tables.len()) {
            rollout.stage = Stage::Settled;
        }
        rollout.policies = proxy.policies.clone();
        rollout.tables = proxy.tables.clone();
    }

    /// The role is served no more.
    pub(crate) fn remove(&mut self, role: &str) {
        self.roles.remove(role);
    }

    /// The roles that something waits for.
    pub(crate) fn pending(&self) -> bool {
        self.roles.values().any(|rollout| rollout.stage != Stage::Settled)
    }

    /// Looks whether what is waited for is there; says whether to publish again.
    ///
    /// `routes_accepted` tells of a role whether all its proxies have accepted what was published
    /// last, `policies_applied` whether all its workers run with the last plugin configuration.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        routes_accepted: impl Fn(&str) -> bool,
        policies_applied: impl Fn(&str) -> bool,
    ) -> bool {
        let mut publish = false;
        for (role, rollout) in &mut self.roles {
            rollout.stage = match rollout.stage {
                Stage::Settled => continue,
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
        }
        publish
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
