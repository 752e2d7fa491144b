//! A folder of resource files that a control server follows: the way in for whoever keeps the
//! configuration under version control.
//!
//! ```text
//!  folder ─scan▶ files ─read▶ manifests ─┐
//!     ▲                                  ├─plan▶ apply, remove, problems ─sync▶ Writer ─▶ store
//!   watch                    marks ◀─────┘                                        │
//!                              └──────────── annotations of the objects ◀─────────┘
//! ```
//!
//! Reading and planning are pure: files and marks in, a plan and problems out. Everything is written
//! through the [`Writer`](keyward_api::Writer) as server-side apply by the manager
//! [`MANAGER`], so that an object of the folder is an object as any other.
//!
//! The rules:
//!
//! - A file counts as a whole. A mistake anywhere in it, and nothing of it is applied: its objects
//!   stay as they were when it was last right. Other files are not concerned.
//! - Which file an object comes from stands in its annotations, so a file that goes while the server
//!   is down is noticed. An object that was there before the folder knew it is never deleted: when it
//!   leaves the folder, the folder lets go of its fields and they stay as they are.
//! - A folder in which no file has any object is one that is not mounted, or a checkout that has failed:
//!   nothing is deleted, unless it is said to be allowed.
//! - The folder wins on the fields that its files say. What others say in other fields stays. A
//!   change of the folder's fields from elsewhere is put back when the file changes, and at the
//!   latest with the slow look at everything.
//!
//! What it is not: it knows nothing of Envoy, and it is no client of the REST API.

mod document;
mod follow;
mod manifest;
mod mark;
mod plan;
mod problem;
mod scan;
mod sync;
mod watcher;

pub use document::{Document, Source, documents};
pub use follow::{Folder, OpenError, check};
pub use mark::MANAGER;
pub use problem::{Problem, Report};
