//! `keyward explain`: what becomes of a request, and why, step by step, without sending it.
//!
//! The key stays here: the server is told the digests that the policy of the route would look up.

mod request;
mod send;

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use keyward_explain::{Entry, Explanation, Keys, Lookups, Request, Served, Verdict, hex, plan, unhex};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, query};
use crate::ended::Ended;
use crate::output::{Format, Output};
use crate::remote::RemoteArgs;

use self::request::RequestArgs;
use self::send::{SendArgs, Sent};

pub(crate) const EXAMPLES: &str = "\
Examples:
  keyward explain --host site.example --path /orders
  # With a key, which stands in no history and is not sent to the control
  # server:
  keyward explain --host site.example --path /orders --key-stdin < alice.key
  keyward explain --host site.example --path /orders -X POST \\
    --header 'x-team: a' -o json
  # A listener with TLS, and one of several Gateways:
  keyward explain --host site.example --path / --tls --gateway public
  # Sends the request too, and compares:
  keyward explain --host site.example --path /orders --key-stdin --send \\
    < alice.key

It is worked out from what the proxy is served, by the code that the filter
runs, and the clock of this machine. Clients are not told why they are denied:
what --send compares is the status, and whether it is the gateway that refuses.

Exit codes: 0 allowed, or answered by the gateway without being refused; 4
denied; 5 no route; 6 sent, and answered otherwise than explained; 7 it cannot
be told; 1 it failed, 2 usage.";

const SERVED: &str = "/keyward/v1/served";
const SYNC: &str = "/keyward/v1/sync";
const RECORDS: &str = "/keyward/v1/explain/records";
const DENIED: u8 = 4;
const NO_ROUTE: u8 = 5;
const MISMATCH: u8 = 6;
const UNTOLD: u8 = 7;

/// What is asked about.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    request: RequestArgs,

    /// The proxy: its name, or its role `<namespace>~<name>`.
    #[arg(long, value_name = "NAME", default_value = "gateway-proxy")]
    proxy: String,

    /// The Gateway, `name` or `namespace/name`, or the name of a listener.
    #[arg(long, value_name = "NAME")]
    gateway: Option<String>,

    /// The port of the listener.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    #[command(flatten)]
    send: SendArgs,

    /// How the explanation looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What the server says of keys.
#[derive(Debug, Deserialize)]
struct Records {
    tables: BTreeMap<String, BTreeMap<String, String>>,
}

/// The records of the keys that decide.
async fn keys(client: &Client, role: &str, lookups: &Lookups) -> anyhow::Result<Keys> {
    let mut keys = Keys::new();
    if lookups.is_empty() {
        return Ok(keys);
    }
    let tables: BTreeMap<&str, Vec<String>> =
        lookups.iter().map(|(table, digests)| (table.as_str(), digests.iter().map(hex).collect())).collect();
    let answer = client.ask(RECORDS, &json!({ "role": role, "tables": tables })).await?.body;
    let Records { tables } = Records::deserialize(&answer).context("the server is of another version")?;
    for (table, records) in tables {
        let records = records.iter().map(|(digest, record)| Some((unhex(digest)?, bytes(record)?)));
        let records: Option<_> = records.collect();
        keys.insert(&table, &records.context("the server is of another version")?)?;
    }
    Ok(keys)
}

/// Says who does not yet do what is explained: that is what is published.
async fn note_lag(client: &Client, output: &mut Output) {
    // The explanation is as good without this.
    if let Ok(answer) = client.get(SYNC).await
        && let Some(message) = answer.body["message"].as_str()
    {
        output.note(format_args!("not every proxy has this yet: {message}"));
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// With what the command ends.
fn end(explanation: &Explanation, sent: Option<&Sent>) -> anyhow::Result<()> {
    let code = match explanation.verdict {
        Verdict::Untold => UNTOLD,
        _ if sent.is_some_and(|sent| sent.difference.is_some()) => MISMATCH,
        Verdict::Allowed | Verdict::Answered => return Ok(()),
        Verdict::Denied => DENIED,
        Verdict::NoRoute => NO_ROUTE,
    };
    Err(Ended::told(code))
}

fn show(
    format: Format,
    explanation: &Explanation,
    sent: Option<&Sent>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let mut shown = serde_json::to_value(explanation)?;
    if let Some(sent) = sent {
        shown["sent"] = serde_json::to_value(sent)?;
    }
    output.show(format, &shown, || match sent {
        Some(sent) => format!("{explanation}\n{sent}"),
        None => explanation.to_string(),
    })
}

pub(crate) async fn run(args: &ExplainArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let mut request: Request = args.request.request()?;
    let key = args.request.key(output)?;
    let remote = args.remote.connect()?;
    let role = match args.proxy.contains('~') {
        true => args.proxy.clone(),
        false => format!("{}~{}", args.remote.installation().await?, args.proxy),
    };
    let served: Value = remote.client.get(&query(SERVED, &[("role", &role)])).await?.body;
    let served = Served::read(&served)?;
    let entry = Entry { gateway: args.gateway.clone(), port: args.port };
    if let Some(key) = key {
        // Where it stands is for the policy to say, and that is the route's.
        let place = plan(&served, &entry, &request)?.key_place();
        request.put_key(&place, &key)?;
    }
    let plan = plan(&served, &entry, &request)?;
    let (address, port) = plan.address();
    let gateway = args.send.gateway(address, port, request.tls.is_some());
    let keys = keys(&remote.client, &role, &plan.lookups()).await?;
    let now = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let explanation = plan.explain(&keys, now);
    let sent = match gateway {
        Some(url) => Some(args.send.send(&url, &request, &explanation).await?),
        None => None,
    };
    show(args.output, &explanation, sent.as_ref(), output)?;
    note_lag(&remote.client, output).await;
    end(&explanation, sent.as_ref())
}
