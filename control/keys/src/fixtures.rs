//! What the tests of this crate share: small objects, and what the index should make of them,
//! worked out the slow way.

use std::collections::{BTreeMap, BTreeSet};

use keyward_filter_core::life::Life;
use keyward_filter_core::record;
use keyward_filter_core::wire::{DIGEST_LEN, Digest, Version, entry_hash};
use keyward_resource::kinds::auth_config::{ApiKeyAuth, AuthConfig, AuthStep};
use keyward_resource::kinds::options::AllowList;
use keyward_resource::kinds::secret::{ApiKeySecret, KeyLife, KeyProblem, PreviousKey};
use keyward_resource::{Meta, ObjectRef};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::index::{AllowLists, Change};
use crate::table::Table;
use crate::view::Wanted;

/// The entries of a table.
pub(crate) type Entries = BTreeMap<Digest, String>;

/// All objects, and nothing that is derived of them.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    secrets: BTreeMap<ObjectRef, ApiKeySecret>,
    configs: BTreeMap<ObjectRef, AuthConfig>,
    watched: Option<BTreeSet<String>>,
    lists: AllowLists,
    now: u64,
}

/// What there is to say about an `AuthConfig`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) selected: usize,
    pub(crate) missing: BTreeSet<ObjectRef>,
    /// Those of the selected Secrets that could not be written as they are.
    pub(crate) unreadable: Vec<ObjectRef>,
    /// Each key that several of the selected Secrets hold, and who they are.
    pub(crate) shared: BTreeMap<Digest, Vec<ObjectRef>>,
}

/// Names of Secrets that random changes are about.
const SECRETS: [&str; 8] = ["a/ann", "a/bob", "a/cat", "a/dan", "b/ann", "b/bob", "b/cat", "b/eve"];
/// Names of `AuthConfig`s that random changes are about.
pub(crate) const CONFIGS: [&str; 4] = ["a/one", "a/two", "b/one", "b/two"];
/// Labels that random Secrets bear and random `AuthConfig`s select.
const LABELS: [&str; 4] = ["", "team=x", "team=y", "team=x,tier=gold"];

/// A reference from `<namespace>/<name>`.
pub(crate) fn id(name: &str) -> ObjectRef {
    let (namespace, name) = name.split_once('/').expect("a namespace and a name");
    ObjectRef::new(namespace, name)
}

/// Who holds a key: whether the overlap is over, since when, and the Secret.
type Holding<'a> = (bool, u64, &'a ApiKeySecret);

/// The digest of a key; the key itself is a number.
pub(crate) fn digest(key: u8) -> Digest {
    [key; DIGEST_LEN]
}

/// A Secret with labels such as `team=x,tier=gold`.
pub(crate) fn secret(name: &str, labels: &str, key: u8) -> ApiKeySecret {
    ApiKeySecret {
        meta: meta(name, labels),
        key: Ok([key; 32]),
        held_since: 0,
        life: KeyLife::default(),
        any_shape: false,
        previous: None,
        trailing_newline: false,
        metadata: BTreeMap::new(),
    }
}

/// The same with a key before the present one, which ends at a time.
pub(crate) fn rotated(name: &str, labels: &str, key: u8, previous: u8, expires_at: u64) -> ApiKeySecret {
    let previous = PreviousKey { key: [previous; 32], held_since: 0, expires_at, any_shape: false };
    ApiKeySecret { previous: Some(previous), ..secret(name, labels, key) }
}

/// The same with a key that is of no use.
pub(crate) fn broken(name: &str, labels: &str, problem: KeyProblem) -> ApiKeySecret {
    ApiKeySecret { key: Err(problem), ..secret(name, labels, 0) }
}

/// An `AuthConfig` that selects by labels such as `team=x` and by names.
pub(crate) fn config(name: &str, labels: &str, refs: &[&str]) -> AuthConfig {
    let api_key_auth = ApiKeyAuth {
        header_name: "api-key".to_owned(),
        places: Vec::new(),
        label_selector: pairs(labels),
        secret_refs: refs.iter().map(|name| id(name)).collect(),
        forward_key: false,
        anonymous: false,
        headers_from_metadata: BTreeMap::new(),
    };
    let steps = vec![AuthStep { name: "config_0".to_owned(), api_key_auth }];
    AuthConfig { meta: meta(name, ""), steps, rule: None, warnings: Vec::new() }
}

