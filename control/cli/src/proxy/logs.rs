//! `keyward proxy logs`.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::admin::{Admin, AdminArgs};
use super::loggers::{Loggers, Raised};
use crate::client::{Client, Stream, query};
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy logs --tail 100
  keyward proxy logs -f                      # at debug, until Ctrl-C
  keyward proxy logs -f --no-level-change    # at whatever level it is
  keyward proxy logs --errors-only

With -f the log level of the proxy is raised, and put back to what it was when the command ends, also by Ctrl-C.
What writes whole requests stays at info, so that no API key is in the log.";

const PATH: &str = "/keyward/v1/logs";
/// How long putting levels back may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is shown.
#[derive(Debug, Clone, Args)]
pub struct LogsArgs {
    /// Goes on with what is logged from now on.
    #[arg(long, short)]
    follow: bool,

    /// The last lines alone [default: all that the server has kept].
    #[arg(long, value_name = "N")]
    tail: Option<usize>,

    /// Lines that say that something went wrong, and no others.
    #[arg(long)]
    errors_only: bool,

    /// The level of the proxy's log while it is followed.
    #[arg(long, default_value = "debug", value_name = "LEVEL",
          value_parser = ["trace", "debug", "info", "warning", "error", "critical", "off"])]
    level: String,

    /// Leaves the level as it is.
    #[arg(long, conflicts_with = "level")]
    no_level_change: bool,

    #[command(flatten)]
    admin: AdminArgs,
}

/// What tells a command to end.
struct Ends([Signal; 3]);

/// The proxy whose log the server has.
const SUPERVISED: &str = "gateway-proxy";

pub(super) async fn run(args: &LogsArgs, output: &mut Output) -> anyhow::Result<()> {
    if args.admin.proxy.name != SUPERVISED {
        bail!(
            "the server keeps the log of {SUPERVISED}, which it runs, and of no other\nhint: the log of {} is on the \
             machine where it runs",
            args.admin.proxy.name
        );
    }
    let client = Client::new(&args.admin.proxy.remote.target()?)?;
    let mut stream = open(args, &client).await?;
    // From here on nothing ends this process before levels are back.
    let mut ends = Ends::new()?;
    let changed = if args.follow && !args.no_level_change { raise(args, output).await } else { None };
    let shown = show(&mut stream, &mut ends, output).await;
    if let Some((admin, before)) = changed {
        match timeout(PATIENCE, before.restore(&admin)).await.context("it takes too long").flatten() {
            Ok(()) => output.note("the log level of the proxy is what it was"),
            Err(error) => output.note(format_args!(
                "the log level of the proxy may not be what it was: {error:#}\nhint: POST {}/logging?level=warning \
                 sets it",
                admin.url()
            )),
        }
    }
    shown
}

async fn open(args: &LogsArgs, client: &Client) -> anyhow::Result<Stream> {
    let tail = args.tail.map(|tail| tail.to_string());
    let mut pairs = vec![("component", SUPERVISED)];
    pairs.extend(tail.as_deref().map(|tail| ("tail", tail)));
    pairs.extend(args.follow.then_some(("follow", "true")));
    pairs.extend(args.errors_only.then_some(("errorsOnly", "true")));
    client.lines(&query(PATH, &pairs)).await.map_err(Into::into)
}

/// Raises the level, or says why that is not possible: the log is there all the same.
async fn raise(args: &LogsArgs, output: &mut Output) -> Option<(Admin, Loggers)> {
    let raised = async {
        let admin = args.admin.open().await?;
        let raised = Loggers::raise(&admin, &args.level).await?;
        anyhow::Ok((admin, raised))
    };
    match raised.await {
        Ok((admin, Raised::From(before))) => {
            output.note(format_args!("the log level of the proxy is {} until this ends", args.level));
            Some((admin, before))
        }
        Ok((admin, Raised::Not(why))) => {
            output.note(format_args!("the log level stays as it is: {}: {why}", admin.url()));
            None
        }
        Err(error) => {
            output.note(format_args!("the log level stays as it is: {error:#}"));
            None
        }
    }
}

async fn show(stream: &mut Stream, ends: &mut Ends, output: &mut Output) -> anyhow::Result<()> {
    loop {
        tokio::select! {
            chunk = stream.chunk() => match chunk? {
                Some(chunk) => {
                    if !output.part(&chunk)? {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            },
            () = ends.any() => return Ok(()),
        }
    }
}

// === impl Ends ===

impl Ends {
    fn new() -> anyhow::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
