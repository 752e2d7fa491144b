//! What an answer tells of others: whoever may look at some namespaces alone gets the numbers of all, and the
//! names of theirs.

use keyward_api::Sight;

use super::{Answer, Proxy, Worker};

/// What is said in place of a sentence with names.
const LACKS: &str = "has not confirmed everything";

// === impl Answer ===

impl Answer {
    /// The answer to somebody.
    pub(super) fn seen_by(mut self, sight: &Sight) -> Self {
        if sight.is_everywhere() {
            return self;
        }
        let sentence = |_| summary(self.workers, self.confirmed, &self.revision);
        self.message = self.message.map(sentence);
        for (index, proxy) in self.proxies.iter_mut().enumerate() {
            proxy.hide(index, sight);
        }
        self
    }
}

/// Who has confirmed a revision, without names.
pub(super) fn summary(workers: usize, confirmed: usize, revision: &str) -> String {
    let behind = workers.saturating_sub(confirmed);
    format!("{behind} of {workers} workers have not confirmed revision {revision}")
}

/// How a proxy is called for those who are not told its name.
pub(in super::super) fn unnamed(index: usize) -> String {
    format!("proxy-{}", index + 1)
}

// === impl Proxy ===

impl Proxy {
    fn hide(&mut self, index: usize, sight: &Sight) {
        self.node = unnamed(index);
        self.types.values_mut().for_each(super::types::OneType::hide);
        for Worker { lacks, tables, .. } in &mut self.workers {
            if let Some(lacks) = lacks {
                LACKS.clone_into(lacks);
            }
            tables.retain(|table, _| sight.sees_named(table));
        }
    }
}
