//! `keyward apply`.

mod write;

use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use http::StatusCode;
use serde_json::Value;

use self::write::{Count, Writer};
use crate::client::ClientError;
use crate::files::FilesArgs;
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::tidy::content;
use crate::wait::WaitArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Everything in a folder, in the order in which objects refer to each other:
  keyward apply -f resources/

  # What would happen:
  keyward apply -f resources/ --dry-run
  keyward diff -f resources/

  # From another installation:
  keyward get vs shop -o kube-yaml --context staging | keyward apply -f - \\
    --context production

  # Returns when every proxy worker has confirmed the keys in it:
  keyward apply -f keys.yaml --wait

Where there is a mistake in any of the files, all mistakes are told and nothing
is applied. What the server refuses is told object by object, and the others
are applied.

Only what the files say changes: fields that others set stay, and fields that
an earlier `apply` set and the files do not say any more are removed. Fields
that others manage and that would change are a conflict, unless they come from
another command of this program.

Exit codes: 0 applied, 1 not everything applied, 2 wrong usage, 3 applied but
not confirmed in time (--wait).";

/// What is applied.
#[derive(Debug, Clone, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    files: FilesArgs,

    /// The server checks everything and says what it would do; nothing changes.
    #[arg(long)]
    dry_run: bool,

    /// Takes over fields that others manage.
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What was done with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Created,
    Configured,
    Unchanged,
}

pub(super) async fn run(args: &ApplyArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let documents = args.files.read(&remote.namespace, output)?;
    let all = documents.len();
    let writer = Writer { remote: remote.clone(), force: args.force_conflicts, dry_run: args.dry_run };
    let Count { failed, .. } = writer.write_all(Arc::new(documents), output).await?;
    if failed > 0 {
        let were = if args.dry_run { "would not be" } else { "are not" };
        bail!("{failed} of {all} objects {were} applied");
    }
    // Also where nothing is new: it may be the second try of somebody whose first one was not confirmed.
    if !args.dry_run && args.wait.limit().is_some() {
        return args.wait.everywhere(&remote.client, output).await;
    }
    Ok(())
}

/// What the server said, and what to do about it.
pub(super) fn hinted(error: &ClientError) -> String {
    match error {
        ClientError::Refused { refusal, .. } if refusal.is_of_managers() => {
            format!("{error}\nhint: --force-conflicts takes these fields over")
        }
        ClientError::Refused { refusal, .. } if refusal.code == StatusCode::CONFLICT => {
            format!("{error}\nhint: somebody else has changed it at the same time; apply it again")
        }
        _ => error.to_string(),
    }
}

// === impl Effect ===

impl Effect {
    /// Statuses that come in between are no change.
    fn between(before: Option<Value>, code: StatusCode, after: Value) -> Self {
        if code == StatusCode::CREATED {
            return Self::Created;
        }
        let is_same = before.is_some_and(|before| content(before) == content(after));
        if is_same { Self::Unchanged } else { Self::Configured }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_people_write_is_a_change() {
        let object = |port: u16, version: &str| {
            json!({
                "metadata": { "name": "a", "resourceVersion": version, "generation": 1, "managedFields": [version] },
                "spec": { "port": port }, "status": { "state": version },
            })
        };
        let ok = StatusCode::OK;
        let effect = |after: Value| Effect::between(Some(object(1, "1")), ok, after);
        assert_eq!(effect(object(1, "2")), Effect::Unchanged);
        assert_eq!(effect(object(2, "2")), Effect::Configured);
        assert_eq!(Effect::between(None, StatusCode::CREATED, object(1, "1")), Effect::Created);
    }
}
