//! What the control server did lately: recent spans in latency buckets, and counts of calls.
//!
//! ```text
//! spans of the target SPANS ─▶ SpanLayer ─┬▶ Recent: some of each name, in latency buckets
//!                                         └▶ a channel of what has ended, for whoever exports it
//! requests and streams ─▶ Meter ─▶ Calls: begun, under way, failed, how long, how many bytes
//! ```
//!
//! All of it is bounded. Of a span only those fields are kept that [`FIELDS`] names: what might hold a
//! secret is not recorded in the first place. It is not a log, and it exports nothing by itself.

mod calls;
mod fields;
mod latency;
mod layer;
mod meter;
mod recent;

pub use calls::{Call, Calls, Counts, Method};
pub use fields::{FIELDS, Fields};
pub use latency::{BUCKETS, Latencies, bucket_name, bucket_of};
pub use layer::{SpanLayer, is_ours};
pub use meter::{Meter, Metered, MeteredBody};
pub use recent::{MAX_SAMPLES, Recent, Sample, Span, Summary, Which};

/// The target of spans that are kept.
pub const SPANS: &str = "keyward::spans";
