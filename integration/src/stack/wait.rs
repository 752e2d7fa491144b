//! Bounded waiting.

use std::time::{Duration, Instant};

use anyhow::bail;

/// How often a predicate is tried.
const PACE: Duration = Duration::from_millis(10);

/// Tries until something comes.
///
/// # Errors
///
/// When nothing came in time; the message says what was waited for, and why the last try failed.
pub fn until<T>(
    limit: Duration,
    what: &str,
    mut attempt: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(error) if Instant::now() >= deadline => {
                bail!("waited {limit:?} for {what}, in vain: {error:#}")
            }
            Err(_) => std::thread::sleep(PACE),
        }
    }
}

/// Looks again and again for some time; all must be well all the time.
///
/// # Errors
///
/// The first time that it is not.
pub fn throughout(time: Duration, mut look: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        look()?;
        std::thread::sleep(PACE);
    }
    Ok(())
}
