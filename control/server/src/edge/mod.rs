//! The gRPC edge: thin adapters between tonic and the sans-IO protocol machines.

mod key_stream;

pub(crate) use key_stream::{KeyStream, WorkersHandle};
