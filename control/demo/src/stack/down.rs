//! `keyward demo down`, and the order in which a stack is stopped.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;

use super::args::{DownArgs, data_folder};
use super::process::{self, Found, Role};
use super::state::{Lock, State};
use super::terminal::say;

/// The control server gives its Envoy five seconds to end by itself and five more when killed.
const SERVE_PATIENCE: Duration = Duration::from_secs(15);
const OTHER_PATIENCE: Duration = Duration::from_secs(5);
const UPSTREAM_PATIENCE: Duration = Duration::from_secs(5);
/// Enough for whatever is not stuck.
const HURRY_PATIENCE: Duration = Duration::from_millis(500);
/// All of the above, and the kills.
const FOREGROUND_PATIENCE: Duration = Duration::from_secs(45);

/// How long processes may take to end by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hurry {
    /// As long as an orderly end takes at most.
    No,
    /// Hardly any: somebody asked twice.
    Yes,
}

/// Stops the stack of a data folder.
pub(super) async fn run(args: &DownArgs) -> anyhow::Result<()> {
    if !args.data.exists() {
        say(&format!("nothing runs on {}", args.data.display()));
        return Ok(());
    }
    let data = data_folder(&args.data)?;
    let watched = stop_watcher(&data).await?;
    let _lock = Lock::take(&data)?;
    let stopped = stop(&data, Hurry::No).await?;
    State::remove(&data);
    if stopped == 0 && !watched {
        say(&format!("nothing runs on {}", args.data.display()));
    } else {
        say("everything is stopped");
    }
    Ok(())
}

/// Stops the `up` that watches over the stack, if there is one. It stops its stack by itself, and
/// says so in its own terminal.
pub(super) async fn stop_watcher(data: &Path) -> anyhow::Result<bool> {
    let Some(id) = State::read(data).and_then(|state| state.watcher()) else { return Ok(false) };
    say(&format!("stopping the stack in the foreground (process {})", id.pid));
    let watcher = Found { id, role: Role::Other, name: "keyward demo up".to_owned() };
    process::stop(&[watcher], FOREGROUND_PATIENCE).await?;
    Ok(true)
}

/// Stops every process of a stack in order, and makes sure that none is left. Says how many.
pub(super) async fn stop(data: &Path, hurry: Hurry) -> anyhow::Result<usize> {
    let mut count = 0;
    for (role, patience) in
        [(Role::Serve, SERVE_PATIENCE), (Role::Other, OTHER_PATIENCE), (Role::Upstream, UPSTREAM_PATIENCE)]
    {
        // Looked for anew each time: what one of them leaves behind is found with the next.
        let found: Vec<Found> = process::find(data).into_iter().filter(|found| found.role == role).collect();
        for process in &found {
            say(&format!("stopping {}", process.describe()));
        }
        let patience = if hurry == Hurry::Yes { HURRY_PATIENCE } else { patience };
        process::stop(&found, patience).await?;
        count += found.len();
    }
    let left = process::find(data);
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(Found::describe).collect();
        bail!("processes came up while the stack was stopped: {}", names.join(", "));
    }
    Ok(count)
}
