//! What a request, a key and a change of a key cost: in Keyward, and in its peers in the same run.
//!
//! ```text
//!  load ─▶ Envoy under test (1 worker) ─┬▶ answers itself
//!   │        ├ no filter                └▶ an Envoy that answers 200
//!   │        ├ its own api_key_auth
//!   │        ├ ext_authz ─gRPC─▶ this program once more: the same keys in a hash table
//!   │        └ keyward   ◀─xDS, key stream─ keyward serve ◀─REST─ revocations, full loads
//!   └▶ CPU time of Envoy per answer, latencies ─▶ table, results.json, plots
//! ```
//!
//! Absolute numbers depend on the machine; the ratios, taken within one round, much less. It is a
//! program and no test: nothing fails because it is slow, but a wrong answer ends the run.

mod anatomy;
mod authz;
mod fleet;
mod full_load;
mod gateway;
mod keys;
mod load;
mod machine;
mod options;
mod peers;
mod plot;
mod process;
mod progress;
mod requests;
mod results;
mod revocation;
mod run;
mod seed;
mod stats;
mod store;
mod table;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::options::{Cli, Peer};

/// As shells say it of whoever was interrupted.
const INTERRUPTED: u8 = 130;

/// Resolves at the first signal that asks to end.
async fn asked_to_end() -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be handled")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be handled")?;
    let mut hangup = signal(SignalKind::hangup()).context("SIGHUP cannot be handled")?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let Some(Peer::ExtAuthz { port, keys }) = cli.peer {
        // One thread: on a machine that is full anyway more of them only take turns.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(authz::serve(port, keys))?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = cli.options.plan()?;
    let done = runtime.block_on(async {
        // Whatever the run has started ends with it, also when it is dropped half-way.
        tokio::select! {
            done = run::run(&plan) => done.map(|()| ExitCode::SUCCESS),
            asked = asked_to_end() => asked.map(|()| {
                progress::say("interrupted");
                ExitCode::from(INTERRUPTED)
            }),
        }
    });
    runtime.shutdown_background();
    done
}
