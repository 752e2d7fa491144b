//! What the filter asks of the proxy that it runs in.
//!
//! `filter-wasm` implements both traits on proxy-wasm; tests implement them on a fake that behaves
//! like a proxy.

use crate::decisions::Row;
use crate::event::Event;
use crate::metric::Metric;

/// The proxy did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the proxy refused a call")]
pub struct HostError;

/// An answer of the filter itself. It has no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers besides those that the proxy adds.
    pub headers: &'static [(&'static str, &'static str)],
}

/// What is told to an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The word for what was decided.
    Reason,
    /// Whose policy decided.
    AuthConfig,
    /// Who passed.
    Identity,
    /// Which key it was. Never the key.
    KeyId,
}

/// What can be asked about one request: the one in whose context the proxy calls, or the one that
/// was entered last ([`WorkerHost::enter`]).
///
/// Values are bytes throughout: a client may send any.
pub trait RequestHost {
    /// The name of the route that was selected. Only right before the first change of a header: a
    /// change makes the proxy select again.
    fn route_name(&mut self) -> Option<Vec<u8>>;

    /// The first value of a request header.
    fn request_header(&mut self, name: &str) -> Option<Vec<u8>>;

    /// Every value of a request header, in order. Dearer than [`joined_values`](Self::joined_values).
    fn request_values(&mut self, name: &str) -> Vec<Vec<u8>>;

    /// The same joined with commas, for the price of one value; none if there is no such header.
    fn joined_values(&mut self, name: &str) -> Option<Vec<u8>> {
        let values = self.request_values(name);
        (!values.is_empty()).then(|| values.join(&b','))
    }

    /// Gives a request header exactly one value.
    ///
    /// # Errors
    ///
    /// When the proxy refuses.
    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError>;

    /// Removes every value of a request header.
    ///
    /// # Errors
    ///
    /// When the proxy refuses.
    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError>;

    /// Removes every value of a response header.
    ///
    /// # Errors
    ///
    /// When the proxy refuses.
    fn remove_response_header(&mut self, name: &str) -> Result<(), HostError>;

    /// The wall clock, in milliseconds since 1970, if the proxy tells. It may jump.
    fn wall_clock(&mut self) -> Option<u64>;

    /// Tells the guard behind the filter that this request may pass without an identity.
    ///
    /// # Errors
    ///
    /// When the proxy refuses: then the guard denies it.
    fn pass_anonymously(&mut self) -> Result<(), HostError>;

    /// Answers in place of the upstream. The access log is told why, in a word.
    ///
    /// # Errors
    ///
    /// When the proxy refuses. The request must not go on all the same.
    fn reply(&mut self, reply: &Reply, why: &'static str) -> Result<(), HostError>;

    /// Tells the access log something about the request. One that cannot be told shows less.
    fn note(&mut self, note: Note, value: &[u8]);

    /// Where decisions by an AuthConfig are counted.
    fn row(&mut self, auth_config: &str) -> Row;

    /// Counts a decision. The proxy may be told somewhat later: a call for each would cost more.
    fn count(&mut self, row: Row, reason: Metric);

    /// Adds to a metric.
    fn add(&mut self, metric: Metric, change: i64);
}

/// What can be asked besides, on behalf of the worker.
pub trait WorkerHost: RequestHost {
    /// The Envoy node id; empty if there is none.
    fn node_id(&mut self) -> String;

    /// Sets how often the proxy calls [`crate::worker::Worker::on_tick`] for the current root.
    fn set_tick(&mut self, milliseconds: u32);

    /// Makes what follows happen in the context of a request or a root.
    ///
    /// # Errors
    ///
    /// When there is no such context any more.
    fn enter(&mut self, context: u32) -> Result<(), HostError>;

    /// Lets a paused request go on.
    ///
    /// # Errors
    ///
    /// When the proxy refuses.
    fn resume_request(&mut self) -> Result<(), HostError>;

    /// Opens a key stream to a cluster and gives its number.
    ///
    /// # Errors
    ///
    /// When the proxy does not even try.
    fn open_stream(&mut self, cluster: &str) -> Result<u32, HostError>;

    /// Sends a message on a stream.
    ///
    /// # Errors
    ///
    /// When the stream is gone.
    fn send(&mut self, stream: u32, message: &[u8]) -> Result<(), HostError>;

    /// Abandons a stream.
    fn cancel(&mut self, stream: u32);

    /// Writes a gauge.
    fn set(&mut self, metric: Metric, value: u64);

    /// Writes a line into the log.
    fn log(&mut self, event: &Event<'_>);
}
