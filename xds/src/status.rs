//! How clients stand, for whoever asks.

use crate::text::printable;
use std::{sync::Arc, time::SystemTime};

/// So many bytes of the id of a node are shown, and tell it from others.
const MAX_NODE_ID: usize = 512;

/// A connected client.
#[derive(Clone, Debug)]
pub struct ClientStatus {
    /// Who it is.
    pub client: ClientId,
    /// The stream, unique within the service's life. A client may have two for a moment.
    pub stream: u64,
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// Since when, by the clock given to the service; nothing without one.
    pub since: Option<SystemTime>,
    /// Name and version of its software, as far as it says: `envoy 1.38.3`. At most 128 bytes, printable.
    pub agent: Option<Arc<str>>,
    /// Where its snapshot comes from.
    pub source: Source,
    /// The version of the snapshot that it is being brought to.
    pub snapshot: Option<Arc<str>>,
    /// Whether something newer was published that its stream has not looked at yet.
    pub behind: bool,
    /// It has come back, and has neither asked for everything again that it had asked for on its stream before, nor
    /// had the [time](crate::AdsServiceBuilder::resume_grace) to: what it holds of the rest is not known.
    pub resuming: bool,
    /// How each type stands that it has asked for.
    pub types: Vec<TypeStatus>,
}

/// Who a client is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId {
    /// The id of its node, as [printable](crate::printable) text of at most 512 bytes.
    pub node_id: Arc<str>,
    /// The key that says which snapshot is for it.
    pub node_key: Arc<str>,
}

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Incremental.
    Delta,
    /// State of the world.
    Sotw,
}

/// Where a client's snapshot comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was published for the client's node key.
    Own,
    /// Nothing was published for the key; this is the fallback for unknown nodes.
    Fallback,
    /// Nothing was published for the key and there is no fallback: the client waits.
    Nothing,
}

/// How one type stands with one client.
#[derive(Clone, Debug)]
pub struct TypeStatus {
    /// The type.
    pub type_url: Arc<str>,
    /// Whether everything of the type is subscribed to.
    pub wildcard: bool,
    /// The number of names subscribed to by name.
    pub names: usize,
    /// The number of resources that the client is known to hold.
    pub held: usize,
    /// The version of the last response sent.
    pub sent: Option<Arc<str>>,
    /// The version of the last response accepted.
    pub acked: Option<Arc<str>>,
    /// Whether a response waits for its answer.
    pub unanswered: bool,
    /// Whether something waits for its turn to be sent.
    pub waiting: bool,
    /// What the client refuses of the present snapshot.
    pub rejected: Vec<RejectedResource>,
    /// Since when it stands as it does, by the clock given to the service; nothing without one.
    pub since: Option<SystemTime>,
}

/// How a type stands with a client, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The client refuses something of the present snapshot.
    Refused,
    /// It was sent nothing yet.
    NotSent,
    /// It has not answered to what is newer.
    Stale,
    /// It has accepted everything.
    Synced,
}

/// A resource whose present version a client refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedResource {
    /// The resource's name.
    pub name: Arc<str>,
    /// The refused version.
    pub version: Arc<str>,
    /// The client's own words.
    pub message: Arc<str>,
}

// === impl ClientStatus ===

impl ClientStatus {
    /// Whether the client has accepted everything that its snapshot has for it.
    pub fn in_sync(&self) -> bool {
        self.has_answered() && self.types.iter().all(TypeStatus::in_sync)
    }

    /// Whether the client has answered to everything that its snapshot has for it, be it with a refusal.
    pub fn has_answered(&self) -> bool {
        let is_told = self.source != Source::Nothing && !self.behind && !self.resuming;
        is_told && self.types.iter().all(TypeStatus::has_answered)
    }

    /// The types that it asks for something of.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Arc<str>> {
        let asked = self.types.iter().filter(|one_type| one_type.wildcard || one_type.names > 0);
        asked.map(|one_type| one_type.type_url.clone())
    }
}

// === impl ClientId ===

impl ClientId {
    /// The client with this id of its node, as it says it, and this key.
    pub fn new(node_id: &str, node_key: &str) -> Self {
        Self { node_id: printable(node_id, MAX_NODE_ID).into(), node_key: node_key.into() }
    }
}

// === impl TypeStatus ===

impl TypeStatus {
    /// Whether the client has accepted everything that its snapshot has for it of this type.
    pub fn in_sync(&self) -> bool {
        self.has_answered() && self.rejected.is_empty()
    }

    fn has_answered(&self) -> bool {
        !self.unanswered && !self.waiting
    }

    /// How it stands, as far as its stream has looked at the snapshot.
    pub fn standing(&self) -> Standing {
        if !self.rejected.is_empty() {
            Standing::Refused
        } else if self.sent.is_none() {
            Standing::NotSent
        } else if self.in_sync() {
            Standing::Synced
        } else {
            Standing::Stale
        }
    }
}
