//! `keyward create virtualservice`.

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::draft::DraftArgs;
use crate::output::Output;
use crate::reference::Reference;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Everything that is asked of shop.example needs a key that the
  # AuthConfig keys accepts:
  keyward create virtualservice shop --domains shop.example,www.shop.example \\
    --authconfig keys

  # For all domains; routes are added one by one:
  keyward create virtualservice default
  keyward add route --name default --path-prefix / --dest-name httpbin";

/// What the VirtualService is to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct VirtualServiceArgs {
    #[command(flatten)]
    draft: DraftArgs,

    /// A name for people [default: the name].
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,

    /// The domains, with commas between them [default: all].
    #[arg(long, value_name = "DOMAINS", value_delimiter = ',')]
    domains: Vec<String>,

    /// The AuthConfig that all its routes demand, NAME or NAMESPACE/NAME.
    #[arg(long, value_name = "NAME")]
    authconfig: Option<Reference>,
}

pub(super) async fn run(
    args: &VirtualServiceArgs,
    now: Timestamp,
    output: &mut Output,
) -> anyhow::Result<()> {
    let name = args.display_name.as_deref().map_or_else(|| args.draft.name(), Ok)?;
    let fields = |namespace: &str| {
        let everything = || vec!["*".to_owned()];
        let domains = if args.domains.is_empty() { everything() } else { args.domains.clone() };
        let mut host = json!({ "domains": domains });
        if let Some(reference) = &args.authconfig {
            host["options"] = json!({ "extauth": { "configRef": reference.within(namespace) } });
        }
        Ok(json!({ "spec": { "displayName": name, "virtualHost": host } }))
    };
    args.draft.create("VirtualService", fields, now, output).await
}
