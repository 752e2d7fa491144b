//! A watch: changes as a stream of batches.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, watch};
use tokio_stream::{Stream, StreamExt};

use crate::error::StoreError;
use crate::record::{Event, Revision};

/// Batches that may wait for a slow watcher. Each is bounded too, so memory is.
const PENDING_BATCHES: usize = 2;

/// The changes of a store from a revision on. Dropping it ends it.
///
/// A [`Stream`] of batches, never empty, in the order of their revisions. Ends when the store is
/// closed, or after an error.
#[derive(Debug)]
pub struct Watch {
    batches: mpsc::Receiver<Batch>,
}

/// One item of a watch.
pub(crate) type Batch = Result<Vec<Event>, StoreError>;

/// Starts a watch after `from`, fed by `read` (the batch after a revision) whenever the store's
/// `head` has moved on. Reads only when there is room, so nothing piles up for a slow watcher.
pub(crate) fn follow<Read, Reading>(from: Revision, mut head: watch::Receiver<Revision>, read: Read) -> Watch
where
    Read: Fn(Revision) -> Reading + Send + 'static,
    Reading: Future<Output = Batch> + Send,
{
    let (sender, watch) = Watch::channel();
    tokio::spawn(async move {
        let mut at = from;
        while let Ok(room) = sender.reserve().await {
            let closed = tokio::select! {
                closed = async { head.wait_for(|head| *head > at).await.is_err() } => closed,
                () = sender.closed() => true,
            };
            if closed {
                return;
            }
            match read(at).await {
                Ok(events) => {
                    if let Some(last) = events.last() {
                        at = last.revision();
                        room.send(Ok(events));
                    }
                }
                Err(failure) => return room.send(Err(failure)),
            }
        }
    });
    watch
}

// === impl Watch ===

impl Watch {
    /// A watch and the end to feed it by.
    pub(crate) fn channel() -> (mpsc::Sender<Batch>, Self) {
        let (sender, batches) = mpsc::channel(PENDING_BATCHES);
        (sender, Self { batches })
    }

    /// The next batch; `None` when the store is closed or the watch has failed before.
    pub async fn next(&mut self) -> Option<Result<Vec<Event>, StoreError>> {
        StreamExt::next(self).await
    }
}

impl Stream for Watch {
    type Item = Result<Vec<Event>, StoreError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_recv(cx)
    }
}
