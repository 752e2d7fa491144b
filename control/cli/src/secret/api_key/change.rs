//! Changing one Secret with a key.

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::kinds::secret::ApiKeySecret;
use serde_json::{Value, json};

use crate::client::{Answer, Manner, Place};
use crate::key::{Entry, is_deleted};
use crate::output::{Format, Output, Table};
use crate::remote::{Remote, RemoteArgs};
use crate::tidy::is_of_folder;
use crate::wait::WaitArgs;

/// How often somebody else may come between reading and writing.
const TRIES: usize = 5;

/// Which key, and how the change is made.
#[derive(Debug, Clone, Args)]
pub(super) struct ChangeArgs {
    /// The identity: the name of the Secret.
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    #[command(flatten)]
    pub(super) wait: WaitArgs,

    /// The server checks the change and says what would come of it, and makes none.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Shows the keys of the identity as they are afterwards.
    #[arg(long, short, value_name = "FORMAT")]
    pub(super) output: Option<Format>,

    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

/// A Secret with a key as it was read.
pub(super) struct Found {
    /// As it came.
    pub(super) object: Value,
    /// What it says.
    pub(super) secret: ApiKeySecret,
}

// === impl ChangeArgs ===

impl ChangeArgs {
    pub(super) fn manner(&self) -> Manner {
        Manner { dry_run: self.dry_run, wait: self.wait.limit() }
    }

    /// Says what was done, or would be.
    pub(super) fn tell(
        &self,
        done: &str,
        answer: &Answer,
        now: Timestamp,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let would = if self.dry_run { " (dry run: nothing is changed)" } else { "" };
        output.note(format_args!("{done}{would}"));
        let format = self.output.or(self.dry_run.then_some(Format::Table));
        if let Some(format) = format {
            let entries = Entry::all_of(&answer.body, now);
            // Of a key that is gone there is nothing to show.
            if !entries.is_empty() || format != Format::Table {
                output.show(format, &entries, || table(&entries))?;
            }
        }
        if self.dry_run { Ok(()) } else { Ok(self.wait.tell(answer, output)?) }
    }
}

fn table(entries: &[Entry]) -> String {
    let mut table = Table::new(&["IDENTITY", "KEY ID", "STATE", "EXPIRES"]);
    for entry in entries {
        let previous = if entry.previous { " (previous)" } else { "" };
        table.row([
            entry.identity.clone(),
            entry.key_id.clone().unwrap_or_else(|| "-".to_owned()),
            format!("{}{previous}", entry.state),
            entry.expires.map_or_else(|| "never".to_owned(), crate::key::time),
        ]);
    }
    table.to_string()
}

// === impl Found ===

impl Found {
    /// Reads the Secret of a name.
    pub(super) async fn read(remote: &Remote, place: &Place) -> anyhow::Result<Self> {
        let object = remote.secret(place).await?;
        let Some(secret) = Entry::secret(&object) else {
            bail!("Secret {place} holds no API key: its type is {}", object["type"]);
        };
        if is_deleted(&object) {
            bail!(
                "Secret {place} is deleted, and its keys are revoked: it is kept by its finalizers alone\n\
                 hint: whoever set them takes them off, or `keyward edit secret {}` does; then create it anew",
                place.name
            );
        }
        if is_of_folder(&object) {
            bail!(
                "Secret {place} comes from a folder of files, which would put back what is changed here\n\
                 hint: change it in its file"
            );
        }
        Ok(Self { object, secret })
    }

    /// Changes it: `patch` is asked anew when somebody else came between.
    pub(super) async fn change(
        mut self,
        remote: &Remote,
        place: &Place,
        manner: Manner,
        mut patch: impl FnMut(&Self) -> anyhow::Result<Value>,
    ) -> anyhow::Result<Answer> {
        for tried in 1.. {
            let mut merged = patch(&self)?;
            merged["metadata"]["resourceVersion"] = self.object["metadata"]["resourceVersion"].clone();
            match remote.client.merge(&place.path(), &merged, manner).await {
                Err(error) if error.is_conflict() && tried < TRIES => {
                    self = Self::read(remote, place).await?;
                }
                answer => return Ok(answer?),
            }
        }
        bail!("Secret {place} changes all the time")
    }

    /// The names by which a person knows the key: `key 3e23e816 of team/ann`.
    pub(super) fn key(&self) -> String {
        let id = self.secret.key.as_ref().map_or_else(|_| "?".to_owned(), crate::key::id_of);
        format!("key {id} of {}/{}", self.secret.meta.namespace, self.secret.meta.name)
    }

    /// An entry of the data, as it stands there.
    pub(super) fn data(&self, entry: &str) -> Value {
        self.object["data"].get(entry).cloned().unwrap_or(Value::Null)
    }
}

/// A patch of the data alone.
pub(super) fn data(entries: Value) -> Value {
    json!({ "data": entries })
}

/// Text as an entry of the data.
pub(super) fn encoded(text: &str) -> Value {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text).into()
}

/// Until when, as the data of a Secret say it.
pub(super) fn moment(at: Timestamp) -> Value {
    encoded(&crate::key::time(at))
}

/// The first key of a Secret, as a list shows it.
pub(super) fn first(object: &Value, now: Timestamp) -> anyhow::Result<Entry> {
    Entry::all_of(object, now).into_iter().next().context("the server answers with something else")
}
