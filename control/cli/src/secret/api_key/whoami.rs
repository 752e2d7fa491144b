//! `keyward secret apikey whoami`.

use std::io::IsTerminal as _;

use anyhow::{bail, ensure};
use clap::Args;
use keyward_filter_core::generated::{self, Shape};
use serde_json::{Value, json};

use crate::hex::hex;
use crate::key::{Text, read, sha256};
use crate::output::{Format, Output, Table};
use crate::remote::RemoteArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # From standard input, so that the key stands in no history and no list
  # of processes:
  keyward secret apikey whoami < alice.key
  keyward secret apikey whoami kw_0000000000000000000000_0lgXbD -o json

Exit codes: 0 somebody has this key, 1 nobody has it, or it could not be found
out.";

const PATH: &str = "/keyward/v1/whoami";

/// Which key.
#[derive(Debug, Clone, Args)]
pub struct WhoAmIArgs {
    /// The key [default: read from standard input].
    #[arg(value_name = "KEY")]
    key: Option<Text>,

    /// How the answer looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn table(holders: &[Value]) -> String {
    let mut table = Table::new(&["IDENTITY", "NAMESPACE", "KEY ID", "STATE", "EXPIRES", "ACCEPTED BY"]);
    for holder in holders {
        let accepted: Vec<String> = holder["acceptedBy"].as_array().into_iter().flatten().map(text).collect();
        let previous = if holder["previous"] == true { " (previous)" } else { "" };
        table.row([
            text(&holder["identity"]),
            text(&holder["namespace"]),
            text(&holder["keyId"]),
            format!("{}{previous}", text(&holder["state"])),
            holder["expires"].as_str().unwrap_or("never").to_owned(),
            if accepted.is_empty() { "nobody".to_owned() } else { accepted.join(", ") },
        ]);
    }
    table.to_string()
}

pub(super) async fn run(args: &WhoAmIArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let key = match &args.key {
        Some(key) => key.as_bytes().to_vec(),
        None => {
            let stdin = std::io::stdin();
            if stdin.is_terminal() {
                output.note("the key, and then Ctrl-D:");
            }
            read(&mut stdin.lock())?
        }
    };
    ensure!(!key.is_empty(), "no key is given\nhint: write it to standard input, or behind the command");
    let answer = remote.client.ask(PATH, &json!({ "sha256": hex(&sha256(&key)) })).await?;
    let holders = answer.body["holders"].as_array().cloned().unwrap_or_default();
    if !holders.is_empty() || args.output != Format::Table {
        output.show(args.output, &holders, || table(&holders))?;
    }
    if holders.is_empty() {
        let hint = match generated::shape(&key) {
            Shape::Damaged => {
                "it begins like a key that Keyward made, and its checksum is wrong: mistyped, or cut off?"
            }
            Shape::Generated => "it is whole, so it was revoked, or it is a key of another installation",
            Shape::Foreign => "it was revoked, or mistyped, or it is for another installation",
        };
        bail!("nobody has this key\nhint: {hint}");
    }
    Ok(())
}
