//! How clients stand, for whoever asks.

use std::{sync::Arc, time::SystemTime};

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
        self.source != Source::Nothing && !self.behind && self.types.iter().all(TypeStatus::in_sync)
    }
}

// === impl TypeStatus ===

impl TypeStatus {
    /// Whether the client has accepted everything that its snapshot has for it of this type.
    pub fn in_sync(&self) -> bool {
        !self.unanswered && !self.waiting && self.rejected.is_empty()
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
