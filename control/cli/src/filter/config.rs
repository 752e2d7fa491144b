//! `keyward filter config`.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use keyward_filter_core::config::DEFAULT_IDENTITY_HEADER;
use keyward_filter_core::standalone;

use super::document;
use super::source::Source;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward filter config -f auth.yaml -f keys.yaml > plugin.json

  # One AuthConfig of several, from standard input:
  keyward filter config -f - --auth-config team/keys < resources.yaml";

/// What the configuration is made of.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// A file with AuthConfigs, Secrets and routes that allow only some, YAML or JSON; - for standard input. May be given several times.
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Only this AuthConfig; may be given several times [default: all that are in the files].
    #[arg(long = "auth-config", value_name = "NAMESPACE/NAME")]
    auth_configs: Vec<String>,

    /// The header that tells the upstream whose key it was.
    #[arg(long, value_name = "HEADER", default_value = DEFAULT_IDENTITY_HEADER)]
    identity_header: String,
}

pub(super) fn run(args: &ConfigArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut source = Source::default();
    for file in &args.files {
        source.read(file)?;
    }
    if !args.auth_configs.is_empty() {
        let found = |name: &String| source.auth_configs.iter().any(|config| named(config) == *name);
        if let Some(missing) = args.auth_configs.iter().find(|name| !found(name)) {
            let there: Vec<String> = source.auth_configs.iter().map(named).collect();
            bail!("the files have no AuthConfig {missing}\nhint: they have {}", there.join(", "));
        }
        source.auth_configs.retain(|config| args.auth_configs.contains(&named(config)));
    }
    let document = document::make(source, &args.identity_header)?;
    let text = serde_json::to_string_pretty(&document.value)?;
    // Nothing is printed that the filter would refuse.
    if let Err(problems) = standalone::from_json(text.as_bytes()) {
        bail!("these resources make no configuration for a filter by itself: {problems}");
    }
    document.notes.iter().for_each(|note| output.note(note));
    output.data(text)
}

fn named(config: &keyward_resource::kinds::AuthConfig) -> String {
    config.meta.object_ref().to_string()
}
