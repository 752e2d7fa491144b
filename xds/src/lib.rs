//! An xDS server library: give it snapshots, and Envoys get what changed.
//!
//! What it is: the aggregated discovery service (ADS) in both protocols, incremental ("delta") and
//! state of the world ("SotW"), for any resource type. It keeps the protocol's promises: nonces,
//! wildcards old and new, removals, subscriptions that are always answered, endpoints sent again
//! when their cluster changes, and make before break across types. It sends only what changed, and
//! it remembers what a client refused, across reconnects, and does not send it again until it
//! changes.
//!
//! What it is not: it does not make resources, check them, or know what they mean. It has no
//! non-aggregated services, no on-demand loading, no TTLs and no `xdstp` names.
//!
//! ```text
//!  your code                            this crate                               a client
//!
//!  Snapshot ──publish──▶ Cache ──watch──▶ Connection ──responses──▶ tonic ──────▶ Envoy
//!                        (by node key)      │     ▲                                 │
//!                                           ▼     └──requests── tonic ◀── ACK, NACK ┘
//!                                   delta::Session or sotw::Session   (no IO, no clock)
//!                                           │
//!  EventSink ◀──────────Event───────────────┤
//!  AdsService::clients ◀──ClientStatus──────┴── Memory (per client, outlives the stream)
//! ```
//!
//! The two sessions are plain state machines: requests and snapshots in, responses and events out.
//! They can be used without the tonic edge, which is the [`server`] module.
//!
//! # Order
//!
//! Changes travel clusters → endpoints → filters, secrets and all other types → listeners → routes →
//! virtual hosts. A type waits until every earlier one has been answered. Removals of clusters,
//! endpoints and filters come last, when what may have referred to them has settled. A refusal
//! counts as an answer, so a broken object never blocks the others.
//!
//! # Refusals
//!
//! A client refuses a whole response and says why in free text. The blame goes to the only resource
//! of the response, else to those that the text names, else to all that were new to the client. The
//! innocent rest is sent again without them. A refused version is not sent again to that client
//! until it changes, except to a new process behind the same name (it claims to hold nothing
//! where it held something), or after [`AdsService::retry_rejected`].
//!
//! # Example
//!
//! ```
//! use envoy_types::pb::envoy::config::cluster::v3::Cluster;
//! use keyward_xds::{AdsService, Cache, Resource, Snapshot, node, type_url};
//!
//! // A snapshot is a set of encoded messages, each under its type and name.
//! let web = Cluster { name: "web".to_owned(), ..Cluster::default() };
//! let snapshot = Snapshot::builder()
//!     .insert(type_url::CLUSTER, "web", prost::Message::encode_to_vec(&web))
//!     // A cluster whose endpoints come by EDS says which; they are sent again after it.
//!     .insert_resource(Resource::new(type_url::CLUSTER, "api", vec![]).rewarming(type_url::ENDPOINT, "api"))
//!     .insert(type_url::ENDPOINT, "api", vec![])
//!     .build();
//! assert_eq!(snapshot.len(), 3);
//!
//! // A node's key says which snapshot it gets; here, a string of its metadata.
//! let cache = Cache::new();
//! let service = AdsService::builder(cache.clone(), |n| {
//!     node::metadata_string(n, "role").unwrap_or_default().to_owned()
//! })
//! .events(|event: keyward_xds::StreamEvent| {
//!     if let keyward_xds::Event::Nacked(nack) = event.event {
//!         eprintln!("{} refused {:?}: {}", event.client.node_id, nack.resources, nack.message);
//!     }
//! })
//! .build();
//! cache.publish("gateway", snapshot);
//! // Unknown nodes get this. Set it once all known keys have been published.
//! cache.set_fallback(Snapshot::builder().build());
//!
//! // Keep the service to ask who is connected and how they stand. Dead connections are found by
//! // HTTP/2 keepalive alone, so switch it on.
//! let router = tonic::transport::Server::builder()
//!     .http2_keepalive_interval(Some(std::time::Duration::from_secs(30)))
//!     .add_service(service.clone().into_server());
//! assert!(service.clients().is_empty());
//! # drop(router);
//! ```

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
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod tier;

pub use cache::Cache;
pub use error::SessionError;
pub use event::{Delivery, Event, Nack, Output};
pub use memory::{Memory, Rejection};
pub use options::Options;
pub use resource::{Resource, Versioned};
pub use server::{AdsService, AdsServiceBuilder, EventSink, StreamEvent};
pub use snapshot::{Snapshot, SnapshotBuilder};
pub use status::{ClientId, ClientStatus, Protocol, RejectedResource, Source, Standing, TypeStatus};
pub use text::printable;
