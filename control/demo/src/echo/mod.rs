//! The echo upstream: answers every request with the request itself, as JSON.
//!
//! For tests a request can shape the answer:
//!
//! | request header | effect |
//! |---|---|
//! | `x-echo-status: 503` | the status of the answer |
//! | `x-echo-response-header: name: value`, repeatable | adds that header to the answer |

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

mod answer;
#[cfg(test)]
mod tests;

pub use answer::{BodyEncoding, Echo, MAX_BODY};

/// How long open requests may take to end after a stop was asked for.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs the echo upstream of the demonstration: it answers every request with the request as JSON.
#[derive(Debug, Clone, Args)]
pub struct UpstreamArgs {
    /// Address to listen on; port 0 takes any free port.
    #[arg(long, env = "KEYWARD_LISTEN", default_value = "127.0.0.1:8081", value_name = "ADDR")]
    pub listen: SocketAddr,
}

/// The echo service: every method, every path.
pub fn router() -> Router {
    Router::new().fallback(logged)
}

/// Serves HTTP/1.1 and HTTP/2 without TLS until `shutdown` is ready. Requests that are then still
/// open get two seconds to end.
///
/// # Errors
///
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let (stopping, mut stopped) = watch::channel(());
    let server = axum::serve(listener, router()).with_graceful_shutdown(async move {
        shutdown.await;
        drop(stopping);
    });
    tokio::select! {
        outcome = async { server.await } => outcome,
        () = async {
            // Ends when the sender is dropped.
            while stopped.changed().await.is_ok() {}
            tokio::time::sleep(DRAIN).await;
        } => Ok(()),
    }
}

/// Runs the echo upstream until SIGINT or SIGTERM.
///
/// # Errors
///
/// When the address cannot be listened on, or the listener fails.
pub async fn run(args: UpstreamArgs) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address with --listen", args.listen))?;
    tracing::info!("echo upstream listening on {}", listener.local_addr()?);
    serve(listener, async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
    .await
    .context("the echo upstream failed")?;
    tracing::info!("echo upstream stopped");
    Ok(())
}

async fn logged(request: Request) -> Response {
    // Neither headers nor query: keys may stand there.
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = answer::answer(request).await;
    tracing::info!("{method} {path} {}", response.status().as_u16());
    response
}
