//! `keyward secret apikey rotate`: the new key and the old one are the same identity, until the old one ends.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use keyward_resource::kinds::secret::{
    DIGEST_FIELD, EXPIRES_FIELD, KEY_FIELD, NOT_BEFORE_FIELD, PREVIOUS_DIGEST_FIELD, PREVIOUS_EXPIRES_FIELD,
    PREVIOUS_KEY_FIELD,
};
use serde_json::{Value, json};

use super::change::{ChangeArgs, Found, first, moment};
use crate::client::Manner;
use crate::key::{Entry, ExpiryArgs, KEY_CREATED, KeyArgs, KeyState, Material, id_of, time};
use crate::lifetime::lifetime;
use crate::output::{Format, Output};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Makes a new key and shows it once; the old one is valid for another day:
  keyward secret apikey rotate alice --overlap 24h --wait

  # The new key exists elsewhere, and ends in a year:
  keyward secret apikey rotate alice --apikey-stdin --expires-in 1y < alice.key

  # Back to the key before, while it is valid:
  keyward secret apikey rotate alice --apikey-stdin < old.key

The identity, its labels and its metadata stay. The command returns when the
new key works; with --wait, when every worker of every connected proxy has
confirmed it. A rotation within the overlap of another one ends the oldest key
at once: never are more than two valid. The new key has the expiry of the old
one unless told.

Exit codes: 0 rotated, 1 not rotated, 2 wrong usage, 3 rotated but not
confirmed in time (--wait).";

/// How long it is waited for the new key to work where nobody says how long.
const USUAL_WAIT: Duration = Duration::from_secs(5);

/// What the new key is to be.
#[derive(Debug, Clone, Args)]
pub struct RotateArgs {
    #[command(flatten)]
    change: ChangeArgs,

    /// For how long the old key stays valid: a number and s, m, h, d, w or y, or 0.
    #[arg(long, default_value = "24h", value_name = "DURATION", value_parser = overlap)]
    overlap: SignedDuration,

    /// The new key has no end, even if the old one has.
    #[arg(long, conflicts_with_all = ["expires_at", "expires_in"], help_heading = "Validity")]
    no_expiry: bool,

    #[command(flatten)]
    expiry: ExpiryArgs,

    #[command(flatten)]
    key: KeyArgs,
}

/// What a rotation comes to.
#[derive(Debug)]
struct Plan {
    patch: Value,
    /// What a person should know.
    notes: Vec<String>,
}

fn overlap(text: &str) -> Result<SignedDuration, String> {
    if matches!(text, "0" | "0s") { Ok(SignedDuration::ZERO) } else { lifetime(text) }
}

pub(super) async fn run(args: &RotateArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let change = &args.change;
    let remote = change.remote.connect()?;
    let place = remote.place(&change.name);
    let found = Found::read(&remote, &place).await?;
    let is_digest = found.data(KEY_FIELD).is_null();
    let material = args.key.or_generated(is_digest).material(&mut std::io::stdin())?;
    let mut notes = Vec::new();
    let wait = change.wait.or_leniently(USUAL_WAIT);
    let manner = Manner { wait: (!change.dry_run).then_some(wait.limit()).flatten(), ..change.manner() };
    let changing = found.change(&remote, &place, manner, |found| {
        let plan = args.plan(found, &material, now)?;
        notes = plan.notes;
        Ok(plan.patch)
    });
    let answer = material.kept(changing, output).await?;
    for note in notes {
        output.note(note);
    }
    if change.dry_run {
        let done = format!("{place} would be given another key");
        return change.tell(&done, &answer, now, output);
    }
    let id = material.id();
    match (change.output, material.made()) {
        (None | Some(Format::Table), Some(key)) => {
            output.note(format_args!("key {id} of {place} is made; it is not shown again:"));
            output.data(key)?;
        }
        (None | Some(Format::Table), None) => {
            output.note(format_args!("key {id} of {place} is the present one now"));
        }
        (Some(format), made) => {
            let mut shown = serde_json::to_value(first(&answer.body, now)?)?;
            if let Some(key) = made {
                shown["key"] = key.into();
            }
            let previous = Entry::all_of(&answer.body, now).into_iter().nth(1);
            if let Some(previous) = previous {
                shown["previousKey"] = serde_json::to_value(previous)?;
            }
            output.show(format, &shown, String::new)?;
        }
    }
    Ok(wait.tell(&answer, output)?)
}

// === impl RotateArgs ===

impl RotateArgs {
    /// What becomes of a Secret.
    fn plan(&self, found: &Found, material: &Material, now: Timestamp) -> anyhow::Result<Plan> {
        let secret = &found.secret;
        let mut notes = Vec::new();
        let present = match secret.key {
            Ok(key) => key,
            Err(problem) => bail!(
                "{}/{} holds no usable key: {problem}\nhint: mend it, or revoke it and create it anew",
                secret.meta.namespace,
                secret.meta.name
            ),
        };
        if present == *material.sha256() {
            bail!("{} is the one that you give\nhint: without --apikey a new one is made", found.key());
        }
        let entry = first(&found.object, now)?;
        let old = id_of(&present);

        let until = now.checked_add(self.overlap).context("--overlap is too long")?;
        let until = entry.expires.map_or(until, |expires| expires.min(until));
        // A key that is not valid is not made valid by giving its identity another one.
        let lasts = until > now && matches!(entry.state, KeyState::Active | KeyState::Disabled);
        let lasts = lasts && entry.not_before.is_none_or(|from| from <= now);
        let mut data = json!({
            KEY_FIELD: null,
            DIGEST_FIELD: null,
            NOT_BEFORE_FIELD: null,
            PREVIOUS_KEY_FIELD: null,
            PREVIOUS_DIGEST_FIELD: null,
            PREVIOUS_EXPIRES_FIELD: null,
        });
        data[material.field()] = material.encoded();
        if lasts {
            data[PREVIOUS_KEY_FIELD] = found.data(KEY_FIELD);
            data[PREVIOUS_DIGEST_FIELD] = found.data(DIGEST_FIELD);
            data[PREVIOUS_EXPIRES_FIELD] = moment(until);
            notes.push(format!("key {old} is valid until {}", time(until)));
        } else if entry.state == KeyState::Active {
            notes.push(format!("key {old} ends at once"));
        } else {
            notes.push(format!("key {old}, which is {}, is gone", entry.state));
        }
        if let Some(oldest) = secret.previous
            && oldest.key != *material.sha256()
            && i128::from(oldest.expires_at) > i128::from(now.as_millisecond())
        {
            notes.push(format!(
                "key {}, from the rotation before, ends at once: never are more than two valid",
                id_of(&oldest.key)
            ));
        }
        if secret.life.disabled {
            let name = &secret.meta.name;
            notes.push(format!("the identity is disabled: `keyward secret apikey enable {name}` enables it"));
        }
        match (self.expiry.end(now)?, entry.expires) {
            (Some(end), _) => data[EXPIRES_FIELD] = moment(end),
            (None, _) if self.no_expiry => data[EXPIRES_FIELD] = Value::Null,
            (None, Some(expires)) if expires <= now => bail!(
                "{} has expired, and the new one would be born expired\nhint: --expires-in or --no-expiry says \
                 until when the new one is valid",
                found.key()
            ),
            (None, Some(expires)) => {
                notes.push(format!("the new key is valid until {}, as the old one was", time(expires)));
            }
            (None, None) => {}
        }
        let annotations = json!({ KEY_CREATED: time(now) });
        Ok(Plan { patch: json!({ "metadata": { "annotations": annotations }, "data": data }), notes })
    }
}
