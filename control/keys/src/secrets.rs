//! The Secrets, by name and by digest.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use keyward_filter_core::life::Life;
use keyward_filter_core::record;
use keyward_filter_core::wire::{DIGEST_LEN, Digest};
use keyward_resource::ObjectRef;
use keyward_resource::kinds::secret::{ApiKeySecret, KeyLife, KeyProblem, PreviousKey, SecretValue};

use crate::table::Record;

/// So many entries are named in one sentence.
const MANY: usize = 10;

/// What the index keeps of a Secret.
#[derive(PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) id: ObjectRef,
    /// The revision that created it.
    pub(crate) created: u64,
    /// The record of its present key without metadata.
    bare: Record,
    /// The entries beside the key, sorted by name; without the value where no header can carry it. Most
    /// Secrets have none.
    metadata: Box<[Datum]>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) key: Result<Digest, KeyProblem>,
    /// The revision with which its present key came into it.
    since: u64,
    /// The key before the present one. Few have one.
    previous: Option<Box<Previous>>,
    pub(crate) trailing_newline: bool,
}

/// The key before the present one.
#[derive(PartialEq, Eq)]
struct Previous {
    key: Digest,
    since: u64,
    /// In milliseconds since 1970.
    expires_at: u64,
    bare: Record,
}

/// How early a Secret has one of its keys: of several that hold the same the lowest has it.
///
/// Who held it first has it, whatever the name, and also while it is disabled, expired or not yet valid there:
/// what somebody has stopped is not for somebody else to start again. Only a previous key whose overlap is over
/// comes behind all others: its Secret has let go of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank<'a> {
    is_over: bool,
    since: u64,
    created: u64,
    id: &'a ObjectRef,
}

/// A name and its value.
type Datum = (Box<str>, Option<Box<[u8]>>);

/// All Secrets. A million of them are at home here, so each is kept once.
///
/// Those of namespaces that are not watched are only kept for the day on which they are: but for
/// [`is_unwatched`](Self::is_unwatched) they are not there.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    by_id: BTreeSet<ById>,
    by_digest: HashMap<Digest, Holders>,
    /// The keys that several hold.
    contested: BTreeSet<Digest>,
    /// The time, in milliseconds since 1970, as far as it was told.
    now: u64,
    unwatched: BTreeSet<ById>,
    /// `None` when all are.
    namespaces: Option<BTreeSet<String>>,
}

/// A Secret, known and sorted by its namespace and name.
#[derive(Debug, Clone)]
struct ById(Arc<Secret>);

/// The Secrets that hold the same key; one, except by mistake.
#[derive(Debug)]
enum Holders {
    One(ById),
    Many(BTreeSet<ById>),
}

fn life(secret: &ApiKeySecret) -> Life {
    let KeyLife { not_before, expires_at, disabled } = secret.life;
    Life { not_before, expires_at, disabled, any_shape: secret.any_shape }
}

/// The key before the present one began long ago, ends by itself, and is refused with the present one.
fn life_of_previous(secret: &ApiKeySecret, previous: &PreviousKey) -> Life {
    let PreviousKey { expires_at, any_shape, .. } = *previous;
    Life { not_before: None, expires_at: Some(expires_at), disabled: secret.life.disabled, any_shape }
}

fn cut(sha256: &[u8; 32]) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&sha256[..DIGEST_LEN]);
    digest
}

fn carried((name, value): (&String, &SecretValue)) -> Datum {
    (name.as_str().into(), value.header_value().map(Into::into))
}

// === impl Secret ===

impl Secret {
    /// The entry of this name, if there is one that a header can carry.
    pub(crate) fn metadata(&self, name: &str) -> Option<&[u8]> {
        let at = self.metadata.binary_search_by(|(other, _)| other.as_ref().cmp(name)).ok()?;
        self.metadata.get(at)?.1.as_deref()
    }

