//! `?wait=`: an answer to a write that comes once every worker of every connected proxy has
//! confirmed the write.
//!
//! The write is made either way, and its answer has the same status and body as without. Whether
//! all have confirmed stands in headers; if not, also in a `Warning`, which kubectl shows.

use std::time::Duration;

use axum::http::header::WARNING;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use futures::future::BoxFuture;
use keyward_resource::{ApiStatus, Kind};
use keyward_store::Revision;

use crate::dispatch::Call;
use crate::reply::warning;

#[cfg(test)]
mod tests;

/// What `?wait` comes to by itself.
const USUAL_WAIT: Duration = Duration::from_secs(5);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The revision that a write made.
const REVISION: HeaderName = HeaderName::from_static("keyward-revision");
/// Whether all workers have confirmed it.
const SYNCED: HeaderName = HeaderName::from_static("keyward-synced");
/// How many workers there are.
const WORKERS: HeaderName = HeaderName::from_static("keyward-workers");
/// How many of them have confirmed it.
const CONFIRMED: HeaderName = HeaderName::from_static("keyward-confirmed");
/// How long that took, from the arrival of the request.
const MILLISECONDS: HeaderName = HeaderName::from_static("keyward-milliseconds");

/// What there is to say of a write that was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// How many workers there are.
    pub workers: usize,
    /// How many of them have confirmed it.
    pub confirmed: usize,
    /// Why that is not all there is to it, if it is not: in a sentence, with names.
    pub lagging: Option<String>,
}

/// Knows when a write has arrived everywhere.
pub trait Confirm: Send + Sync + 'static {
    /// Waits until all workers have confirmed a revision that wrote objects of this kind, but no
    /// longer than told.
    fn confirm(&self, kind: &'static Kind, revision: Revision, wait: Duration)
    -> BoxFuture<'_, Confirmation>;
}

/// Reads the value of `wait`: `5s`, `500ms`; nothing for the usual.
///
/// # Errors
///
/// When it is none, or a longer one than is allowed.
pub fn wait(value: &str) -> Result<Option<Duration>, ApiStatus> {
    let wait = match value {
        "" | "true" => USUAL_WAIT,
        "0" | "false" => return Ok(None),
        _ => {
            let parsed = value.parse::<jiff::SignedDuration>().ok();
            let parsed = parsed.and_then(|wait| Duration::try_from(wait).ok());
            parsed.filter(|wait| *wait <= LONGEST_WAIT).ok_or_else(|| {
                ApiStatus::bad_request(
                    "wait: Invalid value: must be a duration such as 5s or 500ms, at most 60s",
                )
            })?
        }
    };
    Ok(Some(wait))
}

// === impl Call ===

impl Call<'_> {
    /// Waits for what was written, if that is asked for, and says what came of it.
    pub(crate) async fn confirmed(
        &self,
        confirm: Option<&dyn Confirm>,
        revision: Option<Revision>,
        mut answer: Response,
    ) -> Result<Response, ApiStatus> {
        let (Some(wait), Some(revision)) = (self.query.wait, revision) else { return Ok(answer) };
        let confirmation = match confirm {
            Some(confirm) => confirm.confirm(self.target.kind, revision, wait).await,
            None => Confirmation { workers: 0, confirmed: 0, lagging: None },
        };
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let synced = if confirmation.lagging.is_none() { "true" } else { "false" };
        let headers = answer.headers_mut();
        headers.insert(REVISION, revision.0.into());
        headers.insert(SYNCED, HeaderValue::from_static(synced));
        headers.insert(WORKERS, confirmation.workers.into());
        headers.insert(CONFIRMED, confirmation.confirmed.into());
        headers.insert(MILLISECONDS, milliseconds.into());
        if let Some(lagging) = confirmation.lagging
            && let Some(warning) =
                warning(&format!("the change is made, but {}", self.identity.sight.words(&lagging)))
        {
            headers.append(WARNING, warning);
        }
        Ok(answer)
    }
}
