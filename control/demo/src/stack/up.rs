//! `keyward demo up`.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

use super::args::{DEFAULT_DATA, Ports, UpArgs, data_folder};
use super::children::Children;
use super::down::Hurry;
use super::logs::Reader;
use super::probe::Outcome;
use super::quickstart::Quickstart;
use super::rest::Rest;
use super::running::{self, Verdict};
use super::state::{Lock, State};
use super::terminal::{result, say, spelled};
use super::{down, logs, ports, probe, process};

/// Opening the store and the ports takes well under a second.
const REST_PATIENCE: Duration = Duration::from_secs(30);
/// So long a process may take to end that answers with errors because it ends.
const LAST_WORDS: Duration = Duration::from_secs(1);
const REST_POLL: Duration = Duration::from_millis(50);
const TERMINAL_POLL: Duration = Duration::from_millis(500);

/// What ends `up`: Ctrl-C, a polite kill, and a terminal that goes away.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    on_terminal: bool,
}

/// Starts the stack, unless it runs already.
pub(super) async fn run(mut args: UpArgs) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let data = data_folder(&args.data)?;
    let lock = Lock::take(&data)?;
    // By a name that stays true in another folder, where there is such a file.
    args.envoy = args.envoy.map(|envoy| std::path::absolute(&envoy).unwrap_or(envoy));
    if let Some(state) = State::read(&data).filter(|state| state.serve.is_alive()) {
        let verdict = tokio::select! {
            verdict = running::judge(&state, &args, &data) => verdict,
            () = signals.any() => bail!("interrupted; the stack runs on"),
        };
        match verdict {
            Verdict::Keep(outcome) => {
                say("the stack is up already");
                let quickstart = Quickstart::new(state.ports.upstream)?;
                result(&summary(&state.ports, &data, &quickstart, outcome, false));
                return Ok(());
            }
            Verdict::Replace(why) => {
                // What works is not stopped for what cannot start.
                ports::check(&args.ports, Some(&state.ports))?;
                say(&format!("{why}; starting it anew"));
                down::stop_watcher(&data).await?;
            }
        }
    } else if !process::find(&data).is_empty() {
        say("stopping what an earlier run left behind");
    }
    down::stop(&data, Hurry::No).await?;
    State::remove(&data);
    ports::check(&args.ports, None)?;
    let quickstart = Quickstart::new(args.ports.upstream)?;

    let mut readers = Vec::new();
    let started = tokio::select! {
        started = start(&args, &data, &quickstart, &mut readers) => started,
        () = signals.any() => Err(anyhow!("interrupted")),
    };
    let outcome = match started {
        Ok(_) if args.detach => return Ok(()),
        Ok(mut children) => {
            // The stack may now be stopped by a `down` too, which asks us to do it.
            drop(lock);
            tokio::select! {
                () = signals.any() => Ok(()),
                how = children.one_ended() => Err(how),
                never = logs::follow(&mut readers) => match never {},
            }
        }
        Err(error) => Err(error),
    };
    let stopped = stop(&data, &mut signals, &mut readers).await;
    State::remove(&data);
    stopped?;
    say("everything is stopped");
    outcome
}

/// Starts the processes and waits until the gateway answers right. Whoever drops this future, or
/// gets an error, has to stop what runs on the data folder.
async fn start(
    args: &UpArgs,
    data: &Path,
    quickstart: &Quickstart,
    readers: &mut Vec<Reader>,
) -> anyhow::Result<Children> {
    let mut children = Children::spawn(args, data)?;
    if !args.detach {
        for (name, path) in &children.logs {
            readers.push(Reader::open(name, path)?);
        }
    }
    let ready = tokio::select! {
        ready = become_ready(args, data, quickstart) => match ready {
            Ok(outcome) => Ok(outcome),
            // Of one that is about to end the last answers are errors: its end says more.
            Err(error) => Err(timeout(LAST_WORDS, children.one_ended()).await.unwrap_or(error)),
        },
        how = children.one_ended() => Err(how),
        never = logs::follow(readers) => match never {},
    };
    match ready {
        Ok(outcome) => {
            logs::show_new(readers);
            result(&summary(&args.ports, data, quickstart, outcome, !args.detach));
            Ok(children)
        }
        // In the foreground the person has just read most of them.
        Err(error) => Err(children.with_logs(&error, !args.detach)),
    }
}

async fn become_ready(args: &UpArgs, data: &Path, quickstart: &Quickstart) -> anyhow::Result<Outcome> {
    let rest = Rest::new(args.ports.rest_url())?;
    let deadline = Instant::now() + REST_PATIENCE;
    while !rest.is_ready().await {
        if Instant::now() > deadline {
            bail!("the control server is not ready after {} s", REST_PATIENCE.as_secs());
        }
        sleep(REST_POLL).await;
    }
    let applied = quickstart.apply(&rest, data).await.context("cannot apply the quickstart objects")?;
    if let Some(summary) = applied.summary() {
        say(&format!("quickstart objects: {summary}"));
    }
    say("waiting until the gateway answers right");
    probe::until_right(&args.ports.gateway_url(), quickstart, !applied.kept.is_empty()).await
}

/// Waits until stderr is no terminal any more. The kernel sends SIGHUP to the leader of the session
/// alone; where that is a program that keeps it to itself, nobody else would tell us.
async fn terminal_gone() {
    while std::io::stderr().is_terminal() {
        sleep(TERMINAL_POLL).await;
    }
}

/// Stops everything in order, showing the logs. Asked once more, it kills.
async fn stop(data: &Path, signals: &mut Signals, readers: &mut [Reader]) -> anyhow::Result<usize> {
    let stopped = tokio::select! {
        stopped = down::stop(data, Hurry::No) => stopped,
        () = signals.any() => down::stop(data, Hurry::Yes).await,
        never = logs::follow(readers) => match never {},
    };
    logs::show_new(readers);
    stopped
}

fn summary(
    ports: &Ports,
    data: &Path,
    quickstart: &Quickstart,
    outcome: Outcome,
    foreground: bool,
) -> String {
    let (gateway, rest, logs) = (ports.gateway_url(), ports.rest_url(), logs::folder(data));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\nKeyward is up.\n\n  gateway  {gateway}\n  REST     {rest}\n  logs     {}\n",
        logs.display()
    );
    let _ = writeln!(text, "Denied, because there is no key:\n  curl -i {gateway}/\n");
    let _ = writeln!(
        text,
        "Allowed, as user {}:\n  curl -i -H 'api-key: {}' {gateway}/\n",
        quickstart.user, quickstart.key
    );
    if outcome == Outcome::Other {
        let _ = writeln!(text, "You changed some of the objects, so the answers may be others.\n");
    }
    if foreground {
        text.push_str("Ctrl-C stops everything.\n\n");
    } else {
        let _ = writeln!(text, "Stop it with: {}", stop_command(data));
    }
    text
}

/// The command that stops the stack on `data`, to be pasted.
fn stop_command(data: &Path) -> String {
    // `./x` may be called from anywhere; its usual folder is that of the checkout.
    let usual = std::env::var_os("KEYWARD_USUAL_DATA").unwrap_or_else(|| DEFAULT_DATA.into());
    let usual = Path::new(&usual).canonicalize().is_ok_and(|usual| usual == data);
    if usual { spelled("down") } else { format!("{} --data '{}'", spelled("down"), data.display()) }
}

// === impl Signals ===

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            on_terminal: std::io::stderr().is_terminal(),
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
            () = terminal_gone(), if self.on_terminal => {}
        }
        // Once: a terminal that is gone does not ask twice.
        self.on_terminal = false;
    }
}