    /// The keys that it holds, first the present one; none where that is of no use.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Digest> {
        let previous = self.previous.as_ref().map(|previous| previous.key);
        self.key.into_iter().flat_map(move |key| [Some(key), previous]).flatten()
    }

    /// The record of one of its keys without metadata, in the form in which tables share it.
    pub(crate) fn bare(&self, key: &Digest) -> &Record {
        self.previous(key).map_or(&self.bare, |previous| &previous.bare)
    }

    /// Its previous key, if this is the one.
    fn previous(&self, key: &Digest) -> Option<&Previous> {
        self.previous.as_deref().filter(|previous| previous.key == *key && self.key != Ok(*key))
    }

    /// How early it has one of its keys, at a time.
    pub(crate) fn rank(&self, key: &Digest, now: u64) -> Rank<'_> {
        let is_over = self.previous(key).is_some_and(|previous| previous.expires_at <= now);
        Rank { is_over, since: self.since(key), created: self.created, id: &self.id }
    }

    /// The revision with which one of its keys came into it.
    pub(crate) fn since(&self, key: &Digest) -> u64 {
        self.previous(key).map_or(self.since, |previous| previous.since)
    }

    /// The record of one of its keys that says whose it is and nothing else.
    pub(crate) fn named(&self, key: &Digest) -> Record {
        let bare = self.bare(key);
        let name = self.id.name.as_str();
        if **bare == *name.as_bytes() { Arc::clone(bare) } else { name.as_bytes().into() }
    }

    /// Why its key is of no use; none where it is.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = self.key.err()?;
        let untold = self.metadata.iter().filter(|(_, value)| value.is_none());
        let untold: Vec<String> = untold.map(|(name, _)| format!("data.{name}")).take(MANY).collect();
        Some(match problem {
            KeyProblem::Metadata if !untold.is_empty() => format!("{problem}: {}", untold.join(", ")),
            _ => problem.to_string(),
        })
    }

    /// Whether it holds what no Secret can be written with: whoever reads the status of an `AuthConfig` has
    /// to know.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.key.is_err_and(KeyProblem::is_refused)
    }
}

impl From<ApiKeySecret> for Secret {
    fn from(secret: ApiKeySecret) -> Self {
        let previous = secret.previous.as_ref().map(|previous| {
            let bare = record::pack(life_of_previous(&secret, previous), &secret.meta.name, []).into();
            let PreviousKey { key, held_since: since, expires_at, .. } = previous;
            Box::new(Previous { key: cut(key), since: *since, expires_at: *expires_at, bare })
        });
        Self {
            previous,
            bare: record::pack(life(&secret), &secret.meta.name, []).into(),
            metadata: secret.metadata.iter().map(carried).collect(),
            id: secret.meta.object_ref(),
            created: secret.meta.created,
            since: secret.held_since,
            labels: secret.meta.labels,
            key: secret.key.map(|sha256| cut(&sha256)),
            trailing_newline: secret.trailing_newline,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secret").field(&self.id).finish()
    }
}

// === impl Secrets ===

impl Secrets {
    pub(crate) fn get(&self, id: &ObjectRef) -> Option<&Arc<Secret>> {
        self.by_id.get(id).map(|secret| &secret.0)
    }

    /// The revision that created one, watched or not.
    pub(crate) fn created(&self, id: &ObjectRef) -> Option<u64> {
        self.by_id.get(id).or_else(|| self.unwatched.get(id)).map(|secret| secret.0.created)
    }

    /// All of them, by namespace and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Secret>> {
        self.by_id.iter().map(|secret| &secret.0)
    }

    /// The Secrets that hold a key, by [`Rank`].
    pub(crate) fn holders(&self, digest: &Digest) -> impl Iterator<Item = &Arc<Secret>> {
        let (one, mut many) = match self.by_digest.get(digest) {
            None => (None, Vec::new()),
            Some(Holders::One(one)) => (Some(&one.0), Vec::new()),
            Some(Holders::Many(many)) => (None, many.iter().map(|secret| &secret.0).collect()),
        };
        many.sort_by(|one, other| one.rank(digest, self.now).cmp(&other.rank(digest, self.now)));
        one.into_iter().chain(many)
    }

    /// Whether a Secret has let go of a key of its own: its overlap is over.
    pub(crate) fn is_over(&self, secret: &Secret, digest: &Digest) -> bool {
        secret.rank(digest, self.now).is_over
    }

