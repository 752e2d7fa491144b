//! Since when a Secret holds its keys: of several Secrets with one key, who held it first has it.
//!
//! That is kept beside the Secret, since neither an edit nor a restart may make a key older or younger than it
//! is there: otherwise whoever writes another one's key into an older Secret of theirs would take it over.

use keyward_resource::{Resource, decode, kind};
use keyward_store::Revision;
use serde_json::{Map, Value};

use crate::writer::Current;

/// The changes that brought the keys of a Secret into it; none where that is the change that wrote this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tenure {
    pub(crate) present: Option<Revision>,
    pub(crate) previous: Option<Revision>,
}

const PRESENT: &str = "present";
const PREVIOUS: &str = "previous";

/// The present key of an object and the one before it, as far as it holds any.
fn keys(object: &Value) -> (Option<[u8; 32]>, Option<[u8; 32]>) {
    match kind::by_name("Secret").map(|kind| decode(kind, object)) {
        Some(Ok(Resource::ApiKeySecret(secret))) => {
            (secret.key.ok(), secret.previous.map(|previous| previous.key))
        }
        _ => (None, None),
    }
}

// === impl Tenure ===

impl Tenure {
    /// What is to be kept with the next state of an object: nothing of what is no Secret, and nothing where all
    /// keys are there since it was created.
    pub(crate) fn next(current: &Current, object: &Value) -> Option<Self> {
        let Current { record, stored } = current;
        if record.key.kind != "Secret" {
            return None;
        }
        let before = keys(&stored.object);
        let held = stored.keys_since(record);
        let since = |key: &[u8; 32]| match key {
            key if before.0 == Some(*key) => Some(held.0),
            key if before.1 == Some(*key) => Some(held.1),
            _ => None,
        };
        let (present, previous) = keys(object);
        let is_new = |key: &[u8; 32]| since(key) != Some(record.created);
        let is_any_new = present.iter().chain(&previous).any(is_new);
        is_any_new.then(|| Self {
            present: present.as_ref().and_then(since),
            previous: previous.as_ref().and_then(since),
        })
    }

    pub(crate) fn read(stored: &Value) -> Option<Self> {
        let fields = stored.as_object()?;
        let revision = |name: &str| fields.get(name).and_then(Value::as_u64).map(Revision);
        Some(Self { present: revision(PRESENT), previous: revision(PREVIOUS) })
    }

    pub(crate) fn stored(self) -> Value {
        let parts = [(PRESENT, self.present), (PREVIOUS, self.previous)];
        let known = parts.into_iter().filter_map(|(name, since)| Some((name.to_owned(), since?.0.into())));
        known.collect::<Map<_, _>>().into()
    }
}