/// Puts a [`secret`].
pub(crate) fn put(name: &str, labels: &str, key: u8) -> Change {
    Change::PutSecret(secret(name, labels, key))
}

/// Deletes a Secret.
pub(crate) fn delete(name: &str) -> Change {
    Change::DeleteSecret(id(name))
}

/// Puts a [`config`].
pub(crate) fn put_config(name: &str, labels: &str, refs: &[&str]) -> Change {
    Change::PutAuthConfig(config(name, labels, refs))
}

/// Deletes an `AuthConfig`.
pub(crate) fn delete_config(name: &str) -> Change {
    Change::DeleteAuthConfig(id(name))
}

/// Watches these namespaces.
pub(crate) fn watch(namespaces: &[&str]) -> Change {
    Change::Watch(Some(namespaces.iter().map(|name| String::from(*name)).collect()))
}

/// A list for an `AuthConfig`: the owner of a Secret of this name, and who has these labels. The auth id says
/// the same.
pub(crate) fn list(config: &str, secret: &str, labels: &str) -> (ObjectRef, String, AllowList) {
    let identities = [id(secret).name].into();
    let list = AllowList { identities, labels: pairs(labels) };
    (id(config), format!("{config}@{secret}+{labels}"), list)
}

/// Has these lists and no others.
pub(crate) fn allow(lists: impl IntoIterator<Item = (ObjectRef, String, AllowList)>) -> Change {
    let mut all = AllowLists::new();
    for (config, auth_id, list) in lists {
        all.entry(config).or_default().insert(auth_id, list);
    }
    Change::Allow(all)
}

/// Who wants which tables.
pub(crate) fn wanted(roles: &[(&str, &[&str])]) -> Wanted {
    let owned = |(role, tables): &(&str, &[&str])| {
        (String::from(*role), tables.iter().map(|table| String::from(*table)).collect())
    };
    roles.iter().map(owned).collect()
}

/// A record as text. One with times in it begins with bytes that are none.
pub(crate) fn text(record: impl AsRef<[u8]>) -> String {
    let record = record.as_ref();
    String::from_utf8(record.to_vec()).unwrap_or_else(|_| record.escape_ascii().to_string())
}

/// The entries of a table, and that its version fits them.
pub(crate) fn entries(table: &Table) -> Entries {
    assert_eq!(table.version().checksum, checksum(table.iter()));
    assert!(table.iter().map(|(digest, _)| digest).is_sorted_by(|one, next| one < next));
    table.iter().map(|(digest, record)| (*digest, text(record))).collect()
}

/// The checksum of entries, by its definition.
pub(crate) fn checksum<'a>(entries: impl Iterator<Item = (&'a Digest, &'a [u8])>) -> u64 {
    entries.fold(0, |sum, (digest, record)| sum.wrapping_add(entry_hash(digest, record)))
}

/// A version that no table here ever has.
pub(crate) fn foreign() -> Version {
    Version { revision: 7, checksum: 7 }
}

