//! The gRPC edge: thin adapters between tonic and the sans-IO protocol machines.

mod admission;
mod key_stream;

pub(crate) use admission::Admission;
pub(crate) use key_stream::KeyStream;
