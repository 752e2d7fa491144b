//! `keyward proxy url` and `keyward proxy address`.

use anyhow::{Context as _, bail};
use clap::Args;
use http::Uri;
use keyward_resource::kind;
use serde_json::Value;

use super::admin::NameArgs;
use super::served::Served;
use crate::client::{ClientError, Place};
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  curl \"$(keyward proxy url)/\"
  keyward proxy url --port https
  keyward proxy address -n keyward-system --name gateway-proxy

Where a proxy listens on all addresses, the host is that of the control server.";

/// Which address.
#[derive(Debug, Clone, Args)]
pub struct AddressArgs {
    /// http, https, or the number of a port [default: http where it is served, else https].
    #[arg(long, value_name = "PORT")]
    port: Option<String>,

    #[command(flatten)]
    name: NameArgs,
}

/// Somewhere that a proxy listens.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listens {
    scheme: &'static str,
    host: String,
    port: u64,
}

/// A listener as it is served.
fn listens(listener: &Value, control: &str) -> Option<Listens> {
    let address = &listener["address"]["socketAddress"];
    let chains = listener["filterChains"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_tls = chains.iter().any(|chain| !chain["transportSocket"].is_null());
    Some(at(address["address"].as_str()?, address["portValue"].as_u64()?, is_tls, control))
}

/// A listener as a Proxy object has it.
fn of_object(listener: &Value, control: &str) -> Option<Listens> {
    let is_tls = listener["sslConfigurations"].as_array().is_some_and(|all| !all.is_empty());
    Some(at(listener["bindAddress"].as_str()?, listener["bindPort"].as_u64()?, is_tls, control))
}

fn at(host: &str, port: u64, is_tls: bool, control: &str) -> Listens {
    let everywhere = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    let host = if everywhere { control } else { host };
    let host =
        if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    Listens { scheme: if is_tls { "https" } else { "http" }, host, port }
}

/// The one that is meant.
fn choose(all: &[Listens], port: Option<&str>, proxy: &str) -> anyhow::Result<Listens> {
    let known = || all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let found = match port {
        None => all.iter().find(|it| it.scheme == "http").or(all.first()),
        Some(scheme @ ("http" | "https")) => all.iter().find(|it| it.scheme == scheme),
        Some(number) => {
            let number: u16 = number.parse().ok().with_context(|| {
                format!("{number:?} is no port of a proxy\nhint: --port is http, https or a number")
            })?;
            all.iter().find(|it| it.port == u64::from(number))
        }
    };
    match found {
        Some(found) => Ok(found.clone()),
        None if all.is_empty() => bail!(
            "the proxy {proxy} listens nowhere\nhint: a Gateway is opened once a VirtualService has routes on it; \
             `keyward proxy status` shows the proxies"
        ),
        None => bail!(
            "the proxy {proxy} has no port {}\nhint: it listens on {}",
            port.unwrap_or_default(),
            known()
        ),
    }
}

async fn find(args: &AddressArgs, output: &mut Output) -> anyhow::Result<Listens> {
    let server = args.name.remote.target()?.server;
    let control = server.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let control = control.unwrap_or_else(|| "127.0.0.1".to_owned());
    let mut all: Vec<Listens> = match Served::ask(&args.name).await {
        Ok(served) => served.listeners.iter().filter_map(|listener| listens(listener, &control)).collect(),
        // What is told to proxies is for admins. Whoever may read objects sees the same in this one, a moment
        // later.
        Err(error) if error.downcast_ref().is_some_and(ClientError::is_forbidden) => {
            let kind = kind::by_name("Proxy").context("Proxy is a kind")?;
            let place = Place::of(kind, &args.name.remote.installation().await?, &args.name.name);
            let proxy = args.name.remote.connect()?.object(&place).await?;
            let listeners = proxy["spec"]["listeners"].as_array().map(Vec::as_slice).unwrap_or_default();
            listeners.iter().filter_map(|listener| of_object(listener, &control)).collect()
        }
        Err(error) => return Err(error),
    };
    all.sort_by_key(|listens| listens.port);
    let chosen = choose(&all, args.port.as_deref(), &args.name.name)?;
    let same = all.iter().filter(|it| it.scheme == chosen.scheme && **it != chosen);
    let same: Vec<String> = same.map(ToString::to_string).collect();
    if args.port.is_none() && !same.is_empty() {
        output.note(format_args!("it listens on {} too; --port NUMBER chooses", same.join(", ")));
    }
    Ok(chosen)
}

pub(super) async fn url(args: &AddressArgs, output: &mut Output) -> anyhow::Result<()> {
    let found = find(args, output).await?;
    output.data(found)
}

pub(super) async fn address(args: &AddressArgs, output: &mut Output) -> anyhow::Result<()> {
    let Listens { host, port, .. } = find(args, output).await?;
    output.data(format_args!("{host}:{port}"))
}

impl std::fmt::Display for Listens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listener(address: &str, port: u16, tls: bool) -> Value {
        let chain = if tls { json!({ "transportSocket": { "name": "tls" } }) } else { json!({}) };
        json!({
            "address": { "socketAddress": { "address": address, "portValue": port } },
            "filterChains": [chain],
        })
    }

    #[test]
    fn the_address_is_one_that_can_be_asked() {
        let shown = |address: &str, tls: bool, control: &str| {
            listens(&listener(address, 8080, tls), control).unwrap().to_string()
        };
        assert_eq!(shown("127.0.0.1", false, "127.0.0.1"), "http://127.0.0.1:8080");
        assert_eq!(shown("0.0.0.0", true, "control.example"), "https://control.example:8080");
        assert_eq!(shown("::", false, "[::1]"), "http://[::1]:8080");
        assert_eq!(shown("fd00::1", false, "x"), "http://[fd00::1]:8080");
    }

    #[test]
    fn an_object_says_the_same() {
        let object = json!({ "bindAddress": "::", "bindPort": 8443, "sslConfigurations": [{}] });
        assert_eq!(of_object(&object, "[::1]").unwrap().to_string(), "https://[::1]:8443");
        let object = json!({ "bindAddress": "127.0.0.1", "bindPort": 8080 });
        assert_eq!(of_object(&object, "x").unwrap().to_string(), "http://127.0.0.1:8080");
    }

    #[test]
    fn a_port_is_chosen_or_it_is_said_which_there_are() {
        let all: Vec<Listens> = [listener("127.0.0.1", 8080, false), listener("127.0.0.1", 8443, true)]
            .iter()
            .filter_map(|listener| listens(listener, ""))
            .collect();
        let port =
            |port: Option<&str>| choose(&all, port, "p").map(|it| it.port).map_err(|error| error.to_string());
        assert_eq!((port(None), port(Some("http")), port(Some("https"))), (Ok(8080), Ok(8080), Ok(8443)));
        assert_eq!(port(Some("8443")), Ok(8443));
        assert!(port(Some("90")).unwrap_err().contains("http://127.0.0.1:8080, https://127.0.0.1:8443"));
        assert!(port(Some("ssl")).unwrap_err().contains("hint: --port is"));
        assert_eq!(choose(&all[1..], None, "p").unwrap().port, 8443);
        assert!(choose(&[], None, "p").unwrap_err().to_string().contains("listens nowhere"));
    }
}
