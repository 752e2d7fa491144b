//! Why there is no profile.

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A process has one clock for this.
    #[error("another profile is being taken; try again when that one is done")]
    Busy,
    /// The allocator samples nothing.
    #[error(
        "the allocator of this process does not sample: it was built without, or _RJEM_MALLOC_CONF turns it off"
    )]
    NotSampling,
    /// What was taken cannot be read.
    #[error("the profile cannot be read: {0}")]
    Unreadable(&'static str),
    /// The profiler failed.
    #[error("the profiler failed: {0}")]
    Failed(String),
}
