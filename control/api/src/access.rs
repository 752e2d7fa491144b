//! The two hooks around every request: may they, and who did it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use keyward_resource::{ApiStatus, Kind};
use keyward_store::{Key, Revision};

use crate::sight::Sight;

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object, or a document about the API.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object, or apply it.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete many.
    DeleteCollection,
}

/// A request, before anything of it is done.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// What is wanted.
    pub verb: Verb,
    /// The kind that it is about; none for documents about the API.
    pub kind: Option<&'static Kind>,
    /// The namespace, unless all are meant or the kind has none.
    pub namespace: Option<&'a str>,
    /// The object, if it is about one.
    pub name: Option<&'a str>,
    /// The path.
    pub path: &'a str,
    /// The headers, with the credentials.
    pub headers: &'a HeaderMap,
    /// Where it comes from, if the server that accepted the connection says so
    /// (`ConnectInfo<SocketAddr>` among the extensions of the request).
    pub peer: Option<SocketAddr>,
}

/// Who it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// A name for the audit log.
    pub name: Arc<str>,
    /// Where they came from.
    pub peer: Option<SocketAddr>,
    /// What they may be told of.
    pub sight: Sight,
}

/// Decides who may do what.
pub trait Authorizer: Send + Sync + 'static {
    /// Lets somebody do what they want, and says who it is.
    ///
    /// # Errors
    ///
    /// The answer to whoever may not: 401 without valid credentials, 403 with too little rights.
    fn authorize(&self, attempt: &Attempt<'_>) -> Result<Identity, ApiStatus>;
}

/// A change that has taken place.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Who made it.
    pub identity: &'a Identity,
    /// By what.
    pub verb: Verb,
    /// What was changed.
    pub key: &'a Key,
    /// The change.
    pub revision: Revision,
}

/// Is told of every change, once it is on disk.
pub trait Audit: Send + Sync + 'static {
    /// Notes a change. Must not block.
    fn changed(&self, change: &Change<'_>);
}

/// Lets everybody do everything: for a port that only its own machine reaches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Everybody;

/// Notes changes in the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditLog;

// === impl Verb ===

impl Verb {
    /// Whether it changes nothing.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }

    /// Whether it can be done with objects of a kind, by whoever may.
    pub(crate) fn is_served(self, kind: &Kind) -> bool {
        self.is_read() || !kind.is_written_by_server()
    }

    /// The word for it in Kubernetes' rules: `deletecollection`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

// === impl Identity ===

impl Identity {
    /// A part of this process.
    #[must_use]
    pub fn internal(name: &str) -> Self {
        Self { name: name.into(), peer: None, sight: Sight::EVERYWHERE }
    }
}

// === impl Everybody ===

impl Authorizer for Everybody {
    fn authorize(&self, attempt: &Attempt<'_>) -> Result<Identity, ApiStatus> {
        Ok(Identity { name: "anonymous".into(), peer: attempt.peer, sight: Sight::EVERYWHERE })
    }
}

// === impl AuditLog ===

impl Audit for AuditLog {
    fn changed(&self, change: &Change<'_>) {
        let peer = change.identity.peer.map_or_else(String::new, |peer| peer.to_string());
        tracing::info!(
            who = %change.identity.name, %peer, verb = change.verb.as_str(), object = %change.key,
            revision = change.revision.0, "changed"
        );
    }
}
