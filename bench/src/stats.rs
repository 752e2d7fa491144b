//! Numbers about numbers.

use std::time::Duration;

use serde::Serialize;

/// How values spread.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Spread {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// A quantile; not a number when there is no value.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// The value in the middle.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(&ascending(values), 0.5)
}

/// The values in order.
pub(crate) fn ascending(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

// === impl Spread ===

impl Spread {
    pub(crate) fn of(values: Vec<f64>) -> Self {
        let sorted = ascending(values);
        let of = |part| quantile(&sorted, part);
        Self { p50: of(0.5), p99: of(0.99), max: of(1.0) }
    }
}
