//! Whose the keys are that workers report to have been used.
//!
//! A report comes some seconds after the uses, and by then a key may be gone, rotated out or somebody
//! else's. So it says at which revision the key was used, and for a while it is known here whose a key was.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use keyward_filter_core::wire::Digest;
use keyward_resource::ObjectRef;

use super::{Config, KeyIndex};
use crate::secrets::Secret;

/// Of so many keys it is known whose they were: those of a minute in which a thousand a second change.
const REMEMBERED: usize = 65_536;

/// Keys that Secrets held, oldest first.
#[derive(Debug, Default)]
pub(super) struct Former {
    /// By key, and the revision that ended it.
    holders: BTreeMap<(Digest, u64), FormerHolder>,
    order: VecDeque<(Digest, u64)>,
}

/// A Secret that held a key, sorted by who held it first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FormerHolder {
    /// The revision with which the key came into it.
    since: u64,
    /// The revision that created it.
    created: u64,
    id: ObjectRef,
}

/// Finds out whose the keys of a table are, or were at a revision.
#[derive(Debug)]
pub struct Users<'a> {
    index: &'a KeyIndex,
    config: Option<&'a Config>,
    revision: u64,
}

/// The place of a table: see [`keyward_filter_core::config::table_name`].
fn step_of(table: &str) -> Option<(ObjectRef, usize)> {
    let (auth_id, step) = table.split_once('#').unwrap_or((table, "0"));
    let (namespace, name) = auth_id.split_once('/')?;
    Some((ObjectRef::new(namespace, name), step.parse().ok()?))
}

// === impl KeyIndex ===

impl KeyIndex {
    /// Finds out whose the keys of a table were for a worker that held it at this revision.
    #[must_use]
    pub fn users(&self, table: &str, revision: u64) -> Users<'_> {
        let config = step_of(table).and_then(|step| self.configs.get(&step));
        Users { index: self, config, revision }
    }

    /// The revision that created a Secret of the key type, if it exists.
    #[must_use]
    pub fn created(&self, id: &ObjectRef) -> Option<u64> {
        self.secrets.created(id)
    }
}

// === impl Users ===

impl<'a> Users<'a> {
    /// The Secret that a key was of, and the revision that created it; `None` if it is gone, or nobody
    /// knows.
    #[must_use]
    pub fn of(&self, digest: &Digest) -> Option<(&'a ObjectRef, u64)> {
        if let Some(FormerHolder { id, created, .. }) = self.index.former.at(digest, self.revision) {
            let exists = self.index.created(id) == Some(*created);
            return exists.then_some((id, *created));
        }
        let secrets = &self.index.secrets;
        let of_table = self.config.and_then(|config| config.holders(secrets, digest).next());
        // An AuthConfig may be gone, or select others, since its keys were used.
        let secret = of_table.or_else(|| secrets.holders(digest).next())?;
        Some((&secret.id, secret.created))
    }
}

// === impl Former ===

