//! Reads what `VirtualService`, `RouteTable`, `VirtualHostOption` and `RouteOption` have in common:
//! one file for each group of fields, with its table.

pub(crate) mod action;
pub(crate) mod extauth;
pub(crate) mod matcher;
pub(crate) mod reach;
pub(crate) mod refs;
pub(crate) mod route_options;
pub(crate) mod routes;
pub(crate) mod virtual_host_options;

use crate::meta::Meta;

/// Whose routes are read.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// A virtual host's.
    Host(&'a Meta),
    /// A route table's: its routes may inherit conditions.
    Table(&'a Meta),
}

// === impl Scope ===

impl<'a> Scope<'a> {
    /// The metadata of the object whose routes are read.
    pub(crate) fn meta(self) -> &'a Meta {
        match self {
            Self::Host(meta) | Self::Table(meta) => meta,
        }
    }
}
