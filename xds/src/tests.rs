//! Model tests: random interleavings of everything that can happen, and what must hold after each step.

mod delta_model;
mod references;
mod sotw_model;

use crate::{
    resource::Resource,
    snapshot::Snapshot,
    testing::{resource, url},
};
use std::collections::{BTreeMap, BTreeSet};

/// The types of the models: a full one, one with names, one that travels alone, one of each turn.
const TYPES: [&str; 5] = ["CDS", "EDS", "ECDS", "LDS", "RDS"];

const NAMES: [&str; 3] = ["eds-a", "b", "c"];

/// What the server should serve: type, name, content. Content beyond [`GOOD`] is refused.
type World = BTreeMap<(usize, usize), u8>;

/// Contents below this are good.
const GOOD: u8 = 4;

fn content(kind: u8) -> String {
    if kind < GOOD { format!("good{kind}") } else { format!("bad{kind}") }
}

fn world_resource(at: (usize, usize), kind: u8) -> Resource {
    resource(TYPES[at.0], NAMES[at.1], &content(kind))
}

fn world_snapshot(world: &World) -> Snapshot {
    let mut builder = Snapshot::builder();
    builder.extend(world.iter().map(|(at, kind)| world_resource(*at, *kind)));
    builder.build()
}

fn is_bad(body: &[u8]) -> bool {
    body.windows(4).any(|window| window == b"=bad")
}

/// The index of a type URL in [`TYPES`].
fn index(type_url: &str) -> usize {
    TYPES.iter().position(|short| url(short) == type_url).expect("a type of the model")
}

/// What a client of the model asks for of one type.
#[derive(Clone, Debug, Default)]
struct Interest {
    asked: bool,
    /// Wildcard in the old form, by an empty list, which lasts until the first name.
    legacy: bool,
    wildcard: bool,
    names: BTreeSet<String>,
}

// === impl Interest ===

impl Interest {
    fn includes(&self, name: &str) -> bool {
        self.wildcard || self.names.contains(name)
    }
}
