//! Profiles of a running process: where its time goes, and its memory.
//!
//! ```text
//! SIGPROF, so many times a second of CPU time ─▶ stacks ─┐
//! the allocator, every 512 KiB on average ─────▶ stacks ─┴▶ Profile ─▶ pprof (gzip), folded stacks
//! ```
//!
//! Time is sampled only while somebody asks for it. Memory is sampled always, because what was allocated
//! before anybody asked is what they ask about; for that, [`Allocator`] has to be the allocator of the
//! process. Stacks hold names of functions and never a value.

mod cpu;
mod error;
mod heap;
mod profile;
mod proto;

pub use cpu::{FREQUENCIES, SECONDS, USUAL_FREQUENCY, USUAL_SECONDS, cpu};
pub use error::ProfileError;
pub use heap::heap;
pub use profile::{Frame, Profile, Stack, ValueType};

/// The allocator that knows who holds how much memory.
pub use tikv_jemallocator::Jemalloc as Allocator;
