//! The second pass: writes the rows, some at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use http::StatusCode;
use jiff::Timestamp;
use keyward_resource::kinds::secret::ApiKeySecret;
use serde_json::Value;
use tokio::task::JoinSet;

use super::check;
use super::compare::{differences, keep_same_keys, patch};
use super::tally::{Outcome, Tally};
use crate::client::{Client, ClientError, Manner, Place};
use crate::key::Entry;
use crate::progress::Progress;
use crate::sheet::{Reading, Row, Sheet};
use crate::tidy::is_of_folder;

/// How often a request is sent, when its connection breaks or somebody else comes between.
const TRIES: u32 = 4;
/// How long the first pause before another try is; each is twice the one before.
const PAUSE: Duration = Duration::from_millis(100);

/// How rows are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manners {
    pub(super) replace: bool,
    pub(super) digest_only: bool,
    pub(super) dry_run: bool,
    pub(super) concurrency: usize,
    pub(super) now: Timestamp,
}

/// Writes rows to a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
    namespace: String,
    manners: Manners,
    /// The row before was there, so this one may be as well: it is looked for first.
    is_there: Arc<AtomicBool>,
}

/// Why not all rows were reached.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Somebody said so.
    Asked,
    /// There is no use in going on.
    Useless(ClientError),
}

/// What came of a row, or why there is no use in going on.
type Written = Result<(u64, String, Outcome), ClientError>;

/// Whether an error is about its row alone.
fn is_about_row(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { refusal, .. } => {
            refusal.code.is_client_error() && refusal.code != StatusCode::FORBIDDEN
        }
        _ => false,
    }
}

/// Whether the same request may fare better in a moment. Whatever was sent may have been done: that is seen
/// when it is tried again.
fn is_passing(error: &ClientError) -> bool {
    matches!(error, ClientError::Broken { .. } | ClientError::Nobody { .. })
}

/// Waits until somebody presses Ctrl-C.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Then the signal ends the process, as it does anyway.
        std::future::pending().await
    }
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(client: Client, namespace: String, manners: Manners) -> Self {
        Self { client, namespace, manners, is_there: Arc::default() }
    }

    /// Writes all rows, and counts what comes of them. Why it did not reach all of them, if it did not.
    pub(super) async fn write_all(
        &self,
        sheet: &Sheet,
        tally: &mut Tally,
        mut progress: Progress,
    ) -> Option<Stopped> {
        let mut rows = sheet.rows().filter_map(Reading::right);
        let mut under_way: JoinSet<Written> = JoinSet::new();
        let mut stopped = None;
        let mut asked = std::pin::pin!(interrupted());
        loop {
            while stopped.is_none()
                && under_way.len() < self.manners.concurrency
                && let Some(row) = rows.next()
            {
                let writer = self.clone();
                under_way.spawn(async move { writer.write(row).await });
            }
            let written = tokio::select! {
                written = under_way.join_next() => written,
                // What is under way is waited for, unless somebody says so again.
                () = &mut asked => {
                    if stopped.is_some() {
                        return stopped;
                    }
                    stopped = Some(Stopped::Asked);
                    asked.set(interrupted());
                    continue;
                }
            };
            match written {
                None => return stopped,
                Some(Ok(Ok((line, secret, outcome)))) => tally.count(line, &secret, outcome),
                Some(Ok(Err(error))) => {
                    stopped.get_or_insert(Stopped::Useless(error));
                }
                // A task ends by itself; that it did not is told by the rows that were not reached.
                Some(Err(_)) => {}
            }
            progress.tell(tally.done());
        }
    }

    /// Writes a row.
    async fn write(&self, mut row: Row) -> Written {
        let line = row.line;
        let namespace = row.namespace.clone().unwrap_or_else(|| self.namespace.clone());
        let place = Place::of_secret(namespace, row.name.clone().unwrap_or_default());
        let secret = place.to_string();
        let Ok((mut wanted, said)) = check::read(&row, &self.namespace) else {
            // The first pass has read it already.
            return Ok((line, secret, Outcome::Failed("cannot be read".to_owned())));
        };
        if self.manners.digest_only {
            row.forget_keys(&said);
            if let Ok((digests, _)) = check::read(&row, &self.namespace) {
                wanted = digests;
            }
        }
        let mut pause = PAUSE;
        for tried in 1.. {
            match self.put(&place, &wanted, &said).await {
                Ok(Outcome::Unchanged) if tried > 1 => return Ok((line, secret, Outcome::Created)),
                Ok(outcome) => return Ok((line, secret, outcome)),
                Err(error) if tried < TRIES && (error.is_conflict() || is_passing(&error)) => {
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                Err(error) if is_about_row(&error) => {
                    return Ok((line, secret, Outcome::Failed(error.to_string())));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((line, secret, Outcome::Failed("it changes all the time".to_owned())))
    }

    /// Creates it, or looks at what is there.
    async fn put(&self, place: &Place, wanted: &Value, said: &ApiKeySecret) -> Result<Outcome, ClientError> {
        let is_there = self.is_there.load(Ordering::Relaxed);
        if is_there && let Some(object) = self.get(place).await? {
            return self.compare(place, &object, wanted, said).await;
        }
        let manner = Manner { dry_run: self.manners.dry_run, wait: None };
        let collection = place.collection().path();
        match self.client.create(&collection, wanted, manner).await {
            Ok(_) => {
                self.is_there.store(false, Ordering::Relaxed);
                Ok(Outcome::Created)
            }
            Err(error) if error.is_exists() => match self.get(place).await? {
                Some(object) => {
                    self.is_there.store(true, Ordering::Relaxed);
                    self.compare(place, &object, wanted, said).await
                }
                // Somebody has deleted it in between.
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn get(&self, place: &Place) -> Result<Option<Value>, ClientError> {
        match self.client.get(&place.path()).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Leaves what is there, or overwrites it.
    async fn compare(
        &self,
        place: &Place,
        object: &Value,
        wanted: &Value,
        said: &ApiKeySecret,
    ) -> Result<Outcome, ClientError> {
        let Some(have) = Entry::secret(object) else {
            return Ok(Outcome::Failed("is there, and holds no API key: its type is another one".to_owned()));
        };
        let differences = differences(&have, said);
        if differences.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        if !self.manners.replace {
            return Ok(Outcome::Different(differences));
        }
        if is_of_folder(object) {
            let why = "comes from a folder of files, which would put back what is changed here";
            return Ok(Outcome::Failed(why.to_owned()));
        }
        let mut wanted = wanted.clone();
        keep_same_keys(object, &have, &mut wanted, said);
        let patch = patch(object, &wanted, have.key != said.key, self.manners.now);
        let manner = Manner { dry_run: self.manners.dry_run, wait: None };
        self.client.merge(&place.path(), &patch, manner).await?;
        Ok(Outcome::Replaced)
    }
}

// === impl Stopped ===

impl Stopped {
    /// Says how to go on.
    pub(super) fn into_error(self, tally: &Tally) -> anyhow::Error {
        const HINT: &str = "hint: the same command goes on where it ended";
        let done = tally.pace();
        match self {
            Self::Asked => anyhow!("interrupted: {done}\n{HINT}"),
            Self::Useless(error) => anyhow!("{error}\n{HINT}"),
        }
    }
}
