//! An xDS server library.

pub mod delta;
pub mod node;
pub mod server;
pub mod sotw;
pub mod type_url;

mod blame;
mod cache;
mod digest;
mod error;
mod event;
mod gate;
mod memory;
mod options;
mod registry;
mod resource;
mod snapshot;
mod status;
mod subscription;
mod tier;

pub use cache::Cache;
pub use error::SessionError;
pub use event::{Delivery, Event, Nack, Output};
pub use memory::{Memory, Rejection};
pub use options::Options;
pub use resource::{Resource, Versioned};
pub use server::{AdsService, AdsServiceBuilder, EventSink, StreamEvent};
pub use snapshot::{Snapshot, SnapshotBuilder};
pub use status::{ClientId, ClientStatus, Protocol, RejectedResource, Source, TypeStatus};
