//! `keyward create -f`.

use anyhow::bail;
use clap::Args;

use crate::client::{ClientError, Manner};
use crate::files::{FilesArgs, called, place, problem};
use crate::output::{Output, yaml};
use crate::remote::RemoteArgs;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # What is in a file; objects that are there already are told, and left as
  # they are:
  keyward create -f shop.yaml

  # What was printed and not created:
  keyward create upstream static httpbin --static-hosts httpbin.org:80 \\
    --dry-run | keyward create -f -

`keyward apply -f` creates as well, and changes what is there.

Exit codes: 0 created, 1 not everything created, 2 wrong usage.";

/// Which files.
#[derive(Debug, Clone, Args)]
pub(crate) struct FromFilesArgs {
    #[command(flatten)]
    files: FilesArgs,

    /// Prints what would be created, and creates nothing; no server is asked.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &FromFilesArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let documents = args.files.read(&remote.namespace, output)?;
    if args.dry_run {
        let texts: anyhow::Result<Vec<String>> =
            documents.iter().map(|document| yaml(&document.object)).collect();
        return output.data(texts?.join("\n---\n"));
    }
    let mut failed = 0_usize;
    for document in &documents {
        match remote.create(&place(document), &document.object, Manner::default()).await {
            Ok(answer) => {
                for warning in answer.warnings() {
                    output.note(format_args!("warning: {}: {warning}", called(document)));
                }
                output.data(format_args!("{} created", called(document)))?;
            }
            // Nothing else would fare better.
            Err(error) if error.is_about_the_server() => return Err(error.into()),
            Err(error) => {
                failed += 1;
                output.note(problem(document, hinted(&error)));
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} of {} objects are not created", documents.len()),
    }
}

/// What the server said, and what to do about it.
fn hinted(error: &ClientError) -> String {
    if error.is_exists() {
        return format!("{error}\nhint: `keyward apply -f` changes what is there");
    }
    error.to_string()
}
