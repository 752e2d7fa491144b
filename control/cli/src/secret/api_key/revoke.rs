//! `keyward secret apikey revoke`.

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use keyward_resource::kinds::secret::{PREVIOUS_DIGEST_FIELD, PREVIOUS_EXPIRES_FIELD, PREVIOUS_KEY_FIELD};
use serde_json::json;

use super::change::{ChangeArgs, Found, data};
use crate::key::id_of;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Deletes the Secret; returns when no proxy worker accepts its keys any more:
  keyward secret apikey revoke alice --wait

  # Ends the overlap of a rotation: the old key is refused, the new one stays:
  keyward secret apikey revoke alice --previous --wait";

/// Which key.
#[derive(Debug, Clone, Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    change: ChangeArgs,

    /// Only the key before the last rotation.
    #[arg(long)]
    previous: bool,
}

pub(super) async fn run(args: &RevokeArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let change = &args.change;
    let remote = change.remote.connect()?;
    let place = remote.place(&change.name);
    let found = Found::read(&remote, &place).await?;
    if args.previous {
        let Some(previous) = found.secret.previous else {
            bail!("{place} has no key but the present one\nhint: without --previous that one is revoked");
        };
        let done = format!("key {} of {place}, the previous one, is revoked", id_of(&previous.key));
        let gone = data(json!({
            PREVIOUS_KEY_FIELD: null, PREVIOUS_DIGEST_FIELD: null, PREVIOUS_EXPIRES_FIELD: null,
        }));
        let answer = found.change(&remote, &place, change.manner(), |_| Ok(gone.clone())).await?;
        return change.tell(&done, &answer, now, output);
    }
    let previous = found.secret.previous.map(|previous| format!(", and {} before it", id_of(&previous.key)));
    let done = format!("{}{} is revoked", found.key(), previous.unwrap_or_default());
    let answer = remote.client.delete(&place.path(), change.manner()).await?;
    // What is shown of it is nothing: it is gone.
    change.tell(&done, &answer, now, output)
}
