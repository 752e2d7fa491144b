//! What a worker said, as others want to know it.

use keyward_filter_core::wire::{Digest, TableVersion, Usage, Version, uses};

use crate::workers::Holds;

/// What a worker said that others want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The stream has begun.
    Subscribed {
        /// The Envoy node id.
        node: String,
        /// The node role.
        role: String,
        /// Names the VM instance.
        worker: String,
        /// Version of the filter.
        build: String,
        /// Version of the plugin configuration in force.
        config_version: u64,
        /// What the worker holds from before.
        held: Vec<(String, Holds)>,
    },
    /// The worker holds what it was sent last.
    Acked {
        /// The table.
        table: String,
        /// Its version.
        version: Version,
    },
    /// The worker has taken away what it was told to, and lacks all else.
    TookAway {
        /// The table.
        table: String,
        /// What it holds.
        holds: Holds,
    },
    /// The worker refused what it was sent last.
    Nacked {
        /// The table.
        table: String,
        /// Why.
        reason: String,
        /// What it goes on from.
        holds: Option<Holds>,
    },
    /// A plugin configuration is in force.
    ConfigApplied {
        /// Its version.
        version: u64,
    },
    /// Keys were used.
    Used {
        /// The number of the report: of those of one worker each one counts once.
        seq: u64,
        /// By table.
        tables: Vec<TableUses>,
    },
}

/// How often keys of a table were used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUses {
    /// The table.
    pub table: String,
    /// The revision at which it was held.
    pub revision: u64,
    /// Keys, how often each was used, and when last in seconds since 1970.
    pub uses: Vec<(Digest, u32, u32)>,
}

/// A message that does not belong where it came. The stream should be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first message was another one.
    #[error("the first message of a key stream must be Subscribe")]
    NotSubscribed,
    /// It came again.
    #[error("a key stream has one Subscribe")]
    SubscribedTwice,
    /// It says nothing, or nothing that this server knows.
    #[error("the message is empty or of an unknown kind")]
    Unknown,
    /// A held table came without its version.
    #[error("the message names a table without its version")]
    NoVersion,
    /// The uses in a report are cut off.
    #[error("the uses in a report are not well formed")]
    Uses,
}

/// What a worker says of a table; nothing of one that it does not hold.
pub(super) fn holds(table: &TableVersion) -> Option<Holds> {
    table.version.map(|version| Holds { version, less: table.content })
}

pub(super) fn used(usage: Usage) -> Result<SessionEvent, ProtocolError> {
    let mut tables = Vec::with_capacity(usage.tables.len());
    for table in usage.tables {
        let uses = uses(&table.uses).map_err(|_| ProtocolError::Uses)?.collect();
        tables.push(TableUses { table: table.table, revision: table.revision, uses });
    }
    Ok(SessionEvent::Used { seq: usage.seq, tables })
}