/// One random change: few names, few labels and few keys, so that they meet.
pub(crate) fn change() -> impl Strategy<Value = Change> {
    let name = select(&SECRETS[..]);
    let labels = select(&LABELS[..]);
    let problem = select(vec![KeyProblem::Missing, KeyProblem::Empty, KeyProblem::ExpiresAt]);
    let refs = subsequence(&SECRETS[..], 0..=3);
    prop_oneof![
        8 => (name.clone(), labels.clone(), 1..=4_u8, 0..4_u64).prop_map(|(name, labels, key, held_since)| {
            Change::PutSecret(ApiKeySecret { held_since, ..secret(name, labels, key) })
        }),
        4 => (name.clone(), labels.clone(), 5..=255_u8).prop_map(|(name, labels, key)| put(name, labels, key)),
        4 => (name.clone(), labels.clone(), 1..=4_u8, 1..=3_u8, (1..4_u64, 0..4_u64)).prop_map(
            |(name, labels, key, by, (end, held_since))| {
                // Another one of the same four, mostly somebody else's too.
                let mut secret = rotated(name, labels, key, 1 + (key - 1 + by) % 4, end * 1_000);
                secret.previous.iter_mut().for_each(|previous| previous.held_since = held_since);
                Change::PutSecret(secret)
            },
        ),
        2 => (0..4_u64).prop_map(|now| Change::Time(now * 1_000)),
        1 => (name.clone(), labels.clone(), problem)
            .prop_map(|(name, labels, problem)| Change::PutSecret(broken(name, labels, problem))),
        4 => name.prop_map(delete),
        3 => (select(&CONFIGS[..]), labels, refs)
            .prop_map(|(name, labels, refs)| put_config(name, labels, &refs)),
        // More than by chance select the same.
        3 => (select(&CONFIGS[..]), select(&LABELS[..])).prop_map(|(name, labels)| put_config(name, labels, &[])),
        1 => select(&CONFIGS[..]).prop_map(delete_config),
        1 => subsequence(&["a", "b"][..], 0..=2).prop_map(|namespaces| watch(&namespaces)),
        1 => Just(Change::Watch(None)),
        2 => vec((select(&CONFIGS[..]), select(&SECRETS[..]), select(&LABELS[..])), 0..=3).prop_map(|lists| {
            let lists: Vec<_> = lists.iter().map(|(config, secret, labels)| list(config, secret, labels)).collect();
            allow(lists)
        }),
    ]
}

/// Random changes that come in one batch.
pub(crate) fn batch() -> impl Strategy<Value = Vec<Change>> {
    vec(change(), 1..10)
}

/// Random tables that a role wants, one of which never exists.
pub(crate) fn tables() -> impl Strategy<Value = BTreeSet<String>> {
    let names = [&CONFIGS[..], &["b/none"]].concat();
    btree_set(select(names).prop_map(str::to_owned), 0..=4)
}

fn meta(name: &str, labels: &str) -> Meta {
    let id = id(name);
    Meta {
        namespace: id.namespace,
        name: id.name,
        labels: pairs(labels),
        resource_version: 0,
        created: 0,
        generation: 0,
        creation_timestamp: String::new(),
    }
}

fn pairs(labels: &str) -> BTreeMap<String, String> {
    let pair = |label: &str| label.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    labels.split(',').filter_map(pair).collect()
}

// === impl Objects ===

