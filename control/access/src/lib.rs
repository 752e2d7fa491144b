//! Who may use the resource API.
//!
//! ```text
//! Authorization header ─▶ Credential ─┐
//! peer address, Host, who sent it on ──┤
//! TokenFile ─▶ TokenBook (digests) ───┼─▶ authenticate ─▶ Identity ─▶ authorize ─▶ Permit, or 401/403
//! Rules (flags) ──────────────────────┘                                  ▲             │
//! verb, kind, namespace, name ───────────────────────────────────────────┘             └─▶ audit
//! ```
//!
//! What it is not: a directory of users. A token has a name, a role, and perhaps namespaces and an
//! end; that is all that is known of who holds it. Deciding is pure: the time and the file come in
//! from outside. A token is shown once, when it is made; what is kept is its digest.

mod audit;
mod book;
mod error;
mod file;
mod role;
mod rules;
mod token;

pub use audit::{Attempt, Change, Look, TARGET as AUDIT_TARGET};
pub use book::{TokenBook, TokenName, TokenRecord};
pub use error::{BookError, FileError, TokenError};
pub use file::TokenFile;
pub use role::{Role, Verb};
pub use rules::{Action, Caller, Credential, Identity, Permit, Rules, Through, authenticate, authorize};
pub use token::{RANDOM_BYTES, Token, TokenDigest};
