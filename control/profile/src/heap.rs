//! Who holds the memory.

use jemalloc_pprof::PROF_CTL;
use tokio::task::spawn_blocking;

use crate::error::ProfileError;
use crate::profile::Profile;

/// How functions of the allocator begin, which stand at the end of each stack.
const ALLOCATOR: [&str; 8] =
    ["_rjem_", "prof_", "imalloc", "irallocx", "do_rallocx", "icalloc", "arena_", "iralloc"];

fn is_allocator(function: &str) -> bool {
    ALLOCATOR.iter().any(|begin| function.starts_with(begin))
}

/// What is allocated at this moment, by the stacks that allocated it: extrapolated from a sample of one in
/// 512 KiB.
///
/// # Errors
///
/// [`ProfileError::NotSampling`], and when the allocator's report cannot be written to a temporary file.
pub async fn heap() -> Result<Profile, ProfileError> {
    let taken = spawn_blocking(|| {
        let control = PROF_CTL.as_ref().ok_or(ProfileError::NotSampling)?;
        let mut control = control.blocking_lock();
        if !control.activated() {
            return Err(ProfileError::NotSampling);
        }
        let bytes = control.dump_pprof().map_err(|error| ProfileError::Failed(format!("{error:#}")))?;
        Ok(Profile::read(&bytes)?.without_leaves(is_allocator))
    });
    taken.await.unwrap_or_else(|error| Err(ProfileError::Failed(error.to_string())))
}
