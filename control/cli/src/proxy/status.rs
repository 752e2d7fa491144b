//! `keyward proxy status`.

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::output::{Format, Output, Table};
use crate::remote::{Remote, RemoteArgs};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy status
  keyward proxy status -o json \\
    | jq '.proxies[].workers[] | select(.state != \"Synced\")'

The first table says how each type of configuration stands, and for how long:
SYNCED, STALE while the proxy has not answered to what is newer, NOT SENT, or
NACKED, with the proxy's own words below. The second one is about keys: each
worker of a proxy (its main thread is one) with the filter that it runs, the
newest revision of which it holds all keys, for how long it has lacked newer
ones, and when it last acknowledged any. -o json has the version of each key
table.";

/// Says how the workers of each proxy stand.
const WORKERS: &str = "/keyward/v1/sync";
/// Says how each type of configuration of each proxy stands.
const STANDING: &str = "/keyward/v1/proxies";
/// The types of configuration, in the order in which a request meets them, and their headings.
const TYPES: [(&str, &str); 6] = [
    ("listeners", "LISTENERS"),
    ("routes", "ROUTES"),
    ("extension-configs", "FILTERS"),
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
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    workers: usize,
    confirmed: usize,
    #[serde(default)]
    message: Option<String>,
    proxies: Vec<Proxy>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    node: String,
    workers: Vec<Worker>,
}

/// What the server says of the configuration of proxies.
#[derive(Debug, Deserialize)]
struct Standing {
    proxies: Vec<Configured>,
}

#[derive(Debug, Deserialize)]
struct Configured {
    node: String,
    role: String,
    types: Vec<OneType>,
}

#[derive(Debug, Deserialize)]
struct OneType {
    #[serde(rename = "type")]
    name: String,
    state: String,
    #[serde(default)]
    since: Option<Timestamp>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
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
        "Behind" => "BEHIND",
        "Away" => "AWAY",
        other => other,
    }
}

/// A time that has passed, as short as it tells anything.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m", seconds / 60),
        7_200..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The tables, one below the other.
fn tables(answer: &Answer, standing: &Standing, now: Timestamp) -> String {
    let headings: Vec<&str> =
        ["PROXY", "ROLE"].into_iter().chain(TYPES.iter().map(|(_, heading)| *heading)).collect();
    let mut types = Table::new(&headings);
    let mut workers =
        Table::new(&["PROXY", "WORKER", "KEYS", "FILTER", "REVISION", "LAG", "LAST ACKNOWLEDGED"]);
    let mut refused = Table::new(&["PROXY", "REFUSES", "WHY"]);
    let mut is_refused = false;
    for proxy in &standing.proxies {
        let state = |name: &str| {
            let Some(one) = proxy.types.iter().find(|one| one.name == name) else {
                return "NOT SENT".to_owned();
            };
            let age = one.since.map(|since| format!(" {}", age(since, now))).unwrap_or_default();
            format!("{}{age}", one.state)
        };
        let states = TYPES.iter().map(|(name, _)| state(name));
        types.row([proxy.node.clone(), proxy.role.clone()].into_iter().chain(states));
        for (one, error) in proxy.types.iter().filter_map(|one| Some((one, one.error.as_ref()?))) {
            is_refused = true;
            let why = error.split_whitespace().collect::<Vec<_>>().join(" ");
            refused.row([proxy.node.clone(), one.name.clone(), why]);
        }
    }
    for proxy in &answer.proxies {
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
    }
    let mut text = format!("{types}\n\n{workers}");
    if is_refused {
        text.push_str(&format!("\n\n{refused}"));
    }
    text
}

/// Adds to each proxy how each type of its configuration stands.
fn with_standing(mut body: Value, standing: &Value) -> Value {
    let known = standing["proxies"].as_array().map(Vec::as_slice).unwrap_or_default();
    for proxy in body["proxies"].as_array_mut().into_iter().flatten() {
        let same = |it: &&Value| it["node"] == proxy["node"] && it["role"] == proxy["role"];
        if let Some(found) = known.iter().find(same) {
            proxy["configurationTypes"] = found["types"].clone();
        }
    }
    body
}

/// The tables of a server, and in a sentence whether all have everything.
pub(crate) async fn text(remote: &Remote, now: Timestamp) -> anyhow::Result<String> {
    let body = remote.client.get(WORKERS).await?.body;
    let standing = remote.client.get(STANDING).await?.body;
    let standing: Standing = serde_json::from_value(standing).context("the server is of another version")?;
    let answer: Answer = serde_json::from_value(body).context("the server is of another version")?;
    let all = format!("{} of {} workers hold everything", answer.confirmed, answer.workers);
    Ok(format!("{}\n\n{}\n", tables(&answer, &standing, now), answer.message.unwrap_or(all)))
}

pub(super) async fn run(args: &StatusArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let body = remote.client.get(WORKERS).await?.body;
    let standing = remote.client.get(STANDING).await?.body;
    if args.output != Format::Table {
        return output.show(args.output, &with_standing(body, &standing), String::new);
    }
    let standing: Standing = serde_json::from_value(standing).context("the server is of another version")?;
    let answer: Answer = serde_json::from_value(body).context("the server is of another version")?;
    if answer.proxies.is_empty() {
        output.note("no proxy is connected\nhint: `keyward serve --envoy PATH` runs one");
        return Ok(());
    }
    output.data(tables(&answer, &standing, now))?;
    match answer.message {
        Some(message) => output.note(message),
        None => {
            output.note(format_args!("{} of {} workers hold everything", answer.confirmed, answer.workers))
        }
    }
    Ok(())
}
