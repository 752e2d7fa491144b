//! `keyward version`.

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::client::{Answer, VERSION, VERSION_HEADER};
use crate::output::{Format, Output, Table};
use crate::remote::RemoteArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # The version of this program and that of the server:
  keyward version

  # For people:
  keyward version -o table

  # This program alone; no server is asked:
  keyward version --client

Every command that talks to a server compares the two, and warns on standard
error where they differ.";

/// Whose version.
#[derive(Debug, Clone, Args)]
pub struct VersionArgs {
    /// This program alone; no server is asked.
    #[arg(long)]
    client: bool,

    /// How it looks.
    #[arg(long, short, default_value = "json", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What is shown.
#[derive(Debug, Serialize)]
struct Versions {
    client: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Version>,
}

#[derive(Debug, Serialize)]
struct Version {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// What a server says of its version. One of before it said so with every answer names it behind the
/// version of Kubernetes that it is like.
fn said(answer: &Answer) -> Option<String> {
    let header = answer.header(VERSION_HEADER).map(str::to_owned);
    header.or_else(|| behind_the_plus(&answer.body).map(str::to_owned))
}

fn behind_the_plus(body: &Value) -> Option<&str> {
    body["gitVersion"].as_str()?.split_once("+keyward-").map(|(_, version)| version)
}

pub(super) async fn run(args: &VersionArgs, output: &mut Output) -> anyhow::Result<()> {
    let client = Version { version: VERSION.to_owned(), url: None };
    if args.client {
        return show(args.output, &Versions { client, server: None }, output);
    }
    let remote = args.remote.connect()?;
    let answer = remote.client.get("/version").await;
    let server = answer.as_ref().ok().map(|answer| Version {
        version: said(answer).unwrap_or_else(|| "unknown".to_owned()),
        url: Some(remote.client.server().to_owned()),
    });
    // What is known is worth knowing where the server is not there.
    show(args.output, &Versions { client, server }, output)?;
    answer?;
    Ok(())
}

fn show(format: Format, versions: &Versions, output: &mut Output) -> anyhow::Result<()> {
    output.show(format, versions, || {
        let mut table = Table::new(&["", "VERSION", "URL"]);
        let mut row = |name: &str, version: &Version| {
            table.row([name.to_owned(), version.version.clone(), version.url.clone().unwrap_or_default()]);
        };
        row("client", &versions.client);
        if let Some(server) = &versions.server {
            row("server", server);
        }
        table.to_string()
    })
}

#[test]
fn an_older_server_names_its_version_behind_that_of_kubernetes() {
    let body = serde_json::json!({ "gitVersion": "v1.33.0+keyward-0.0.1" });
    assert_eq!(behind_the_plus(&body), Some("0.0.1"));
    assert_eq!(behind_the_plus(&serde_json::json!({ "gitVersion": "v1.33.0" })), None);
}
