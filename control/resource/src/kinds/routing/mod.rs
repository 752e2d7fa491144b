//! Reads what `VirtualService`, `RouteTable`, `VirtualHostOption` and `RouteOption` have in common:
//! one file for each group of fields, with its table.

pub(crate) mod action;
pub(crate) mod balance;
pub(crate) mod cors;
pub(crate) mod delegate;
pub(crate) mod extauth;
pub(crate) mod faults;
pub(crate) mod format;
pub(crate) mod headers;
mod idle;
pub(crate) mod matcher;
pub(crate) mod names;
pub(crate) mod reach;
pub(crate) mod redirect;
pub(crate) mod refs;
pub(crate) mod retries;
pub(crate) mod rewrite;
pub(crate) mod route_options;
pub(crate) mod routes;
pub(crate) mod virtual_host_options;

use crate::meta::Meta;
use crate::reader::{Node, Object};

/// Whose routes are read.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// A virtual host's.
    Host(&'a Meta),
    /// A route table's: its routes may inherit conditions.
    Table(&'a Meta),
}

/// What a reader of options is given besides the options.
pub(crate) struct Context<'a> {
    /// The metadata of the object, in whose namespace references are resolved.
    pub(crate) meta: &'a Meta,
    /// Things that are right but deserve a look.
    pub(crate) warnings: &'a mut Vec<String>,
}

/// What is read of the one of several fields that is set, if one is; a second one is a mistake. All that
/// are set are read, so that every mistake in them is found.
pub(crate) fn alternative<'b, T>(
    fields: &'b Object<'_>,
    keys: &[&'static str],
    mut read: impl FnMut(&'static str, Node<'b>) -> Option<T>,
) -> Option<Option<T>> {
    let mut set = keys.iter().filter_map(|key| fields.optional(key).map(|node| (*key, node)));
    let Some((first, node)) = set.next() else { return Some(None) };
    let value = read(first, node);
    let mut alone = true;
    for (key, node) in set {
        node.error(
            crate::error::FieldErrorReason::Invalid,
            format!("Invalid value: {first} and {key} exclude each other: leave one of them out"),
        );
        read(key, node);
        alone = false;
    }
    value.filter(|_| alone).map(Some)
}

/// All items that can be read, or nothing when one cannot. All are read before the first failure
/// counts, so that every mistake is found.
pub(crate) fn all<'b, T>(node: Node<'b>, mut read: impl FnMut(Node<'_>) -> Option<T>) -> Option<Vec<T>> {
    let list = node.list()?;
    let items: Vec<_> = list.iter().map(&mut read).collect();
    items.into_iter().collect()
}

/// A percentage, in millionths of a whole.
pub(crate) fn per_million(node: Node<'_>) -> Option<u32> {
    let percent = node.number(0.0..=100.0)?;
    // The bounds leave 0 to 1,000,000.
    Some((percent * 10_000.0).round() as u32)
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
