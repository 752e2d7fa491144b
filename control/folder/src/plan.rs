//! What there is to do, from the files and from what is known of the objects. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyward_resource::KINDS;
use keyward_store::Key;

use crate::manifest::{Manifest, Manifests};
use crate::problem::Problem;

/// How long an object must be in no file before it goes. Whoever replaces files one by one, or
/// writes into one, is not done at once.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// The files of a folder, by their paths from the folder down. A folder in it that cannot be read
/// stands here as a broken file.
pub(crate) type Files = BTreeMap<String, Arc<Manifests>>;

/// What is known of the objects that came from the folder before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Known {
    /// The objects, and the file that each came from.
    pub(crate) files: BTreeMap<Key, String>,
    /// Those that are in no file any more, and since when.
    pub(crate) missing: BTreeMap<Key, Instant>,
    /// Whether a folder without any object means that all of them go. It mostly means that nothing is
    /// mounted there, or that a checkout has failed.
    pub(crate) may_be_empty: bool,
}

/// What there is to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plan {
    /// Objects as they should be, in the order in which they are applied.
    pub(crate) apply: Vec<Wanted>,
    /// Objects that have left the folder, in the order in which they go.
    pub(crate) remove: Vec<Key>,
    /// How many objects would have to go, but stay because no file has any object.
    pub(crate) kept: usize,
    /// What is wrong, in the order of the files.
    pub(crate) problems: Vec<Problem>,
}

/// An object, and the file that wants it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) file: String,
    pub(crate) manifest: Manifest,
}

/// What others refer to comes first, so that nobody refers to what is not there yet: in the order of
/// the table of kinds, but for those that bring the others into effect.
pub(crate) fn rank(key: &Key) -> usize {
    let last = ["RouteTable", "VirtualService", "Gateway"];
    let late = last.iter().position(|kind| *kind == key.kind).map(|place| KINDS.len() + place);
    late.or_else(|| KINDS.iter().position(|kind| kind.name == key.kind)).unwrap_or(KINDS.len())
}

/// The broken file that an object which came from `file` may still be in.
fn broken<'a>(files: &'a Files, file: &str) -> Option<&'a str> {
    let holds =
        |path: &str| file == path || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let broken = files.iter().filter(|(_, manifests)| manifests.is_broken());
    broken.map(|(path, _)| path.as_str()).find(|path| holds(path))
}

/// Finds out what there is to do.
pub(crate) fn plan(files: &Files, known: &mut Known, now: Instant) -> Plan {
    let mut plan = Plan::default();
    let mut wanted: BTreeMap<&Key, (&str, &Manifest)> = BTreeMap::new();
    let held: BTreeMap<&Key, &str> = known
        .files
        .iter()
        .filter_map(|(key, file)| broken(files, file).map(|broken| (key, broken)))
        .collect();
    for (file, manifests) in files {
        plan.problems.extend(manifests.problems.iter().cloned());
        for manifest in &manifests.objects {
            let other = match (held.get(&manifest.key), wanted.get(&manifest.key)) {
                (Some(broken), _) => format!(
                    "this object came from {broken}, which is broken, so it stays as it was; it can only \
                     stand in one file"
                ),
                (None, Some((first, other))) => format!(
                    "this object stands in {first}:{}:{} already, which wins; it can only stand in one file",
                    other.place.line, other.place.column
                ),
                (None, None) => {
                    wanted.insert(&manifest.key, (file, manifest));
                    continue;
                }
            };
            plan.problems.push(manifests.problem(file, manifest, other));
        }
    }
    let is_missing = |key: &Key| !wanted.contains_key(key) && !held.contains_key(key);
    known.missing.retain(|key, _| is_missing(key));
    let mut missing: BTreeSet<Key> = known.files.keys().filter(|key| is_missing(key)).cloned().collect();
    if wanted.is_empty() && held.is_empty() && !known.may_be_empty {
        plan.kept = missing.len();
        missing.clear();
        known.missing.clear();
    }
    for key in missing {
        let since = *known.missing.entry(key.clone()).or_insert(now);
        if now.saturating_duration_since(since) >= GRACE {
            plan.remove.push(key);
        }
    }
    plan.remove.sort_by_key(|key| std::cmp::Reverse(rank(key)));
    let apply = wanted.into_values();
    plan.apply =
        apply.map(|(file, manifest)| Wanted { file: file.to_owned(), manifest: manifest.clone() }).collect();
    plan.apply.sort_by_key(|wanted| rank(&wanted.manifest.key));
    plan
}

#[cfg(test)]
mod tests;
