//! `--wait`: a change that returns when every worker of every connected proxy has confirmed it.

use std::time::{Duration, Instant};

use clap::Args;
use http::StatusCode;

use crate::client::{Answer, Client, ClientError};
use crate::output::Output;
use crate::slow;

#[cfg(test)]
mod tests;

/// The longest wait that a server allows.
const LONGEST: Duration = Duration::from_secs(60);

/// Who has confirmed what.
const SYNC: &str = "/keyward/v1/sync";

/// Whether to wait, and how long.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct WaitArgs {
    /// Returns when all workers of all connected proxies have confirmed the change; exit code 3 when they
    /// have not within this time, at most 60s. The change is made either way.
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5s",
        value_parser = duration
    )]
    wait: Option<Duration>,

    /// Who lags is told, and no error.
    #[arg(skip)]
    leniently: bool,
}

/// A change is made, and not all workers have confirmed it.
#[derive(Debug, thiserror::Error)]
#[error("{0}\nhint: `keyward proxy status` shows who holds what; they get it as soon as they can")]
pub(crate) struct Unconfirmed(String);

/// Reads `5s` or `500ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time to wait: write such as 5s or 500ms, at most 60s");
    let wait = text.parse::<jiff::SignedDuration>().map_err(|_| wrong())?;
    Duration::try_from(wait).ok().filter(|wait| !wait.is_zero() && *wait <= LONGEST).ok_or_else(wrong)
}

// === impl WaitArgs ===

impl WaitArgs {
    /// How long.
    pub(crate) fn limit(self) -> Option<Duration> {
        self.wait
    }

    /// The same, and where nobody asked to wait it is waited this long all the same, for what it is worth.
    pub(crate) fn or_leniently(self, wait: Duration) -> Self {
        match self.wait {
            Some(_) => self,
            None => Self { wait: Some(wait), leniently: true },
        }
    }

    /// Says what came of it. What the server warned of beside that is said, too.
    pub(crate) fn tell(self, answer: &Answer, output: &mut Output) -> Result<(), Unconfirmed> {
        const UNCONFIRMED: &str = "the change is made, but ";
        let (lagging, warnings): (Vec<_>, Vec<_>) =
            answer.warnings().partition(|warning| self.wait.is_some() && warning.starts_with(UNCONFIRMED));
        for warning in warnings {
            output.note(format_args!("warning: {warning}"));
        }
        if self.wait.is_none() {
            return Ok(());
        }
        let header = |name| answer.header(name).unwrap_or("?");
        match (header("keyward-synced"), header("keyward-workers")) {
            ("true", "0") if self.leniently => {}
            ("true", "0") => output.note("no proxy is connected, so nobody had to confirm it"),
            ("true", workers) => output.note(format_args!(
                "confirmed by {workers} of {workers} workers in {} ms",
                header("keyward-milliseconds")
            )),
            ("?", _) => {
                let says = "the change is made, but the server does not say who has confirmed it";
                return self.unconfirmed(says.to_owned(), output);
            }
            _ => {
                let lagging = lagging.into_iter().next();
                let says =
                    lagging.unwrap_or_else(|| format!("{UNCONFIRMED}not all workers have confirmed it"));
                return self.unconfirmed(says, output);
            }
        }
        Ok(())
    }

    /// The same for all that was written until now, in however many changes.
    pub(crate) async fn everywhere(self, client: &Client, output: &mut Output) -> anyhow::Result<()> {
        let began = Instant::now();
        let wait = self.wait.unwrap_or_default();
        let revision = client.get(SYNC).await?.body["revision"].as_str().unwrap_or("0").to_owned();
        let path = format!("{SYNC}?revision={revision}&wait={}ms", wait.as_millis());
        // One question for the whole wait: only who is asked all the time knows which workers were lost meanwhile.
        let asked = client.patiently(&path, wait);
        match slow::told("waiting for the workers of all proxies to confirm it", asked).await {
            Ok(answer) => {
                match answer.body["workers"].as_u64().unwrap_or_default() {
                    0 => output.note("no proxy is connected, so nobody had to confirm it"),
                    workers => output.note(format_args!(
                        "confirmed by {workers} of {workers} workers in {} ms",
                        began.elapsed().as_millis()
                    )),
                }
                Ok(())
            }
            Err(ClientError::Refused { refusal, .. }) if refusal.code == StatusCode::GATEWAY_TIMEOUT => {
                Err(Unconfirmed(format!("the change is made, but {}", refusal.message)).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn unconfirmed(self, says: String, output: &mut Output) -> Result<(), Unconfirmed> {
        if self.leniently {
            output.note(format_args!("warning: {says}"));
            return Ok(());
        }
        Err(Unconfirmed(says))
    }
}
