//! The resources of Keyward: kinds, wire and domain types, validation.

mod error;
pub mod kinds;
mod meta;
mod report;

pub use error::{FieldError, FieldErrorReason};
pub use meta::{Meta, ObjectKey, ObjectRef};
pub use report::{Report, Reports, State};
