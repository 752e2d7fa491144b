//! What a machine tells its caller besides the messages to send.

use crate::resource::Versioned;
use std::sync::Arc;

/// One thing that a session wants done or known, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<R> {
    /// Send this response to the client.
    Send(R),
    /// Tell whoever watches.
    Event(Event),
}

/// Something that happened on a client's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A stream told its node and is now served.
    Connected,
    /// The client had state when it was last seen and now has none: it is a new process, so what
    /// the old one refused is offered again.
    Restarted,
    /// A response was handed over for sending.
    Sent(Delivery),
    /// The client accepted a response.
    Acked(Delivery),
    /// The client refused a response.
    Nacked(Nack),
    /// The stream is over.
    Disconnected,
}

/// A response, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The type of the resources.
    pub type_url: Arc<str>,
    /// The version of the response as a whole.
    pub version: Arc<str>,
    /// What the response carried.
    pub resources: Vec<Versioned>,
    /// What the response took away. State of the world takes away by leaving out, except for
    /// listeners and clusters, where the names are listed here too.
    pub removed: Vec<Arc<str>>,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The type of the resources.
    pub type_url: Arc<str>,
    /// The version of the response as a whole.
    pub version: Arc<str>,
    /// The resources held to be at fault: the only one of the response, or those that the client's
    /// message names, or else every one that was new in it. They are not sent again until they change.
    pub resources: Vec<Versioned>,
    /// The client's gRPC status code.
    pub code: i32,
    /// The client's own words, cut to [`Nack::MESSAGE_LIMIT`] bytes.
    pub message: Arc<str>,
}

// === impl Nack ===

impl Nack {
    /// The most bytes that are kept of a client's message.
    pub const MESSAGE_LIMIT: usize = 4096;
}
