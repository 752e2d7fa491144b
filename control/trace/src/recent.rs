//! Some spans of each name: those that are under way, the last ones of each latency, the last that failed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::fields::Fields;
use crate::latency::{BUCKETS, Latencies, bucket_of};

#[cfg(test)]
mod tests;

/// So many spans are kept of each latency of each name, and of those that failed.
pub const MAX_SAMPLES: usize = 10;
/// So many of each name are kept while they are under way.
const MAX_RUNNING: usize = 256;
/// So many names there may be. They stand in the code, so this is a fuse.
const MAX_NAMES: usize = 128;

/// Spans, kept and counted. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Recent(Arc<Mutex<BTreeMap<&'static str, Family>>>);

/// A span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its name.
    pub name: &'static str,
    /// What it belongs to: the number of everything that came of one cause.
    pub trace: u128,
    /// Its own number.
    pub id: u64,
    /// The number of the span inside which it began.
    pub parent: Option<u64>,
    /// When it began.
    pub start: SystemTime,
    /// What is said of it.
    pub fields: Fields,
}

/// A span that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// It.
    pub span: Arc<Span>,
    /// How long it took; none while it is under way.
    pub took: Option<Duration>,
}

/// The spans of a name, counted since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The name.
    pub name: &'static str,
    /// Those under way.
    pub running: u64,
    /// Those that ended well, by how long they took.
    pub latencies: Latencies,
    /// Those that failed.
    pub failed: u64,
}

/// Which spans of a name are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those under way.
    Running,
    /// Those of a latency bucket that ended well.
    Bucket(usize),
    /// Those that failed.
    Failed,
}

/// The spans of one name.
#[derive(Debug, Default)]
struct Family {
    running: BTreeMap<u64, Arc<Span>>,
    begun: u64,
    latencies: Latencies,
    failed: u64,
    recent: [VecDeque<Sample>; BUCKETS],
    recent_failed: VecDeque<Sample>,
}

// === impl Recent ===

impl Recent {
    /// A span has begun. Of its fields, what becomes known later is not seen while it is under way.
    pub fn begin(&self, span: &Arc<Span>) {
        let mut families = self.lock();
        if families.len() >= MAX_NAMES && !families.contains_key(span.name) {
            return;
        }
        let family = families.entry(span.name).or_default();
        family.begun += 1;
        if family.running.len() < MAX_RUNNING {
            family.running.insert(span.id, Arc::clone(span));
        }
    }

    /// A span that has begun has ended.
    pub fn end(&self, span: Arc<Span>, took: Duration) {
        if let Some(family) = self.lock().get_mut(span.name) {
            family.end(Sample { span, took: Some(took) });
        }
    }

    /// All names, and how many spans there were of each.
    #[must_use]
    pub fn summaries(&self) -> Vec<Summary> {
        self.lock().iter().map(|(name, family)| family.summary(name)).collect()
    }

    /// Some of the spans of a name, the newest first; none when no span has that name.
    #[must_use]
    pub fn samples(&self, name: &str, which: Which) -> Option<Vec<Sample>> {
        let families = self.lock();
        let family = families.get(name)?;
        Some(match which {
            Which::Running => {
                let mut running: Vec<_> = family.running.values().cloned().collect();
                running.sort_by_key(|span| std::cmp::Reverse(span.start));
                running.into_iter().map(|span| Sample { span, took: None }).collect()
            }
            Which::Bucket(bucket) => family.recent.get(bucket).into_iter().flatten().rev().cloned().collect(),
            Which::Failed => family.recent_failed.iter().rev().cloned().collect(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Family>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Family ===

impl Family {
    fn end(&mut self, sample: Sample) {
        self.running.remove(&sample.span.id);
        let bucket = bucket_of(sample.took.unwrap_or_default());
        let recent = if sample.span.fields.failed() {
            self.failed += 1;
            Some(&mut self.recent_failed)
        } else {
            if let Some(count) = self.latencies.get_mut(bucket) {
                *count += 1;
            }
            self.recent.get_mut(bucket)
        };
        if let Some(recent) = recent {
            if recent.len() >= MAX_SAMPLES {
                recent.pop_front();
            }
            recent.push_back(sample);
        }
    }

    fn summary(&self, name: &'static str) -> Summary {
        let ended = self.latencies.iter().sum::<u64>() + self.failed;
        Summary {
            name,
            running: self.begun.saturating_sub(ended),
            latencies: self.latencies,
            failed: self.failed,
        }
    }
}
