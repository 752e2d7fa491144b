//! `keyward debug yaml`.

use std::path::PathBuf;

use clap::Args;

use super::objects;
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::save;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward debug yaml -f keyward.yaml
  keyward debug yaml -n team | less

All objects of every kind and namespace, without what the server wrote beside
them, so that the file can be applied. Secrets are there as comments, without
their contents, and so are objects that add headers, or name somebody in a URI,
without the values: those may be credentials. So are Proxies, which the server
writes itself.";

/// What is written, and where.
#[derive(Debug, Clone, Args)]
pub struct YamlArgs {
    /// The file to write [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The objects of this namespace alone, as -n says too [default: all].
    #[arg(long, value_name = "NAMESPACE")]
    only: Option<String>,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &YamlArgs, output: &mut Output) -> anyhow::Result<()> {
    let only = args.only.as_deref().or(args.remote.named());
    let text = objects::all(&args.remote.connect()?, only).await?;
    match &args.file {
        Some(file) => {
            save::text(file, &text)?;
            output.note(format_args!("the configuration is in {}", file.display()));
            Ok(())
        }
        None => output.part(text.as_bytes()).map(drop),
    }
}
