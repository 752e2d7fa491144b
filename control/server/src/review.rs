//! Refuses changes that would leave objects rejected, where the `Settings` demand it.
//!
//! ```text
//! Writer ─▶ Reviewer ─(Settings demand nothing)─▶ yes
//!               └─Question─▶ control loop: translates with the change ─Objections─▶ 403, or yes
//! ```
//!
//! Two changes that are reviewed at the same time and do not go together may both pass: the second one
//! is reported then, as without any review.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use keyward_api::{Proposed, Review};
use keyward_resource::kinds::secret::{KEY_TYPE, canonical_type};
use keyward_resource::{ApiStatus, Kind, ObjectKey};
use keyward_store::{Record, Revision, Store};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::published::Published;

/// How long an answer may take: it waits for the control loop to have seen all earlier changes.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon whoever got none should come back, in seconds.
const COME_BACK: u32 = 1;

/// Asks the control loop.
pub(crate) struct Reviewer {
    store: Arc<dyn Store>,
    published: watch::Receiver<Arc<Published>>,
    questions: mpsc::Sender<Question>,
}

/// What would be if a change were made. Not to be printed: it may be of a Secret.
pub(crate) struct Question {
    /// The changes up to this one are to be taken into account.
    pub(crate) as_of: Revision,
    /// What is to change.
    pub(crate) change: Hypothesis,
    /// Takes what there is to say against it.
    pub(crate) answer: oneshot::Sender<Vec<String>>,
}

/// A change that may never be made.
pub(crate) enum Hypothesis {
    /// An object is as it says. Its revisions count when they are known.
    Put(Record),
    /// An object is gone.
    Delete(ObjectKey),
    /// All objects of a namespace are gone.
    Empty(String),
}

/// What others see of the change, if translation sees anything of it.
fn hypothesis(proposed: &Proposed<'_>) -> Option<Hypothesis> {
    let Proposed { kind, key, created, object } = *proposed;
    match object {
        // Keys come and go without asking: a key that is to be revoked must not stay for tidiness.
        Some(object) if object["type"].as_str().map(canonical_type) == Some(KEY_TYPE) => None,
        Some(object) if is_translated(kind) => Some(Hypothesis::Put(Record {
            key: key.clone(),
            revision: Revision::default(),
            created: created.unwrap_or_default(),
            body: object.to_string().into_bytes().into(),
        })),
        None if is_translated(kind) => {
            Some(Hypothesis::Delete(ObjectKey::new(kind.name, &key.namespace, &key.name)))
        }
        None if kind.name == "Namespace" => Some(Hypothesis::Empty(key.name.clone())),
        _ => None,
    }
}

fn is_translated(kind: &Kind) -> bool {
    !matches!(kind.name, "Namespace" | "Proxy" | "RateLimitConfig")
}

fn unavailable() -> ApiStatus {
    ApiStatus::unavailable("the change could not be reviewed, which the Settings may demand", COME_BACK)
}

// === impl Reviewer ===

impl Reviewer {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        published: watch::Receiver<Arc<Published>>,
    ) -> (Self, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(1);
        (Self { store, published, questions }, asked)
    }

    /// Whether changes must be reviewed. That is not known before the first translation.
    async fn is_demanded(&self) -> Result<bool, ApiStatus> {
        if let Some(demanded) = self.published.borrow().reviews {
            return Ok(demanded);
        }
        let mut published = self.published.clone();
        let first = timeout(PATIENCE, published.wait_for(|published| published.reviews.is_some())).await;
        let first = first.map_err(|_| unavailable())?.map_err(|_| unavailable())?;
        Ok(first.reviews.unwrap_or(true))
    }

    async fn ask(&self, change: Hypothesis) -> Result<Vec<String>, ApiStatus> {
        let as_of = self.store.revision().await.map_err(|_| unavailable())?;
        let (answer, objections) = oneshot::channel();
        let question = Question { as_of, change, answer };
        self.questions.send(question).await.map_err(|_| unavailable())?;
        objections.await.map_err(|_| unavailable())
    }
}

impl Review for Reviewer {
    fn review<'a>(&'a self, proposed: Proposed<'a>) -> BoxFuture<'a, Result<(), ApiStatus>> {
        Box::pin(async move {
            if !self.is_demanded().await? {
                return Ok(());
            }
            let Some(change) = hypothesis(&proposed) else { return Ok(()) };
            let objections = timeout(PATIENCE, self.ask(change)).await.map_err(|_| unavailable())??;
            if objections.is_empty() {
                return Ok(());
            }
            Err(ApiStatus::refused(proposed.kind, &proposed.key.name, &objections))
        })
    }
}
