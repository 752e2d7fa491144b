//! What routes copy to where others see it: clients, upstreams that are chosen by a host name, and logs, which
//! print some headers. A key must not get there, so none of the places where one may stand may be copied from.
//! Here it is noted where that is written; whether it is one of those places is known when all routes of the
//! virtual host are: [`headers`](super::super::headers). Who hashes a key to choose an endpoint shows it to
//! nobody.

use keyward_resource::kinds::options::{HeaderManipulation, HostRewrite, Source};
use keyward_resource::{ObjectKey, ObjectRef};

use super::Compiler;
use super::demand::tables;
use crate::proxy::names;

/// Something of requests or answers is copied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::translate) struct Copying {
    /// What.
    pub(in crate::translate) source: Source,
    /// The field that says so, from the options on.
    pub(in crate::translate) field: String,
    /// The object whose route it is.
    pub(in crate::translate) owner: ObjectKey,
    /// How people find the route in it.
    pub(in crate::translate) label: String,
    /// The tables through which one comes there.
    pub(in crate::translate) tables: Vec<ObjectRef>,
}

// === impl Compiler ===

impl Compiler<'_> {
    /// Notes what is copied, where it is written.
    pub(super) fn note_copies(
        &mut self,
        owner: &ObjectKey,
        steps: &[names::Step],
        label: &str,
        (host, headers): (Option<&HostRewrite>, Option<&HeaderManipulation>),
    ) {
        let mut note = |source: Source, field: String| {
            let (owner, label, tables) = (owner.clone(), label.to_owned(), tables(steps));
            self.demand.copies.insert(Copying { source, field, owner, label, tables });
        };
        if let Some(HostRewrite::Header(header)) = host {
            note(Source::header(header), "hostRewriteHeader".to_owned());
        }
        let Some(headers) = headers else { return };
        let lists =
            [("requestHeadersToAdd", &headers.request_add), ("responseHeadersToAdd", &headers.response_add)];
        for (list, added) in lists {
            for (index, header) in added.iter().enumerate() {
                for source in header.sources() {
                    note(source, format!("headerManipulation.{list}[{index}]"));
                }
            }
        }
    }
}
