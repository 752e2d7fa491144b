//! `keyward secret apikey unused`.

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::list::{Row, WhichArgs, rows, table};
use super::usage::Usage;
use crate::key::time;
use crate::lifetime::lifetime;
use crate::output::{Format, Output};
use crate::remote::RemoteArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward secret apikey unused --since 30d --all-namespaces
  keyward secret apikey unused --since 1y -o json | jq -r '.[].identity'

A key counts as unused when it is older than that and no proxy has accepted it
since.";

/// Which keys.
#[derive(Debug, Clone, Args)]
pub struct UnusedArgs {
    /// For how long nobody has used them: a number and s, m, h, d, w or y.
    #[arg(long, default_value = "30d", value_name = "DURATION", value_parser = lifetime)]
    since: SignedDuration,

    #[command(flatten)]
    which: WhichArgs,

    /// How the list looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Whether nobody has used a key since then. One that is younger has had no time.
fn is_unused(row: &Row, since: Timestamp) -> bool {
    let used = row.used.and_then(|used| used.last_used);
    let is_old = row.entry.created.is_none_or(|created| created <= since);
    !row.entry.previous && is_old && used.is_none_or(|used| used <= since)
}

pub(super) async fn run(args: &UnusedArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let since = now.checked_sub(args.since).context("--since is too long ago")?;
    let Some(usage) = Usage::read(&remote, args.which.namespace(&remote)).await? else {
        bail!("this server does not count the uses of keys\nhint: it is older than this command");
    };
    let mut rows = rows(&remote, &args.which, Some(&usage), now).await?;
    rows.retain(|row| is_unused(row, since));
    if rows.is_empty() && args.output == Format::Table {
        output.note(format_args!("all keys that are older were used since {}", time(since)));
        return Ok(());
    }
    output.show(args.output, &rows, || table(&rows, &args.which))
}

#[cfg(test)]
mod tests {
    use super::super::usage::Used;
    use super::*;
    use crate::key::{Entry, KeyState};

    #[test]
    fn a_key_is_unused_that_had_time_to_be_used_and_was_not() {
        let at = |text: &str| text.parse::<Timestamp>().ok();
        let since = at("2026-06-01T00:00:00Z").unwrap();
        let (before, after) = ("2026-05-01T00:00:00Z", "2026-06-02T00:00:00Z");
        for (created, last_used, previous, unused) in [
            (before, None, false, true),
            (before, at(before), false, true),
            (before, at(after), false, false),
            (after, None, false, false),
            (before, None, true, false),
        ] {
            let entry = Entry {
                identity: "ann".to_owned(),
                namespace: "team".to_owned(),
                key_id: None,
                previous,
                state: KeyState::Active,
                problem: None,
                created: at(created),
                not_before: None,
                expires: None,
            };
            let row = Row { entry, used: Some(Used { uses: 1, last_used }) };
            assert_eq!(is_unused(&row, since), unused, "{created} {last_used:?}");
        }
    }
}
