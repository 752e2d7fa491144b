//! `keyward demo up`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use tokio::process::Child;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::args::{DEFAULT_DATA, Ports, UpArgs, data_folder, loopback};
use super::down::Hurry;
use super::logs::Reader;
use super::probe::Outcome;
use super::process::{self, ProcessId};
use super::quickstart::Quickstart;
use super::rest::Rest;
use super::state::{Lock, State};
use super::terminal::{result, say, spelled};
use super::{down, logs, ports, probe};

/// Opening the store and the ports takes well under a second.
const REST_PATIENCE: Duration = Duration::from_secs(30);
const REST_POLL: Duration = Duration::from_millis(50);
const TERMINAL_POLL: Duration = Duration::from_millis(500);
/// How much of each log an error shows.
const TAIL_LINES: usize = 20;

/// What ends `up`: Ctrl-C, a polite kill, and a terminal that goes away.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    on_terminal: bool,
}

/// The processes that we started.
struct Children {
    serve: Child,
    upstream: Child,
    logs: [(&'static str, PathBuf); 2],
}

/// Starts the stack, unless it runs already.
pub(super) async fn run(args: UpArgs) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let data = data_folder(&args.data)?;
    let lock = Lock::take(&data)?;
    if let Some(state) = State::read(&data).filter(|state| state.serve.is_alive()) {
        return already_up(&state, &data).await;
    }
    if !process::find(&data).is_empty() {
        say("stopping what an earlier run left behind");
        down::stop(&data, Hurry::No).await?;
    }
    ports::check(&args.ports)?;
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
        ready = become_ready(args, data, quickstart) => ready,
        how = children.one_ended() => Err(how),
        never = logs::follow(readers) => match never {},
    };
    match ready {
        Ok(outcome) => {
            logs::show_new(readers);
            result(&summary(&args.ports, data, quickstart, outcome, !args.detach));
            Ok(children)
        }
        // In the foreground the person has just read them.
        Err(error) if args.detach => Err(children.with_logs(&error)),
        Err(error) => Err(error),
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

/// Says where the running stack is. That is success: it is what was asked for.
async fn already_up(state: &State, data: &Path) -> anyhow::Result<()> {
    let rest = Rest::new(state.ports.rest_url())?;
    if !rest.is_ready().await {
        bail!(
            "the stack on {} runs (process {}), but its REST API does not answer\nhint: {} stops it",
            data.display(),
            state.serve.pid,
            stop_command(data)
        );
    }
    say("the stack is up already");
    let quickstart = Quickstart::new(state.ports.upstream)?;
    result(&summary(&state.ports, data, &quickstart, Outcome::Right, false));
    Ok(())
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
    let usual = Path::new(DEFAULT_DATA).canonicalize().is_ok_and(|usual| usual == data);
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

// === impl Children ===

impl Children {
    fn spawn(args: &UpArgs, data: &Path) -> anyhow::Result<Self> {
        let ports = &args.ports;
        let (upstream_log, upstream_path) = logs::create(data, "upstream")?;
        let (serve_log, serve_path) = logs::create(data, "serve")?;

        let listen = loopback(ports.upstream);
        let mut command: Vec<OsString> = vec!["demo-upstream".into(), "--listen".into()];
        command.push(listen.to_string().into());
        let (upstream, upstream_id) = process::spawn(data, !args.detach, &command, upstream_log)?;
        say(&format!("started the echo upstream on {listen} (process {})", upstream_id.pid));

        let mut command: Vec<OsString> = vec!["serve".into(), "--data".into(), data.into()];
        for (flag, port) in [
            ("--rest", ports.rest),
            ("--xds", ports.xds),
            ("--gateway", ports.gateway),
            ("--admin", ports.admin),
        ] {
            command.extend([flag.into(), loopback(port).to_string().into()]);
        }
        if let Some(envoy) = &args.envoy {
            command.extend(["--envoy".into(), envoy.into()]);
        }
        let (serve, serve_id) = process::spawn(data, !args.detach, &command, serve_log)?;
        say(&format!("started the control server on {} (process {})", ports.rest_url(), serve_id.pid));

        let foreground = if args.detach { None } else { ProcessId::current() };
        State { ports: *ports, serve: serve_id, upstream: upstream_id, foreground }.write(data)?;
        Ok(Self { serve, upstream, logs: [("serve", serve_path), ("upstream", upstream_path)] })
    }

    /// Waits until one of them ends, and says how, as an error.
    async fn one_ended(&mut self) -> anyhow::Error {
        let (what, status) = tokio::select! {
            status = self.serve.wait() => ("the control server", status),
            status = self.upstream.wait() => ("the echo upstream", status),
        };
        match status {
            Ok(status) => anyhow!("{what} ended by itself ({status})"),
            Err(error) => anyhow!(error).context(format!("cannot watch over {what}")),
        }
    }

    /// The error with the ends of the logs above it.
    fn with_logs(&self, error: &anyhow::Error) -> anyhow::Error {
        let mut text = format!("{error:#}");
        for (name, path) in &self.logs {
            let lines = logs::tail(path, TAIL_LINES);
            if !lines.is_empty() {
                let _ = write!(text, "\n\nthe end of {}:", path.display());
                for line in lines {
                    let _ = write!(text, "\n  {name:<8} | {line}");
                }
            }
        }
        anyhow!(text)
    }
}
