//! `keyward diff`.

mod redacted;
mod unified;

use anyhow::bail;
use clap::Args;
use keyward_folder::Document;
use serde_json::Value;

use self::redacted::redacted;
use self::unified::unified;
use crate::apply::hinted;
use crate::client::{ClientError, Manner};
use crate::ended::Ended;
use crate::files::{FilesArgs, place, problem};
use crate::output::{Output, yaml};
use crate::remote::{Remote, RemoteArgs};
use crate::tidy::content;

pub(super) const EXAMPLES: &str = "\
Examples:
  # What an apply of a folder would change:
  keyward diff -f resources/

  # In a script:
  keyward diff -f shop.yaml > /dev/null
  test $? = 2 && echo 'the server has something else'

The server says what each object would become; lines that would go begin with
-, lines that would come with +. What a Secret holds is not shown, but that it
changes is. Objects that are in no file are not looked at.

Exit codes: 0 nothing would change, 1 it could not be found out, 2 something
would change (or wrong usage).";

/// What is compared.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    files: FilesArgs,

    /// As if an apply took over fields that others manage.
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &DiffArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let documents = args.files.read(&remote.namespace, output)?;
    let (mut different, mut failed) = (0_usize, 0_usize);
    for document in &documents {
        match args.objects(&remote, document).await {
            Ok((before, after)) => {
                if let Some(text) = difference(document, before, after)? {
                    different += 1;
                    output.data(text)?;
                }
            }
            Err(error) if error.is_about_the_server() => return Err(error.into()),
            Err(error) => {
                failed += 1;
                output.note(problem(document, hinted(&error)));
            }
        }
    }
    match (failed, different) {
        (0, 0) => Ok(()),
        (0, _) => Err(Ended::told(2)),
        _ => bail!("{failed} of {} objects could not be compared", documents.len()),
    }
}

/// What differs, if anything does.
fn difference(document: &Document, before: Option<Value>, after: Value) -> anyhow::Result<Option<String>> {
    let (before, after) = redacted(before.map(content), content(after));
    let before = before.as_ref().map(yaml).transpose()?;
    let after = yaml(&after)?;
    let name = match document.namespace.as_str() {
        "" => format!("{} {}", document.kind.name, document.name),
        namespace => format!("{} {namespace}/{}", document.kind.name, document.name),
    };
    let from =
        before.as_ref().map_or_else(|| "(not there)".to_owned(), |_| format!("{name} (on the server)"));
    let to = format!("{name} ({}:{})", document.file, document.place.line);
    Ok(unified(before.as_deref().unwrap_or_default(), &after, &from, &to))
}

// === impl DiffArgs ===

impl DiffArgs {
    /// The object as it is, and as it would be.
    async fn objects(
        &self,
        remote: &Remote,
        document: &Document,
    ) -> Result<(Option<Value>, Value), ClientError> {
        let place = place(document);
        let before = remote.find(&place).await?;
        let manner = Manner { dry_run: true, wait: None };
        let answer = remote.apply(&place, &document.object, self.force_conflicts, manner).await?;
        Ok((before, answer.body))
    }
}
