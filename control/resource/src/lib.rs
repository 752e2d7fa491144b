//! The resources of Keyward: kinds, wire and domain types, validation.
//!
//! Pure: no IO, no clock, no randomness, so that it runs in a browser as well as in the control
//! server. It knows nothing of stores, of HTTP or of Envoy.
//!
//! ```text
//!  body ─parse_body▶ Value ─admit▶ stored form ─decode▶ Resource ─▶ translate, keys
//!                              │         └─present▶ answer
//!                              └─▶ every mistake ─▶ ApiStatus
//! ```
//!
//! The wire form is a [`serde_json::Value`] in canonical words ([`admit`]); the domain types
//! ([`Resource`]) are valid by construction. One reader per kind walks the wire form and notes all
//! mistakes, for admission and for decoding alike, so that the two cannot disagree.

mod api_status;
mod body;
mod error;
pub mod kind;
pub mod kinds;
mod meta;
mod metadata;
mod object;
mod re2;
mod reader;
mod report;
pub mod schema;
mod status;
mod syntax;

pub use api_status::{ApiStatus, Cause};
pub use body::{Format, Malformed, Place, Places, parse_body, parse_documents};
pub use error::{FieldError, FieldErrorReason, summary};
pub use kind::{GroupVersion, KINDS, Kind};
pub use kinds::Resource;
pub use meta::{Meta, ObjectKey, ObjectRef};
pub use object::{admit, canonical, decode, present, present_list};
pub use re2::MAX_REGEX_PROGRAM_SIZE;
pub use report::{Report, Reports, State};
pub use status::Saying;
