//! `keyward create upstream static`.

use std::net::Ipv6Addr;

use anyhow::{bail, ensure};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::draft::DraftArgs;
use crate::ended::Ended;
use crate::output::Output;

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # One host, by HTTP:
  keyward create upstream static httpbin --static-hosts httpbin.org:80

  # Several hosts, by HTTPS, as YAML that can be applied:
  keyward create upstream static --name api \\
    --static-hosts 10.0.0.1:8443,10.0.0.2:8443 --static-outbound-tls --dry-run

A host without a port has port 80. TLS is spoken when a port is 443, unless
--static-outbound-tls says otherwise.";

/// The kinds of upstreams.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Creates an upstream with hosts that are known beforehand.
    #[command(after_help = EXAMPLES)]
    Static(Box<StaticArgs>),
}

/// What the upstream is to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct StaticArgs {
    #[command(flatten)]
    draft: DraftArgs,

    /// The hosts, HOST or HOST:PORT, with commas between them; may be given several times.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    static_hosts: Vec<String>,

    /// Whether TLS is spoken to the hosts [default: when a port is 443].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    static_outbound_tls: Option<bool>,
}

/// The port of a host that has none.
const USUAL_PORT: u16 = 80;
/// The port on which TLS is spoken.
const TLS_PORT: u16 = 443;

/// Reads `host`, `host:port`, `[address]` or `[address]:port`.
fn host(text: &str) -> anyhow::Result<(String, u16)> {
    const FORMAT: &str = "invalid host format. format must be IP:PORT or HOSTNAME:PORT eg www.google.com or \
                          www.google.com:80";
    let text = text.trim();
    let (addr, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((addr, rest)) = rest.split_once(']') else { bail!("{FORMAT}: {text:?}") };
            (addr, rest.strip_prefix(':'))
        }
        None if text.parse::<Ipv6Addr>().is_ok() => (text, None),
        None => match text.split_once(':') {
            Some((addr, port)) => (addr, Some(port)),
            None => (text, None),
        },
    };
    if addr.is_empty() || port.is_some_and(|port| port.contains(':')) || addr.contains('/') {
        bail!("{FORMAT}: {text:?}");
    }
    let port = match port {
        None => USUAL_PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => bail!("invalid port on host {text:?}\nhint: a port is a number from 1 to 65535"),
        },
    };
    Ok((addr.to_owned(), port))
}

/// The fields of an upstream with these hosts.
fn fields(hosts: &[String], tls: Option<bool>) -> anyhow::Result<Value> {
    let hosts: Vec<&String> = hosts.iter().filter(|host| !host.trim().is_empty()).collect();
    ensure!(
        !hosts.is_empty(),
        "must provide at least 1 host for static upstream\nhint: --static-hosts httpbin.org:80"
    );
    let hosts: anyhow::Result<Vec<_>> = hosts.into_iter().map(|text| host(text)).collect();
    let hosts = hosts?;
    let list: Vec<Value> = hosts.iter().map(|(addr, port)| json!({ "addr": addr, "port": port })).collect();
    let mut fixed = Map::from_iter([("hosts".to_owned(), Value::from(list))]);
    // Said and not left to the port: what guesses is warned of.
    if let Some(tls) = tls.or_else(|| hosts.iter().any(|(_, port)| *port == TLS_PORT).then_some(true)) {
        fixed.insert("useTls".to_owned(), tls.into());
    }
    Ok(json!({ "spec": { "static": fixed } }))
}

pub(super) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let Command::Static(args) = command;
    let made = |_: &str| fields(&args.static_hosts, args.static_outbound_tls).map_err(Ended::usage);
    args.draft.create("Upstream", made, now, output).await
}
