//! What is worth a line in the proxy's log. Never a key, a digest or a header's value.

use std::fmt;

/// How loud an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something needs a look.
    Warn,
    /// As it should be, and rare.
    Info,
}

/// Something that happened in a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// A plugin configuration is in force.
    ConfigInForce {
        /// Its version.
        version: u64,
        /// The role that it was made for.
        role: &'a str,
    },
    /// The server accepted the key stream.
    StreamUp,
    /// An accepted key stream ended. Keys that are held are held still.
    StreamDown,
    /// A key table arrived for the first time.
    TableArrived {
        /// How many keys the worker holds now, in all tables.
        keys: usize,
    },
    /// A snapshot or a change was refused.
    ChangeRefused {
        /// The table.
        table: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// Something came over the key stream that is no message. The stream is opened anew.
    NotAMessage,
    /// Requests waited for keys in vain and got 503.
    WaitedInVain {
        /// How many, since the last tick.
        requests: usize,
    },
}

// === impl Event ===

impl Event<'_> {
    /// How loud it is.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::ConfigInForce { .. } | Self::StreamUp | Self::TableArrived { .. } => Level::Info,
            Self::StreamDown | Self::ChangeRefused { .. } | Self::NotAMessage | Self::WaitedInVain { .. } => {
                Level::Warn
            }
        }
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigInForce { version, role } => {
                write!(f, "configuration {version} is in force for role {role}")
            }
            Self::StreamUp => write!(f, "the key stream is up"),
            Self::StreamDown => write!(f, "the key stream is down; keys that are held stay in force"),
            Self::TableArrived { keys } => write!(f, "a key table arrived; {keys} keys are held"),
            Self::ChangeRefused { table, reason } => {
                write!(f, "a change of key table {table} was refused: {reason}")
            }
            Self::NotAMessage => write!(f, "the key stream carried something that is no message"),
            Self::WaitedInVain { requests } => {
                write!(f, "{requests} requests waited for keys in vain and got 503")
            }
        }
    }
}
