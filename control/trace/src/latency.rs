//! How long things take, in powers of ten.

use std::time::Duration;

/// So many buckets there are.
pub const BUCKETS: usize = 9;

/// From when on a duration is in each bucket, and what the bucket is called.
const BOUNDS: [(Duration, &str); BUCKETS] = [
    (Duration::ZERO, ">0s"),
    (Duration::from_micros(10), ">10us"),
    (Duration::from_micros(100), ">100us"),
    (Duration::from_millis(1), ">1ms"),
    (Duration::from_millis(10), ">10ms"),
    (Duration::from_millis(100), ">100ms"),
    (Duration::from_secs(1), ">1s"),
    (Duration::from_secs(10), ">10s"),
    (Duration::from_secs(100), ">100s"),
];

/// How many took how long, by bucket.
pub type Latencies = [u64; BUCKETS];

/// The bucket of a duration.
#[must_use]
pub fn bucket_of(took: Duration) -> usize {
    BOUNDS.iter().rposition(|(from, _)| took >= *from).unwrap_or_default()
}

/// What a bucket is called; nothing when there is no such bucket.
#[must_use]
pub fn bucket_name(bucket: usize) -> &'static str {
    BOUNDS.get(bucket).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_with_its_bound() {
        for (took, expected) in [
            (Duration::ZERO, ">0s"),
            (Duration::from_nanos(9_999), ">0s"),
            (Duration::from_micros(10), ">10us"),
            (Duration::from_micros(99), ">10us"),
            (Duration::from_millis(1), ">1ms"),
            (Duration::from_millis(99), ">10ms"),
            (Duration::from_secs(9), ">1s"),
            (Duration::from_secs(100), ">100s"),
            (Duration::MAX, ">100s"),
        ] {
            assert_eq!(bucket_name(bucket_of(took)), expected, "{took:?}");
        }
        assert_eq!(bucket_name(BUCKETS), "");
    }
}
