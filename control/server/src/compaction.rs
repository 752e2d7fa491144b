//! Forgets old changes of the store: nobody watches from so far back, and a deleted Secret must
//! not live on in the log.

use std::sync::Arc;
use std::time::Duration;

use keyward_store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// A change can be watched from for this long at least, and for twice as long at most.
const KEEP: Duration = Duration::from_secs(5 * 60);

/// Compacts until cancelled. A store that fails is tried again the next time.
pub(crate) async fn run(store: Arc<dyn Store>, cancelled: CancellationToken) -> anyhow::Result<()> {
    let mut keep_from = None;
    loop {
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            () = sleep(KEEP) => {}
        }
        if let Some(revision) = keep_from
            && let Err(error) = store.compact(revision).await
        {
            tracing::warn!("the store could not be compacted: {:#}", anyhow::Error::new(error));
        }
        keep_from = store.revision().await.ok();
    }
}