impl Objects {
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::PutSecret(secret) => {
                self.secrets.insert(secret.meta.object_ref(), secret);
            }
            Change::DeleteSecret(id) => {
                self.secrets.remove(&id);
            }
            Change::PutAuthConfig(config) => {
                self.configs.insert(config.meta.object_ref(), config);
            }
            Change::DeleteAuthConfig(id) => {
                self.configs.remove(&id);
            }
            Change::Watch(namespaces) => self.watched = namespaces,
            Change::Allow(lists) => self.lists = lists,
            Change::Time(now) => self.now = self.now.max(now),
        }
    }

    /// All of them as one batch, as a server that starts reads them.
    pub(crate) fn all(&self) -> Vec<Change> {
        let secrets = self.secrets.values().cloned().map(Change::PutSecret);
        let configs = self.configs.values().cloned().map(Change::PutAuthConfig);
        let others =
            [Change::Watch(self.watched.clone()), Change::Allow(self.lists.clone()), Change::Time(self.now)];
        secrets.chain(configs).chain(others).collect()
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &ApiKeySecret> {
        self.secrets.values()
    }

    pub(crate) fn configs(&self) -> impl Iterator<Item = (&ObjectRef, &AuthConfig)> {
        self.configs.iter()
    }

    /// All tables that there should be.
    pub(crate) fn tables(&self) -> BTreeMap<String, Entries> {
        let tables =
            self.configs.iter().filter(|(_, config)| !config.steps[0].api_key_auth.selects_nothing());
        let mut all = BTreeMap::new();
        for (id, config) in tables {
            all.insert(id.to_string(), self.entries(config));
            for (auth_id, list) in self.lists.get(id).into_iter().flatten() {
                all.insert(auth_id.clone(), self.listed(config, list));
            }
        }
        all
    }

    /// What there is to say about an `AuthConfig`.
    pub(crate) fn facts(&self, config: &AuthConfig) -> Facts {
        let mut facts = Facts::default();
        for secret in self.selected(config) {
            facts.selected += 1;
            if secret.key.is_err_and(KeyProblem::is_refused) {
                facts.unreadable.push(secret.meta.object_ref());
            }
        }
        for (digest, holders) in self.holders(config) {
            let holding = holders.into_iter().filter(|(is_over, ..)| !is_over);
            let holding: Vec<ObjectRef> = holding.map(|(.., secret)| secret.meta.object_ref()).collect();
            if holding.len() > 1 {
                facts.shared.insert(digest, holding);
            }
        }
        let refs = config.steps[0].api_key_auth.secret_refs.iter();
        let known = |id: &ObjectRef| self.secrets.contains_key(id) && self.watches(id);
        facts.missing = refs.filter(|id| !known(id)).cloned().collect();
        facts
    }

    /// Whether the namespace of an object is watched.
    pub(crate) fn watches(&self, id: &ObjectRef) -> bool {
        self.watched.as_ref().is_none_or(|namespaces| namespaces.contains(&id.namespace))
    }

    fn entries(&self, config: &AuthConfig) -> Entries {
        let record = |(digest, holders): (Digest, Vec<Holding<'_>>)| {
            let (.., secret) = holders.first().expect("somebody holds it");
            let previous = secret.previous.filter(|previous| cut(previous.key) == digest);
            let life = Life { expires_at: previous.map(|previous| previous.expires_at), ..Life::default() };
            (digest, text(record::pack(life, &secret.meta.name, [])))
        };
        self.holders(config).into_iter().map(record).collect()
    }

    /// Who holds each key that is selected; in front is whose it is.
    fn holders(&self, config: &AuthConfig) -> BTreeMap<Digest, Vec<Holding<'_>>> {
        let mut holders: BTreeMap<Digest, Vec<Holding<'_>>> = BTreeMap::new();
        for secret in self.selected(config) {
            let previous = secret.previous.map(|it| (it.key, it.expires_at <= self.now, it.held_since));
            let present = secret.key.ok().map(|key| (key, false, secret.held_since));
            for (key, is_over, since) in present.into_iter().chain(previous) {
                holders.entry(cut(key)).or_default().push((is_over, since, secret));
            }
        }
        // Those who are alike stay sorted by namespace and name.
        holders
            .values_mut()
            .for_each(|holders| holders.sort_by_key(|(is_over, since, _)| (*is_over, *since)));
        holders
    }

    /// Of the keys of an `AuthConfig` those whose owner is on a list.
    fn listed(&self, config: &AuthConfig, list: &AllowList) -> Entries {
        let holders = self.holders(config).into_iter();
        let mut owners: BTreeMap<Digest, &ApiKeySecret> =
            holders.filter_map(|(digest, holders)| Some((digest, holders.first()?.2))).collect();
        let allowed = |owner: &ApiKeySecret| {
            let has = |(name, value)| owner.meta.labels.get(name) == Some(value);
            list.identities.contains(&owner.meta.name)
                || (!list.labels.is_empty() && list.labels.iter().all(has))
        };
        owners.retain(|_, owner| allowed(owner));
        owners.into_iter().map(|(digest, owner)| (digest, owner.meta.name.clone())).collect()
    }

    /// By namespace and name.
    fn selected(&self, config: &AuthConfig) -> impl Iterator<Item = &ApiKeySecret> {
        let auth = &config.steps[0].api_key_auth;
        self.secrets
            .iter()
            .filter(|(id, _)| self.watches(id))
            .filter(|(id, secret)| {
                let labels = &auth.label_selector;
                let by_labels = labels.iter().all(|label| secret.meta.labels.iter().any(|it| it == label));
                !labels.is_empty() && by_labels || auth.secret_refs.contains(id)
            })
            .map(|(_, secret)| secret)
    }
}

fn cut(sha256: [u8; 32]) -> Digest {
    *sha256.first_chunk().expect("a digest is shorter than a SHA-256")
}
