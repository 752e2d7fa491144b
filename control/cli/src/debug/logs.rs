//! `keyward debug logs`.

use std::path::{Path, PathBuf};

use clap::Args;
use http::{Method, StatusCode};
use jiff::Timestamp;

use super::scrub;
use crate::client::{Client, Text, query};
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::save::{self, Existing, Part};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward debug logs
  keyward debug logs --errors-only
  keyward debug logs -f keyward-logs.txt
  keyward debug logs --zip  # keyward-logs-TIME.zip, a file a component

The last lines that the server has kept, 10,000 of each component at most.
`keyward proxy logs -f` follows those of the proxy.";

const PATH: &str = "/keyward/v1/logs";
/// Whose logs there are.
pub(super) const COMPONENTS: [&str; 2] = ["control", "gateway-proxy"];

/// Which logs, and where to.
#[derive(Debug, Clone, Args)]
pub struct LogsArgs {
    /// The file to write [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Lines that say that something went wrong, and no others.
    #[arg(long)]
    errors_only: bool,

    /// Writes a zip file, to --file or to a name that says of when it is, and prints its path.
    #[arg(long)]
    zip: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// The log of a component; none when this server has no such component.
pub(super) async fn fetch(
    client: &Client,
    component: &str,
    errors_only: bool,
) -> anyhow::Result<Option<String>> {
    let mut pairs = vec![("component", component)];
    pairs.extend(errors_only.then_some(("errorsOnly", "true")));
    let Text { status, body } = client.text(Method::GET, &query(PATH, &pairs)).await?;
    match status {
        StatusCode::OK => Ok(Some(scrub::text(&body))),
        // It runs no proxy.
        StatusCode::BAD_REQUEST => Ok(None),
        // Asked again in the way that knows what to say of failures.
        _ => {
            client.lines(&query(PATH, &pairs)).await?;
            Ok(None)
        }
    }
}

pub(super) async fn run(args: &LogsArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let client = args.remote.connect()?.client;
    let mut parts: Vec<Part> = Vec::new();
    for component in COMPONENTS {
        match fetch(&client, component, args.errors_only).await? {
            Some(log) => parts.push((format!("{component}.log"), log)),
            None => output.note(format_args!(
                "the server has no log of {component}: it runs none\nhint: the log of a proxy that runs elsewhere is there"
            )),
        }
    }
    if args.zip {
        let (path, existing) = match &args.file {
            Some(file) => (file.clone(), Existing::Replaced),
            None => (Path::new(".").join(save::name("logs", now)), Existing::Kept),
        };
        save::zip(&path, existing, &parts)?;
        return output.data(path.display());
    }
    let text: String = parts.iter().map(|(name, log)| section(name, log)).collect();
    match &args.file {
        Some(file) => {
            save::text(file, &text)?;
            output.note(format_args!("the logs are in {}", file.display()));
            Ok(())
        }
        None => output.part(text.as_bytes()).map(drop),
    }
}

fn section(name: &str, log: &str) -> String {
    let end = if log.is_empty() || log.ends_with('\n') { "" } else { "\n" };
    format!("==> {name} <==\n{log}{end}")
}
