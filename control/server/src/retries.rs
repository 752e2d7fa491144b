//! Addresses that a proxy could not bind are tried again: who holds them may let go without any change here.
//!
//! ```text
//! refused ─▶ waiting 5 s ─due▶ on trial ─refused▶ waiting 10 s ─▶ ... ─▶ waiting 5 min
//!                                 └─accepted, or the proxy is gone─▶ forgotten
//! ```
//!
//! Any other refusal is about what was sent, and stands until something else is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyward_resource::ObjectKey;
use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// After this the first time.
const FIRST: Duration = Duration::from_secs(5);
/// And at most after this.
const LAST: Duration = Duration::from_secs(5 * 60);
/// What Envoy says of an address that it could not have.
const CANNOT_BIND: &str = "cannot bind";

/// A listener as one proxy has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The node id of the proxy.
    pub(crate) node: Arc<str>,
    /// The name of the listener.
    pub(crate) listener: Arc<str>,
}

/// The listeners that are tried again.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    places: BTreeMap<Place, Retry>,
}

#[derive(Debug)]
struct Retry {
    /// The objects that are withheld because of it.
    objects: Vec<ObjectKey>,
    delay: Duration,
    /// None while it is on trial.
    due: Option<Instant>,
}

/// Whether a proxy's words are about an address that it could not bind for this listener.
pub(crate) fn is_about_binding(words: &str, listener: &str) -> bool {
    // One message may be about several listeners, a line for each.
    words.lines().any(|line| line.contains(listener) && line.contains(CANNOT_BIND))
}

// === impl Retries ===

impl Retries {
    /// A proxy could not bind the address of a listener; tells after what time it is tried again, where that is new.
    pub(crate) fn refused(
        &mut self,
        place: Place,
        objects: Vec<ObjectKey>,
        now: Instant,
    ) -> Option<Duration> {
        let retry =
            self.places.entry(place).or_insert(Retry { objects: Vec::new(), delay: FIRST / 2, due: None });
        for object in objects {
            if !retry.objects.contains(&object) {
                retry.objects.push(object);
            }
        }
        if retry.due.is_some() {
            return None;
        }
        retry.delay = (retry.delay * 2).min(LAST);
        retry.due = Some(now + retry.delay);
        Some(retry.delay)
    }

    /// When something is to be tried again.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.places.values().filter_map(|retry| retry.due).min()
    }

    /// What is to be tried again now, with the objects that are withheld because of it. It is on trial then.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<(Place, Vec<ObjectKey>)> {
        let mut due = Vec::new();
        for (place, retry) in &mut self.places {
            if retry.due.take_if(|due| *due <= now).is_some() {
                due.push((place.clone(), retry.objects.clone()));
            }
        }
        due
    }

    /// A proxy has taken a listener; tells which objects were withheld because of it.
    pub(crate) fn accepted(&mut self, place: &Place) -> Vec<ObjectKey> {
        self.places.remove(place).map(|retry| retry.objects).unwrap_or_default()
    }

    /// A proxy is gone. What waits goes on waiting; tells which objects were on trial with it.
    pub(crate) fn gone(&mut self, node: &str) -> Vec<ObjectKey> {
        let on_trial = |place: &Place, retry: &Retry| &*place.node == node && retry.due.is_none();
        let ended = self.places.extract_if(.., |place, retry| on_trial(place, retry));
        ended.flat_map(|(_, retry)| retry.objects).collect()
    }
}
