//! The certificates of Keyward.
//!
//! ```text
//! Authority (ca.crt, ca.key) ─┬─ server ─▶ server.pem        says spiffe://keyward/control
//!                             └─ proxy  ─▶ identity.pem      says spiffe://keyward/proxy/<role>
//! Folder: where they lie, who may read them, what is never overwritten
//! Facts:  what a certificate says ◀── the server's TLS port
//! Revocations: which certificates are worth nothing any more (revoked.crl)
//! ```
//!
//! All keys are ECDSA P-256. A certificate and its key lie in one file, which is replaced whole: no
//! reader sees the one without the other.
//!
//! What it is not: it does not speak TLS, and verifies nothing; the TLS library of the server does,
//! against `ca.crt`. It has no clock: the time is a parameter.

mod authority;
mod certificate;
mod error;
mod folder;
mod revocation;
mod role;

pub use authority::{AUTHORITY_LIFETIME, Authority, Issued, LIFETIME, LOCAL_HOSTS, Validity};
pub use certificate::Facts;
pub use error::{CertificateError, FolderError, RoleError};
pub use folder::{Folder, Overwrite, ProxyFiles};
pub use revocation::Revocations;
pub use role::ProxyRole;
