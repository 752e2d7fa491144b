//! Profiles of this process, as the debug port shows them: one of a kind at a time, as taking one costs what it
//! measures.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use keyward_admin::debug::{Form, ProfileFailure, Profiles};
use keyward_profile::{Profile, ProfileError, cpu, heap};
use tokio::sync::Semaphore;

/// How long taking one of the memory may take, in seconds: a guess, for whoever has to wait.
const HEAP_SECONDS: u64 = 1;

/// The process has one allocator.
static HEAP: Semaphore = Semaphore::const_new(1);
/// When the profile of the CPU ends that is being taken.
static CPU_ENDS: Mutex<Option<Instant>> = Mutex::new(None);

/// Takes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profilers;

fn written(profile: Result<Profile, ProfileError>, form: Form) -> Result<Bytes, ProfileFailure> {
    let profile = profile.map_err(|error| match error {
        ProfileError::Busy => ProfileFailure::Busy(error.to_string(), cpu_seconds()),
        ProfileError::NotSampling => ProfileFailure::Unavailable(error.to_string()),
        _ => ProfileFailure::Internal(error.to_string()),
    })?;
    Ok(match form {
        Form::Pprof => profile.gzipped().into(),
        Form::Folded => profile.folded().into(),
    })
}

/// After how many seconds the profile of the CPU is done.
fn cpu_seconds() -> u64 {
    let ends = CPU_ENDS.lock().map_or(None, |ends| *ends);
    ends.map_or(0, |ends| ends.saturating_duration_since(Instant::now()).as_secs()) + 1
}

// === impl Profilers ===

impl Profiles for Profilers {
    fn cpu(&self, seconds: u64, frequency: u32, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(async move {
            let duration = Duration::from_secs(seconds);
            let taking = cpu(duration, frequency);
            let mut taking = std::pin::pin!(taking);
            // The first step tells whether another one is being taken.
            if let std::task::Poll::Ready(profile) = futures::poll!(&mut taking) {
                return written(profile, form);
            }
            if let Ok(mut ends) = CPU_ENDS.lock() {
                *ends = Some(Instant::now() + duration);
            }
            written(taking.await, form)
        })
    }

    fn heap(&self, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(async move {
            let busy = || ProfileFailure::Busy(ProfileError::Busy.to_string(), HEAP_SECONDS);
            let _taken = HEAP.try_acquire().map_err(|_| busy())?;
            written(heap().await, form)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_of_a_kind_is_taken_at_a_time_and_others_are_told_when_to_come_back() {
        let (first, second) = futures::join!(Profilers.cpu(2, 10, Form::Folded), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Profilers.cpu(2, 10, Form::Folded).await
        });
        assert!(first.is_ok(), "{first:?}");
        assert!(matches!(second, Err(ProfileFailure::Busy(_, 1..=2))), "{second:?}");
        let taken = HEAP.acquire().await.expect("it is never closed");
        let third = Profilers.heap(Form::Folded).await;
        assert!(matches!(third, Err(ProfileFailure::Busy(_, HEAP_SECONDS))), "{third:?}");
        drop(taken);
    }
}
