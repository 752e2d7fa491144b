//! The API as a part of a server: what its handlers need, and their routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use keyward_resource::Kind;
use keyward_store::{Key, Revision, Store};
use serde_json::Value;

use crate::access::{Authorizer, Identity};
use crate::confirm::Confirm;
use crate::dispatch;
use crate::request::MAX_BODY;
use crate::sight::Sight;
use crate::stored::Stored;
use crate::target::Target;
use crate::writer::{Writer, Written};

/// What is said of objects that have no stored status: every Secret, and whatever nobody has
/// written a status for yet.
pub trait Statuses: Send + Sync + 'static {
    /// The status to show of what is stored at this revision, if there is one.
    fn status(&self, kind: &'static Kind, key: &Key, revision: Revision, stored: &Stored) -> Option<Value>;
}

/// The resource API.
#[derive(Clone)]
pub struct Api {
    pub(crate) writer: Writer,
    pub(crate) statuses: Arc<dyn Statuses>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) confirm: Option<Arc<dyn Confirm>>,
    pub(crate) beside: Arc<[&'static str]>,
    /// What whoever asks may be told of.
    pub(crate) sight: Sight,
}

// === impl Api ===

impl Api {
    /// An API that writes with this writer and reads from its store.
    pub fn new(writer: Writer, statuses: Arc<dyn Statuses>, authorizer: Arc<dyn Authorizer>) -> Self {
        Self { writer, statuses, authorizer, confirm: None, beside: Arc::default(), sight: Sight::EVERYWHERE }
    }

    /// The same, with somebody to ask whether what was written has arrived. Without, nobody is waited for.
    #[must_use]
    pub fn confirmed_by(self, confirm: Arc<dyn Confirm>) -> Self {
        Self { confirm: Some(confirm), ..self }
    }

    /// The same on a port with these paths beside it, which `/` lists too.
    #[must_use]
    pub fn beside(self, paths: &[&'static str]) -> Self {
        Self { beside: paths.into(), ..self }
    }

    /// Everything: resources, discovery, OpenAPI. Answers every path that no other route takes.
    pub fn router(self) -> Router {
        Router::new().fallback(dispatch::dispatch).layer(DefaultBodyLimit::max(MAX_BODY)).with_state(self)
    }

    /// The same, for somebody.
    pub(crate) fn seen_by(&self, identity: &Identity) -> Self {
        Self { sight: identity.sight.clone(), ..self.clone() }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.writer.store()
    }

    /// A stored object as its caller sees it: with its version and its status, in the group asked.
    pub(crate) fn shown(&self, target: &Target, key: &Key, revision: Revision, stored: Stored) -> Value {
        let status =
            stored.status.clone().or_else(|| self.statuses.status(target.kind, key, revision, &stored));
        stored.shown(target.kind, target.asked, self.told(status), Some(revision))
    }

    fn told(&self, mut status: Option<Value>) -> Option<Value> {
        if let Some(status) = &mut status {
            self.sight.value(status);
        }
        status
    }

    /// What a write has made of an object.
    pub(crate) fn outcome(&self, target: &Target, written: Written) -> Value {
        match written.revision {
            Some(revision) => self.shown(target, &written.key, revision, written.stored),
            None => {
                let status = self.told(written.stored.status.clone());
                written.stored.shown(target.kind, target.asked, status, None)
            }
        }
    }
}
