//! The resource API: Kubernetes' verbs over a store, so that `kubectl` and client libraries work
//! although there is no cluster.
//!
//! ```text
//!  request ─▶ target, query ─▶ Authorizer ─▶ verb ─▶ Writer ─▶ store ─▶ Audit ─▶ Confirm
//!                                             │        └ admission, patch, field managers, Review
//!                                             ├─▶ list, watch ◀─ store
//!                                             └─▶ Form (object, Table) ─▶ answer
//!  other paths ─▶ discovery, openapi
//! ```
//!
//! Every way in is the same way: REST and whoever else writes objects go through [`Writer`], which
//! validates, merges, keeps the metadata that servers keep, and notes who owns which field.
//!
//! What it is not: it does not translate resources and makes no statuses of them; it stores the
//! statuses that it is given.

mod accept;
mod access;
mod admission;
mod api;
mod confirm;
mod courtesy;
mod discovery;
mod dispatch;
mod document;
mod fields;
mod list;
mod openapi;
mod origin;
mod patch;
mod protobuf;
mod query;
mod reply;
mod request;
mod review;
mod selector;
mod sight;
mod stored;
mod table;
mod target;
mod tenure;
mod verbs;
mod watch;
mod writer;

pub use access::{Attempt, Audit, AuditLog, Authorizer, Change, Everybody, Identity, Verb};
pub use api::{Api, Statuses};
pub use confirm::{Confirm, Confirmation, wait};
pub use origin::Origin;
pub use request::MAX_BODY;
pub use review::{Proposed, Review};
pub use sight::{ELSEWHERE, Sight};
pub use stored::{Stored, Unreadable};
pub use table::age;
pub use target::{Part, Target};
pub use writer::{Effect, FieldValidation, Preconditions, StatusWrite, WriteOptions, Writer, Written};
