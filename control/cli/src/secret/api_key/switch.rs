//! `keyward secret apikey disable` and `enable`.

use clap::Args;
use jiff::Timestamp;
use keyward_resource::kinds::secret::DISABLED_FIELD;
use serde_json::{Value, json};

use super::change::{ChangeArgs, Found, data, encoded};
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward secret apikey disable alice --wait
  keyward secret apikey enable alice --wait=10s -n team

All keys of the identity are concerned, the one before a rotation too. To its
client a disabled key is as good as an unknown one: 401.";

/// Which key.
#[derive(Debug, Clone, Args)]
pub struct SwitchArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// What the key is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Enabled,
    Disabled,
}

pub(super) async fn run(
    args: &SwitchArgs,
    to: To,
    now: Timestamp,
    output: &mut Output,
) -> anyhow::Result<()> {
    let change = &args.change;
    let remote = change.remote.connect()?;
    let place = remote.place(&change.name);
    let found = Found::read(&remote, &place).await?;
    let (value, word) = match to {
        To::Disabled => (encoded("true"), "disabled"),
        To::Enabled => (Value::Null, "enabled"),
    };
    let before = if found.secret.life.disabled { To::Disabled } else { To::Enabled };
    let done = format!("{} is {}{word}", found.key(), if before == to { "already " } else { "" });
    let patch = data(json!({ DISABLED_FIELD: value }));
    let answer = found.change(&remote, &place, change.manner(), |_| Ok(patch.clone())).await?;
    change.tell(&done, &answer, now, output)
}
