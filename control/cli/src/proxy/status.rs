//! `keyward proxy status`.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::output::{Format, Output, Table};
use crate::remote::RemoteArgs;

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy status
  keyward proxy status -o json | jq '.proxies[].workers[] | select(.state != \"Synced\")'

The first table says how each type of configuration stands: SYNCED, STALE while the proxy has not answered to what
is newer, NOT SENT, or NACKED, with the proxy's own words below. The second one is about keys: each worker of a
proxy (its main thread is one) with the filter that it runs, the newest revision of which it holds all keys, for
how long it has lacked newer ones, and when it last acknowledged any. -o json has the version of each key table.";

const PATH: &str = "/keyward/v1/sync";
/// The types of configuration, in the order in which a request meets them, and their headings.
const TYPES: [(&str, &str); 7] = [
    ("listeners", "LISTENERS"),
    ("routes", "ROUTES"),
    ("virtualHosts", "VIRTUAL HOSTS"),
    ("filters", "FILTERS"),
    ("clusters", "CLUSTERS"),
    ("endpoints", "ENDPOINTS"),
    ("secrets", "SECRETS"),
];

/// What is shown.
#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    /// How it looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What the server says, as far as it is shown.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    synced: bool,
    workers: usize,
    confirmed: usize,
    #[serde(default)]
    message: Option<String>,
    proxies: Vec<Proxy>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    node: String,
    role: String,
    #[serde(default)]
    types: BTreeMap<String, OneType>,
    workers: Vec<Worker>,
}

#[derive(Debug, Deserialize, Serialize)]
struct OneType {
    state: String,
    #[serde(default)]
    refused: Vec<Refused>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Refused {
    name: String,
    message: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Worker {
    name: String,
    state: String,
    build: String,
    revision: String,
    lag_milliseconds: u64,
    #[serde(default)]
    last_acknowledged: Option<String>,
}

fn word(state: &str) -> &str {
    match state {
        "Synced" => "SYNCED",
        "Stale" => "STALE",
        "NotSent" => "NOT SENT",
        "Nacked" => "NACKED",
        "Behind" => "BEHIND",
        "Away" => "AWAY",
        other => other,
    }
}

/// The tables, one below the other.
fn tables(answer: &Answer) -> String {
    let headings: Vec<&str> =
        ["PROXY", "ROLE"].into_iter().chain(TYPES.iter().map(|(_, heading)| *heading)).collect();
    let mut types = Table::new(&headings);
    let mut workers =
        Table::new(&["PROXY", "WORKER", "KEYS", "FILTER", "REVISION", "LAG", "LAST ACKNOWLEDGED"]);
    let mut refused = Table::new(&["PROXY", "REFUSES", "WHY"]);
    let mut is_refused = false;
    for proxy in &answer.proxies {
        let state = |name: &str| proxy.types.get(name).map_or("NOT SENT", |one| word(&one.state)).to_owned();
        let states = TYPES.iter().map(|(name, _)| state(name));
        types.row([proxy.node.clone(), proxy.role.clone()].into_iter().chain(states));
        for worker in &proxy.workers {
            workers.row([
                proxy.node.clone(),
                worker.name.clone(),
                word(&worker.state).to_owned(),
                worker.build.clone(),
                worker.revision.clone(),
                format!("{} ms", worker.lag_milliseconds),
                worker.last_acknowledged.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        for (name, one) in
            proxy.types.iter().flat_map(|(name, one)| one.refused.iter().map(move |it| (name, it)))
        {
            is_refused = true;
            let why = one.message.split_whitespace().collect::<Vec<_>>().join(" ");
            refused.row([proxy.node.clone(), format!("{name}/{}", one.name), why]);
        }
    }
    let mut text = format!("{types}\n\n{workers}");
    if is_refused {
        text.push_str(&format!("\n\n{refused}"));
    }
    text
}

pub(super) async fn run(args: &StatusArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let body = remote.client.get(PATH).await?.body;
    if args.output != Format::Table {
        return output.show(args.output, &body, String::new);
    }
    let answer: Answer = serde_json::from_value(body).context("the server is of another version")?;
    if answer.proxies.is_empty() {
        output.note("no proxy is connected\nhint: `keyward serve --envoy PATH` runs one");
        return Ok(());
    }
    output.data(tables(&answer))?;
    match answer.message {
        Some(message) => output.note(message),
        None => {
            output.note(format_args!("{} of {} workers hold everything", answer.confirmed, answer.workers))
        }
    }
    Ok(())
}
