//! `keyward proxy bootstrap`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use keyward_bootstrap::{BootstrapOptions, Endpoint};
use serde_json::Value;

use super::admin::AdminArgs;
use crate::client::USUAL_NAMESPACE;
use crate::output::{Document, Output};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy bootstrap  # what the supervised proxy runs with
  keyward proxy bootstrap --for 10.0.0.1:9977 --name edge-1 > bootstrap.json
  keyward proxy bootstrap --for control.example:9977 --name edge-1 \\
    --certificates /etc/envoy/keyward -o yaml

With --for nothing is asked: what is printed is for an Envoy elsewhere, that
reaches the gRPC port of the control server there. Off the machine of the
control server a proxy needs certificates, which `keyward pki proxy` makes
together with such a file.";

/// The gRPC port unless something else is said.
const PORT: u16 = 9977;

/// For whom it is.
#[derive(Debug, Clone, Args)]
pub struct BootstrapArgs {
    /// Makes one for an Envoy elsewhere: where it reaches the gRPC port of the control server.
    #[arg(long = "for", value_name = "HOST:PORT", value_parser = endpoint)]
    control: Option<Endpoint>,

    /// The node id of that Envoy [default: its name].
    #[arg(long, value_name = "ID", requires = "control")]
    node_id: Option<String>,

    /// Where the admin of that Envoy listens. It has no access control: keep it private.
    #[arg(long, default_value = "127.0.0.1:19000", value_name = "ADDR", requires = "control")]
    admin_address: SocketAddr,

    /// The folder of its certificates, on its machine. Without it, there is no TLS.
    #[arg(long, value_name = "DIR", requires = "control")]
    certificates: Option<PathBuf>,

    /// How it looks.
    #[arg(long, short, default_value = "json", value_name = "FORMAT")]
    output: Document,

    #[command(flatten)]
    admin: AdminArgs,
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    Endpoint::parse(text, PORT)
}

/// What a proxy runs with, less what it says of itself.
fn running(dump: &Value) -> Option<Value> {
    let mut bootstrap =
        dump["configs"].as_array()?.iter().find_map(|config| config.get("bootstrap"))?.clone();
    if let Some(node) = bootstrap["node"].as_object_mut() {
        node.retain(|name, _| {
            !matches!(name.as_str(), "extensions" | "user_agent_name" | "user_agent_build_version")
        });
    }
    Some(bootstrap)
}

pub(super) async fn run(args: &BootstrapArgs, output: &mut Output) -> anyhow::Result<()> {
    let bootstrap = match &args.control {
        Some(control) => {
            let remote = &args.admin.proxy.remote;
            if remote.named().is_none() && remote.target()?.namespace != USUAL_NAMESPACE {
                output.note(format_args!(
                    "the installation is taken to be in {USUAL_NAMESPACE}: -n names another namespace"
                ));
            }
            made(args, control.clone())?
        }
        None => {
            let admin = args.admin.open().await?;
            let dump: Value = serde_json::from_str(&admin.get("/config_dump").await?)
                .with_context(|| format!("what {} dumps is no JSON", admin.url()))?;
            running(&dump).with_context(|| format!("the dump of {} has no bootstrap", admin.url()))?
        }
    };
    output.document(args.output, &bootstrap)
}

fn made(args: &BootstrapArgs, control: Endpoint) -> anyhow::Result<Value> {
    let folder = |folder: &PathBuf| {
        let text = folder.to_str().map(str::to_owned);
        text.with_context(|| format!("--certificates {} is not UTF-8", folder.display()))
    };
    let name = &args.admin.proxy.name;
    // Nobody is asked: it may be made where no server is reached.
    let namespace = args.admin.proxy.remote.named().unwrap_or(USUAL_NAMESPACE);
    Ok(keyward_bootstrap::bootstrap(&BootstrapOptions {
        node_id: args.node_id.clone().unwrap_or_else(|| name.clone()),
        role: format!("{namespace}~{name}"),
        control,
        admin: args.admin_address.into(),
        certificates: args.certificates.as_ref().map(folder).transpose()?,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_proxy_says_of_itself_is_left_out() {
        let dump = json!({ "configs": [
            { "@type": "x" },
            { "bootstrap": { "node": { "id": "a", "extensions": [1], "user_agent_name": "envoy" }, "admin": {} } },
        ] });
        assert_eq!(running(&dump), Some(json!({ "node": { "id": "a" }, "admin": {} })));
        assert_eq!(running(&json!({})), None);
    }
}
