//! Where the time goes.

use std::ops::RangeInclusive;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, raise};
use pprof::{ProfilerGuard, ProfilerGuardBuilder, Symbol};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::error::ProfileError;
use crate::profile::{Frame, Profile, Stack, ValueType};

/// How long a profile may be taken, in seconds.
pub const SECONDS: RangeInclusive<u64> = 1..=60;
/// How long it is taken unless somebody says otherwise.
pub const USUAL_SECONDS: u64 = 10;
/// How often a second of CPU time is looked; more would measure the profiler.
pub const FREQUENCIES: RangeInclusive<u32> = 1..=1000;
/// How often it is looked unless somebody says otherwise: not in step with anything that ticks.
pub const USUAL_FREQUENCY: u32 = 99;

const TYPES: [ValueType; 2] =
    [ValueType { name: "samples", unit: "count" }, ValueType { name: "cpu", unit: "nanoseconds" }];

/// The process has one such clock.
static CLOCK: Semaphore = Semaphore::const_new(1);
static PREPARED: Once = Once::new();

/// Takes a profile of all threads: `frequency` samples a second of CPU time, for so long. Whoever does not
/// wait for it stops it.
///
/// # Errors
///
/// [`ProfileError::Busy`] while another one is taken; when the profiler fails.
pub async fn cpu(duration: Duration, frequency: u32) -> Result<Profile, ProfileError> {
    let clock = CLOCK.try_acquire().map_err(|_| ProfileError::Busy)?;
    let start = SystemTime::now();
    let guard = joined(spawn_blocking(move || start_sampling(frequency)).await)?;
    sleep(duration).await;
    let profile = joined(spawn_blocking(move || read(guard, frequency, start, duration)).await);
    drop(clock);
    profile
}

fn start_sampling(frequency: u32) -> Result<ProfilerGuard<'static>, ProfileError> {
    PREPARED.call_once(prepare);
    sampling(i32::try_from(frequency).unwrap_or(i32::MAX))
}

fn sampling(frequency: i32) -> Result<ProfilerGuard<'static>, ProfileError> {
    // Samples ask libgcc and the linker for functions, where an older one of them takes a lock: not from within
    // themselves.
    let builder = ProfilerGuardBuilder::default().frequency(frequency).blocklist(&["libgcc", "ld-linux"]);
    builder.build().map_err(|error| ProfileError::Failed(error.to_string()))
}

/// The first sample reads the tables by which stacks are unwound, which allocates. Inside a signal that may
/// come in the middle of an allocation that must not be; so the first signal comes from here, where nothing
/// is under way, and the clock's own one would come only after a second.
fn prepare() {
    if let Ok(guard) = sampling(1) {
        // Without it the first sample is as it was.
        let _ = raise(Signal::SIGPROF);
        drop(guard);
    }
}

fn read(
    guard: ProfilerGuard<'static>,
    frequency: u32,
    start: SystemTime,
    took: Duration,
) -> Result<Profile, ProfileError> {
    let report = guard.report().build().map_err(|error| ProfileError::Failed(error.to_string()))?;
    drop(guard);
    let period = 1_000_000_000 / i64::from(frequency.max(1));
    let stacks: Vec<Stack> = report
        .data
        .iter()
        .map(|(stack, count)| {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            Stack {
                frames: stack.frames.iter().flatten().map(frame).collect(),
                thread: stack.thread_name_or_id(),
                values: vec![count, count.saturating_mul(period)],
            }
        })
        .collect();
    Ok(Profile::new(&TYPES, period, start, took, &stacks))
}

fn frame(symbol: &Symbol) -> Frame {
    let file = symbol.filename.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Frame { function: symbol.name(), file, line: symbol.lineno() }
}

fn joined<T>(outcome: Result<Result<T, ProfileError>, tokio::task::JoinError>) -> Result<T, ProfileError> {
    outcome.unwrap_or_else(|error| Err(ProfileError::Failed(error.to_string())))
}
