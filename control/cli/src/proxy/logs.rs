//! `keyward proxy logs`.

use anyhow::bail;
use clap::Args;

use super::admin::NameArgs;
use crate::client::{Client, Stream, query};
use crate::ends::Ends;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy logs --tail 100
  keyward proxy logs -f                      # at debug, until Ctrl-C
  keyward proxy logs -f --no-level-change    # at whatever level it is
  keyward proxy logs --errors-only

With -f the server raises the log level of the proxy, and puts it back to what
it was when the last one who follows ends, however that happens. What writes
whole requests stays at info, so that no API key is in the log.";

const PATH: &str = "/keyward/v1/logs";
/// In which the server says at which level the proxy logs meanwhile, or why not.
const LEVEL: &str = "keyward-log-level";
const NO_LEVEL: &str = "keyward-log-level-unchanged";

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

    /// The level of the proxy's log while it is followed: nothing in it is less verbose.
    #[arg(long, default_value = "debug", value_name = "LEVEL",
          value_parser = ["trace", "debug", "info", "warning", "error", "critical", "off"])]
    level: String,

    /// Leaves the level as it is.
    #[arg(long, conflicts_with = "level")]
    no_level_change: bool,

    #[command(flatten)]
    proxy: NameArgs,
}

/// The proxy whose log the server has.
const SUPERVISED: &str = "gateway-proxy";

pub(super) async fn run(args: &LogsArgs, output: &mut Output) -> anyhow::Result<()> {
    if args.proxy.name != SUPERVISED {
        bail!(
            "the server keeps the log of {SUPERVISED}, which it runs, and of no other\nhint: the log of {} is on the \
             machine where it runs",
            args.proxy.name
        );
    }
    let client = Client::new(&args.proxy.remote.target()?)?;
    let mut ends = Ends::new()?;
    let mut stream = open(args, &client).await?;
    match (stream.header(LEVEL), stream.header(NO_LEVEL)) {
        (Some(level), _) => {
            output.note(format_args!("the log level of the proxy is {level} until this ends"))
        }
        (None, Some(why)) => output.note(format_args!("the log level stays as it is: {why}")),
        (None, None) if args.level().is_some() => {
            output.note("the log level stays as it is: this server does not raise it");
        }
        (None, None) => {}
    }
    show(&mut stream, &mut ends, output).await
}

async fn open(args: &LogsArgs, client: &Client) -> anyhow::Result<Stream> {
    let tail = args.tail.map(|tail| tail.to_string());
    let mut pairs = vec![("component", SUPERVISED)];
    pairs.extend(tail.as_deref().map(|tail| ("tail", tail)));
    pairs.extend(args.follow.then_some(("follow", "true")));
    pairs.extend(args.level().map(|level| ("level", level)));
    pairs.extend(args.errors_only.then_some(("errorsOnly", "true")));
    client.lines(&query(PATH, &pairs)).await.map_err(Into::into)
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
            _ = ends.any() => return Ok(()),
        }
    }
}

// === impl LogsArgs ===

impl LogsArgs {
    /// The level that the proxy is to log at meanwhile.
    fn level(&self) -> Option<&str> {
        (self.follow && !self.no_level_change).then_some(self.level.as_str())
    }
}