impl Former {
    /// Notes the keys that a Secret held before a change and holds no more.
    pub(super) fn note(&mut self, before: &Secret, after: Option<&Secret>, ended: u64) {
        let kept = |digest: &Digest| after.is_some_and(|after| after.keys().any(|key| key == *digest));
        for digest in before.keys().filter(|digest| !kept(digest)) {
            let (id, created) = (before.id.clone(), before.created);
            let holder = FormerHolder { since: before.since(&digest), created, id };
            match self.holders.entry((digest, ended)) {
                Entry::Vacant(vacant) => {
                    vacant.insert(holder);
                    self.order.push_back((digest, ended));
                }
                // Of several who held it the first one was the identity.
                Entry::Occupied(mut other) if holder < *other.get() => {
                    other.insert(holder);
                }
                Entry::Occupied(_) => {}
            }
        }
        while self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.holders.remove(&oldest);
        }
    }

    /// Who held a key at a revision and does no more. What ended at it had ended for whoever holds it.
    fn at(&self, digest: &Digest, revision: u64) -> Option<&FormerHolder> {
        let after = (Bound::Excluded((*digest, revision)), Bound::Unbounded);
        let ((other, _), holder) = self.holders.range(after).next()?;
        (other == digest).then_some(holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{delete, digest, id, put, put_config, secret, watch};
    use crate::index::Change;

    fn index() -> KeyIndex {
        let mut index = KeyIndex::new();
        index.apply(
            5,
            [put("a/ann", "team=x", 1), put("a/bob", "team=x", 2), put_config("a/one", "team=x", &[])],
        );
        index
    }

    fn user(index: &KeyIndex, revision: u64, key: u8) -> Option<String> {
        index.users("a/one", revision).of(&digest(key)).map(|(id, _)| id.to_string())
    }

    fn named(name: &str) -> Option<String> {
        Some(id(name).to_string())
    }

    #[test]
    fn a_key_is_its_secrets() {
        let index = index();
        assert_eq!(user(&index, 5, 1), named("a/ann"));
        assert_eq!(user(&index, 5, 2), named("a/bob"));
        assert_eq!(user(&index, 5, 3), None);
        // A table that is there no more, or never was.
        for table in ["a/gone", "a/one#3", "", "one", "a/one#x"] {
            let users = index.users(table, 5);
            assert_eq!(users.of(&digest(2)).map(|(found, _)| found.clone()), Some(id("a/bob")), "{table}");
        }
    }

    #[test]
    fn a_key_that_was_rotated_out_counts_for_its_secret_still() {
        let mut index = index();
        index.apply(6, [put("a/ann", "team=x", 3)]);
        assert_eq!(user(&index, 5, 1), named("a/ann"));
        assert_eq!(user(&index, 6, 3), named("a/ann"));
        // Who holds revision 6 cannot have used it.
        assert_eq!(user(&index, 6, 1), None);
    }

    #[test]
    fn a_key_that_changed_hands_was_the_former_ones_before_and_is_the_new_ones_after() {
        let mut index = index();
        index.apply(6, [put("a/ann", "team=x", 3)]);
        index.apply(8, [put("a/bob", "team=x", 1)]);
        index.apply(9, [put("a/bob", "team=x", 4), put("a/cat", "team=x", 1)]);
        assert_eq!(user(&index, 5, 1), named("a/ann"));
        assert_eq!(user(&index, 8, 1), named("a/bob"));
        assert_eq!(user(&index, 9, 1), named("a/cat"));
    }

    #[test]
    fn uses_of_a_secret_that_is_gone_are_nobodys() {
        let mut index = index();
        index.apply(6, [delete("a/ann")]);
        assert_eq!(user(&index, 5, 1), None);
        assert_eq!(index.created(&id("a/ann")), None);
        // Also when there is another one of the same name, with the same key.
        let mut again = secret("a/ann", "team=x", 1);
        again.meta.created = 7;
        index.apply(7, [Change::PutSecret(again)]);
        assert_eq!(user(&index, 5, 1), None);
        assert_eq!(user(&index, 7, 1), named("a/ann"));
        assert_eq!(index.created(&id("a/ann")), Some(7));
    }

    #[test]
    fn of_several_holders_the_identity_is_the_user() {
        let mut index = index();
        index.apply(
            6,
            [put("a/aaa", "team=y", 1), put("a/bob", "team=x", 1), put_config("a/two", "team=y", &[])],
        );
        assert_eq!(user(&index, 6, 1), named("a/ann"));
        let other = index.users("a/two", 6);
        assert_eq!(other.of(&digest(1)).map(|(found, _)| found.clone()), Some(id("a/aaa")));
    }

    #[test]
    fn a_secret_of_a_namespace_that_is_not_watched_exists() {
        let mut index = index();
        index.apply(6, [watch(&["b"])]);
        assert!(index.created(&id("a/ann")).is_some());
    }

    #[test]
    fn only_so_many_former_keys_are_remembered() {
        let mut former = Former::default();
        for number in 0..=REMEMBERED as u64 {
            let mut holder = secret("a/ann", "", 1);
            let mut sha256 = [0; 32];
            sha256[..8].copy_from_slice(&number.to_le_bytes());
            holder.key = Ok(sha256);
            former.note(&holder.into(), None, number + 1);
        }
        assert_eq!((former.order.len(), former.holders.len()), (REMEMBERED, REMEMBERED));
        assert!(former.at(&[0; 16], 0).is_none());
    }
}
