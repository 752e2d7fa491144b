//! The hook before a write: does the object go together with the others?

use futures::future::BoxFuture;
use keyward_resource::{ApiStatus, Kind};
use keyward_store::{Key, Revision};
use serde_json::Value;

use crate::stored::Stored;
use crate::writer::{Current, Writer};

/// A change that is well in itself and is not made yet. Not to be printed: it may be of a Secret.
#[derive(Clone, Copy)]
pub struct Proposed<'a> {
    /// The kind of the object.
    pub kind: &'static Kind,
    /// The object.
    pub key: &'a Key,
    /// The change that created it; none when this one does.
    pub created: Option<Revision>,
    /// What it would be; none when it would be gone.
    pub object: Option<&'a Value>,
}

/// Has the last word on every change that people make of an object, also in a dry run; not on statuses,
/// and not on what goes together with a namespace, which is one change.
pub trait Review: Send + Sync {
    /// Decides about a change. It is asked again when somebody else was quicker with another one.
    fn review<'a>(&'a self, proposed: Proposed<'a>) -> BoxFuture<'a, Result<(), ApiStatus>>;
}

// === impl Writer ===

impl Writer {
    /// Whether an object may be created.
    pub(crate) async fn review_new(
        &self,
        kind: &'static Kind,
        key: &Key,
        new: &Stored,
    ) -> Result<(), ApiStatus> {
        self.review(Proposed { kind, key, created: None, object: Some(&new.object) }).await
    }

    /// Whether an object may become another one, or go when that is none.
    pub(crate) async fn review_next(
        &self,
        kind: &'static Kind,
        current: &Current,
        next: Option<&Stored>,
    ) -> Result<(), ApiStatus> {
        let key = &current.record.key;
        let object = next.map(|next| &next.object);
        self.review(Proposed { kind, key, created: Some(current.record.created), object }).await
    }

    async fn review(&self, proposed: Proposed<'_>) -> Result<(), ApiStatus> {
        match &self.review {
            Some(review) => review.review(proposed).await,
            None => Ok(()),
        }
    }
}
