//! The trait that every store implements.

use async_trait::async_trait;

use crate::error::StoreError;
use crate::record::{Body, Key, Record, Revision, Selector};
use crate::watch::Watch;

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, ascending by key.
    pub records: Vec<Record>,
    /// The revision of the store that this page shows. A list of several pages shows one moment when
    /// the further pages are listed at the revision of the first.
    pub revision: Revision,
    /// Objects follow after the last one of this page.
    pub more: bool,
}

/// Keeps objects, and every change of them in one sequence.
///
/// All methods may be called from many tasks at once. A write that was answered is durable and
/// visible to every later call. A call that is dropped half-way may or may not have taken place.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Creates an object.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`].
    async fn create(&self, key: Key, body: Body) -> Result<Record, StoreError>;

    /// Replaces an object, only if it still stands at `expected` where that is given.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Conflict`].
    async fn update(&self, key: Key, expected: Option<Revision>, body: Body) -> Result<Record, StoreError>;

    /// Deletes an object, only if it still stands at `expected` where that is given, and returns
    /// the revision of the deletion and what the object was.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Conflict`].
    async fn delete(&self, key: Key, expected: Option<Revision>) -> Result<(Revision, Record), StoreError>;

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`] when the storage fails.
    async fn get(&self, key: Key) -> Result<Option<Record>, StoreError>;

    /// Lists objects in the order of their keys: at most `limit` of them (all when `None`), after
    /// the object `after`, which need not exist any more.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`] when the storage fails.
    async fn list(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Page, StoreError>;

    /// Lists objects as they stood at a revision; otherwise as [`list`](Self::list).
    ///
    /// # Errors
    ///
    /// [`StoreError::Compacted`], [`StoreError::Future`].
    async fn list_at(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Revision,
    ) -> Result<Page, StoreError>;

    /// Every change after `from`, in order, in batches that are never empty, without end. A
    /// watcher may be as slow as it likes: the store holds nothing for it but a place in the log,
    /// and a compaction that overtakes it ends the watch with [`StoreError::Compacted`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Compacted`], [`StoreError::Future`].
    async fn watch(&self, from: Revision) -> Result<Watch, StoreError>;

    /// The revision of the last change.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`] when the storage fails.
    async fn revision(&self) -> Result<Revision, StoreError>;

    /// Forgets the changes that only a watch from before `keep_from` would need; a watch from
    /// `keep_from` or later still works. What exists stays. A revision in the future counts as the
    /// present one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`] when the storage fails.
    async fn compact(&self, keep_from: Revision) -> Result<(), StoreError>;
}
