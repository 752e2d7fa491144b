//! The Secrets whose keys are used most: who they are is said by whoever wrote them, and how many are shown
//! by whoever started the server. Strangers choose neither.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Metrics;
use crate::published::Published;
use crate::usage::Usage;

/// Namespace and name.
pub(super) type Labels = [(&'static str, String); 2];

/// How often they are looked for at most: that goes through all Secrets that were ever used.
const EVERY: Duration = Duration::from_secs(5);

/// Shows so many Secrets until cancelled.
pub(crate) async fn follow(
    metrics: Metrics,
    usage: Usage,
    published: watch::Receiver<Arc<Published>>,
    count: usize,
    cancelled: CancellationToken,
) -> anyhow::Result<()> {
    let mut stored = usage.changes();
    loop {
        let next = Instant::now() + EVERY;
        match usage.top(&published, count).await {
            Ok(rows) => {
                let shown = &metrics.0.key_uses;
                shown.clear();
                for row in rows {
                    let labels = [("namespace", row.namespace), ("name", row.name)];
                    shown.get_or_create(&labels).inc_by(row.uses);
                }
            }
            Err(error) => tracing::warn!("the keys that are used most are not known: {error}"),
        }
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            // The sender is in `usage`.
            _ = stored.changed() => {}
        }
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            () = sleep_until(next) => {}
        }
    }
}
