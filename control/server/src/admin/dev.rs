//! The port for developers: open as long as the `Settings` say so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use keyward_tls::TlsConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::serve_any;
use crate::published::Published;

/// An address that is not free is tried again after this.
const RETRY: Duration = Duration::from_secs(1);

/// The port.
pub(super) struct Port {
    pub(super) address: SocketAddr,
    /// The port that takes its place.
    pub(super) successor: String,
    pub(super) tls: Option<TlsConfig>,
    pub(super) router: Router,
}

// === impl Port ===

impl Port {
    /// Opens and closes it as the `Settings` say, until cancelled. What keeps it closed is told to `problem`.
    pub(super) async fn follow(
        self,
        mut published: watch::Receiver<Arc<Published>>,
        problem: watch::Sender<Option<String>>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                wanted = published.wait_for(|published| published.dev_mode) => if wanted.is_err() { return Ok(()) },
            }
            let listener = match TcpListener::bind(self.address).await {
                Ok(listener) => listener,
                Err(error) => {
                    self.tell(&problem, &error);
                    tokio::select! {
                        () = stop.cancelled() => return Ok(()),
                        () = sleep(RETRY) => {}
                    }
                    continue;
                }
            };
            problem.send_if_modified(|problem| problem.take().is_some());
            tracing::warn!(
                address = %self.address, successor = %self.successor,
                "dev mode is on; it is deprecated, the snapshot port shows the same"
            );
            let closing = stop.child_token();
            let serving =
                serve_any("dev-mode port", listener, self.tls.clone(), self.router.clone(), closing.clone());
            let unwanted = async {
                // Nobody publishes any more when the server stops.
                let _ = published.wait_for(|published| !published.dev_mode).await;
                closing.cancel();
            };
            let (served, ()) = tokio::join!(serving, unwanted_or(unwanted, &stop));
            served?;
            tracing::info!(address = %self.address, "dev mode is off");
        }
    }

    fn tell(&self, problem: &watch::Sender<Option<String>>, error: &std::io::Error) {
        let text = format!(
            "spec.devMode: {} cannot be opened ({error}); it is tried again, or choose another address with \
             --dev-admin",
            self.address
        );
        problem.send_if_modified(|problem| {
            let is_new = problem.as_ref() != Some(&text);
            if is_new {
                tracing::warn!("{text}");
                *problem = Some(text.clone());
            }
            is_new
        });
    }
}

/// Until one of the two.
async fn unwanted_or(unwanted: impl Future<Output = ()>, stop: &CancellationToken) {
    tokio::select! {
        () = unwanted => {}
        () = stop.cancelled() => {}
    }
}
