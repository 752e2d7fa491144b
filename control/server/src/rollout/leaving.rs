//! A role that is served no more: its proxies are told that there is nothing for them, and go by what they were told
//! before until they have accepted that.
//!
//! So their workers are told of their key tables as if nothing had happened: a key that is revoked meanwhile is, and
//! whoever waits for that waits for them. Once they have accepted, tables go that exist no more. The others stay for
//! as long as anybody is there who may hold them: requests may still be under way on connections from before.

use std::collections::{BTreeMap, BTreeSet};

use keyward_translate::proxy::Proxy;
use tokio::time::Instant;

use super::{Rollout, Stage, Wait};

/// What is left of a role.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Its tables, and the lists behind some of them. Nothing else is told.
    proxy: Proxy,
    /// Until its proxies have accepted that there is nothing for them.
    wait: Wait,
    is_over: bool,
}

// === impl Leaving ===

impl Leaving {
    pub(super) fn new(role: &str, rollout: Rollout, now: Instant) -> Self {
        let Rollout { tables, allow_lists, .. } = rollout;
        let proxy = Proxy {
            role: role.to_owned(),
            listeners: Vec::new(),
            clusters: BTreeMap::new(),
            secrets: BTreeMap::new(),
            auth_headers: BTreeSet::new(),
            policies: BTreeMap::new(),
            allow_lists,
            tables,
        };
        Self { proxy, wait: Wait::new(now), is_over: false }
    }

    /// The role is served again: what it was told before may still be in use.
    pub(super) fn back(self, now: Instant) -> Rollout {
        let Proxy { tables, allow_lists, .. } = self.proxy;
        Rollout { stage: Stage::Routes(Wait::new(now)), tables, allow_lists, ..Rollout::default() }
    }

    pub(super) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The tables that its workers are to hold, of those that exist.
    pub(super) fn tables(&self, exists: impl Fn(&str) -> bool) -> BTreeSet<String> {
        self.proxy.tables.iter().filter(|table| !self.is_over || exists(table)).cloned().collect()
    }

    /// Looks whether its proxies have accepted; says whether that is news.
    pub(super) fn advance(&mut self, now: Instant, accepted: bool) -> bool {
        let was_over = self.is_over;
        self.is_over |= self.wait.is_over(now, accepted);
        self.is_over != was_over
    }
}
