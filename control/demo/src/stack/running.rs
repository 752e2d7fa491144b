//! A stack that runs already: is it what was asked for, and does it work?

use std::path::{Path, PathBuf};

use anyhow::ensure;

use super::args::UpArgs;
use super::probe::{self, Outcome};
use super::quickstart::Quickstart;
use super::rest::Rest;
use super::state::State;
use super::terminal::{say, spelled};

#[cfg(test)]
mod tests;

/// What is to be done about a running stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Leave it: it works.
    Keep(Outcome),
    /// Stop it and start another, for this reason.
    Replace(String),
}

/// Looks at the stack that the last `up` wrote down, whose control server lives.
pub(super) async fn judge(state: &State, args: &UpArgs, data: &Path) -> Verdict {
    let differences = differences(state, args, state.serve.runs_this_program());
    if !differences.is_empty() && state.watcher().is_none() {
        return Verdict::Replace(format!("the running stack {}", differences.join(", ")));
    }
    match check(state, data).await {
        Ok(outcome) => {
            // Somebody looks at it in another terminal: it is not taken away from them.
            if !differences.is_empty() {
                let (what, down) = (differences.join(", "), spelled("down"));
                say(&format!(
                    "warning: the stack in the foreground {what}\nhint: stop it ({down}) and start it anew"
                ));
            }
            Verdict::Keep(outcome)
        }
        Err(error) => Verdict::Replace(format!("the running stack is broken: {error:#}")),
    }
}

/// How a running stack differs from what is asked for.
fn differences(state: &State, args: &UpArgs, same_program: bool) -> Vec<String> {
    let mut differences: Vec<String> = state
        .ports
        .all()
        .into_iter()
        .zip(args.ports.all())
        .filter(|((runs, ..), (asked, ..))| runs != asked)
        .map(|((runs, what, ..), (asked, ..))| format!("has {what} on port {runs}, not {asked}"))
        .collect();
    if state.envoy != args.envoy {
        let name = |envoy: &Option<PathBuf>| {
            envoy.as_ref().map_or_else(|| "the usual one".to_owned(), |path| path.display().to_string())
        };
        differences.push(format!("has {} as its Envoy, not {}", name(&state.envoy), name(&args.envoy)));
    }
    if !same_program {
        differences.push("is of another build of keyward".to_owned());
    }
    differences
}

/// Checks every part of a running stack, and puts back quickstart objects that are gone.
async fn check(state: &State, data: &Path) -> anyhow::Result<Outcome> {
    ensure!(state.upstream.is_alive(), "the echo upstream has ended");
    ensure!(probe::answers(&state.ports.upstream_url()).await, "the echo upstream does not answer");
    let rest = Rest::new(state.ports.rest_url())?;
    ensure!(rest.is_ready().await, "its REST API does not answer");
    let quickstart = Quickstart::new(state.ports.upstream)?;
    let applied = quickstart.apply(&rest, data).await?;
    if let Some(summary) = applied.summary() {
        say(&format!("quickstart objects: {summary}"));
    }
    probe::still_right(&state.ports.gateway_url(), &quickstart, !applied.kept.is_empty()).await
}
