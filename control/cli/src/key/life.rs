//! When a key is valid, as a person says it.

use anyhow::{Context as _, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::lifetime::lifetime;

/// Until when the key is valid.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Validity")]
pub(crate) struct ExpiryArgs {
    /// Until when the key is valid, such as 2030-01-31T12:00:00Z [default: for ever].
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in", value_parser = timestamp)]
    expires_at: Option<Timestamp>,

    /// For how long the key is valid: a number and s, m, h, d, w or y.
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    expires_in: Option<SignedDuration>,
}

/// Reads a time.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is no time: write such as 2030-01-31T12:00:00Z"))
}

/// A time as it is stored.
pub(crate) fn time(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// A time of a Secret.
pub(crate) fn of_milliseconds(milliseconds: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()
}

// === impl ExpiryArgs ===

impl ExpiryArgs {
    /// Until when, if there is an end.
    pub(crate) fn end(&self, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        let end = match self.expires_in {
            Some(lifetime) => Some(now.checked_add(lifetime).context("--expires-in is too far away")?),
            None => self.expires_at,
        };
        ensure!(
            end.is_none_or(|end| end > now),
            "the key would have expired already\nhint: --expires-at must be a time to come"
        );
        Ok(end)
    }
}