    /// It is as late as this, in milliseconds since 1970. The keys that somebody else may have now; a clock
    /// that was set back changes nothing.
    pub(crate) fn pass(&mut self, now: u64) -> Vec<Digest> {
        let before = self.now;
        self.now = before.max(now);
        let ended = |digest: &&Digest| self.ends(digest).any(|end| before < end && end <= self.now);
        self.contested.iter().filter(ended).copied().collect()
    }

    /// When the next key that several hold ends for one of them. Costs time in the number of such keys.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.contested.iter().flat_map(|digest| self.ends(digest)).filter(|end| *end > self.now).min()
    }

    /// When a key ends that is somebody's previous one.
    fn ends(&self, digest: &Digest) -> impl Iterator<Item = u64> {
        self.holders(digest).filter_map(|secret| Some(secret.previous(digest)?.expires_at))
    }

    /// Whether a namespace is watched.
    pub(crate) fn watches(&self, namespace: &str) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.contains(namespace))
    }

    /// Whether there is such a Secret, in a namespace that is not watched.
    pub(crate) fn is_unwatched(&self, id: &ObjectRef) -> bool {
        self.unwatched.contains(id)
    }

    /// Those that are only kept.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = &ObjectRef> {
        self.unwatched.iter().map(|secret| &secret.0.id)
    }

    /// Has the Secrets of these namespaces and no others; `None` means all. Whether that is another
    /// choice than before.
    pub(crate) fn watch(&mut self, namespaces: Option<BTreeSet<String>>) -> bool {
        if self.namespaces == namespaces {
            return false;
        }
        self.namespaces = namespaces;
        let gone: Vec<ById> =
            self.by_id.iter().filter(|secret| !self.watches(&secret.0.id.namespace)).cloned().collect();
        let back: Vec<ById> =
            self.unwatched.iter().filter(|secret| self.watches(&secret.0.id.namespace)).cloned().collect();
        for secret in &gone {
            self.remove(&secret.0.id);
        }
        for secret in &back {
            self.unwatched.remove(secret);
        }
        self.unwatched.extend(gone);
        for secret in back {
            self.put(secret.0);
        }
        true
    }

    /// Adds a Secret in place of the one with the same name, which is returned.
    pub(crate) fn put(&mut self, secret: Arc<Secret>) -> Option<Arc<Secret>> {
        let before = self.remove(&secret.id);
        let secret = ById(secret);
        if !self.watches(&secret.0.id.namespace) {
            self.unwatched.insert(secret);
            return before;
        }
        for digest in secret.0.keys() {
            match self.by_digest.entry(digest) {
                Entry::Vacant(vacant) => drop(vacant.insert(Holders::One(secret.clone()))),
                Entry::Occupied(mut holders) => {
                    holders.get_mut().add(secret.clone());
                    self.contested.insert(digest);
                }
            }
        }
        self.by_id.insert(secret);
        before
    }

    /// Removes a Secret, which is returned if it was there.
    pub(crate) fn remove(&mut self, id: &ObjectRef) -> Option<Arc<Secret>> {
        self.unwatched.remove(id);
        let before = self.by_id.take(id)?.0;
        for digest in before.keys() {
            let left = self.by_digest.get_mut(&digest).map_or(0, |holders| holders.remove(id));
            if left == 0 {
                self.by_digest.remove(&digest);
            }
            if left < 2 {
                self.contested.remove(&digest);
            }
        }
        Some(before)
    }
}

// === impl Holders ===

impl Holders {
    fn add(&mut self, secret: ById) {
        match self {
            Self::One(one) => *self = Self::Many(BTreeSet::from([one.clone(), secret])),
            Self::Many(many) => {
                many.insert(secret);
            }
        }
    }

    /// Takes one out; how many are left.
    fn remove(&mut self, id: &ObjectRef) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(many) => {
                many.remove(id);
                many.len()
            }
        }
    }
}

// === impl ById ===

impl Borrow<ObjectRef> for ById {
    fn borrow(&self) -> &ObjectRef {
        &self.0.id
    }
}

impl PartialEq for ById {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for ById {}

impl PartialOrd for ById {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ById {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.id.cmp(&other.0.id)
    }
}
