//! Profiles of this process, as the debug port shows them.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use keyward_admin::debug::{Form, ProfileFailure, Profiles};
use keyward_profile::{Profile, ProfileError, cpu, heap};

/// Takes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profilers;

fn written(profile: Result<Profile, ProfileError>, form: Form) -> Result<Bytes, ProfileFailure> {
    let profile = profile.map_err(|error| match error {
        ProfileError::Busy => ProfileFailure::Busy(error.to_string()),
        ProfileError::NotSampling => ProfileFailure::Unavailable(error.to_string()),
        _ => ProfileFailure::Internal(error.to_string()),
    })?;
    Ok(match form {
        Form::Pprof => profile.gzipped().into(),
        Form::Folded => profile.folded().into(),
    })
}

// === impl Profilers ===

impl Profiles for Profilers {
    fn cpu(&self, seconds: u64, frequency: u32, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(async move { written(cpu(Duration::from_secs(seconds), frequency).await, form) })
    }

    fn heap(&self, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(async move { written(heap().await, form) })
    }
}
