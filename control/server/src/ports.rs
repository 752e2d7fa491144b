//! The ports: opened, served plain or over TLS, and closed.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::HOST;
use axum::middleware::map_request;
use axum::serve::{Listener, ListenerExt as _};
use keyward_tls::{TlsConfig, TlsListener};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;

#[cfg(test)]
mod tests;

/// How long answers under way may take after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(2);

pub(crate) async fn listen(address: SocketAddr, what: &str, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("{address} is not free for {what}\nhint: choose another address with {flag}, or stop what uses this one")
    })
}

/// The address at which this machine reaches what listens on `address`.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Connections without TLS. What is written goes out at once: a change that follows another one would
/// otherwise wait for the proxy's kernel to acknowledge that one, which takes its time, 40 ms on Linux.
fn plain(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}

/// Serves gRPC until cancelled.
pub(crate) async fn serve_grpc(
    router: tonic::transport::server::Router,
    listener: TcpListener,
    tls: Option<TlsConfig>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let serving = async {
        match tls {
            Some(config) => {
                router.serve_with_incoming(TlsListener::new(listener, config)?.into_stream()).await?;
            }
            None => router.serve_with_incoming(plain(listener)).await?,
        }
        Ok(())
    };
    // Streams never end by themselves: closing the port must not wait for them.
    tokio::select! {
        outcome = serving => outcome.map_err(|error: anyhow::Error| error.context("the gRPC port failed")),
        () = stop.cancelled() => Ok(()),
    }
}

/// Serves HTTP until cancelled; answers under way may still go out.
pub(crate) async fn serve_http<L>(
    what: &str,
    listener: L,
    api: Router,
    stop: CancellationToken,
) -> anyhow::Result<()>
where
    L: Listener<Addr = SocketAddr>,
{
    let stopped = stop.clone().cancelled_owned();
    let given_up = async {
        stop.cancelled().await;
        sleep(DRAIN).await;
    };
    let api = api.layer(map_request(with_host)).into_make_service_with_connect_info::<SocketAddr>();
    // Whatever the listener is, it then tells where a connection comes from.
    let listener = listener.tap_io(|_| {});
    tokio::select! {
        served = axum::serve(listener, api).with_graceful_shutdown(stopped) => {
            served.with_context(|| format!("the {what} failed"))
        }
        // A client that hangs does not keep the server from stopping.
        () = given_up => Ok(()),
    }
}

/// HTTP/2 says in another place which host is meant; everything after this looks in one.
async fn with_host(mut request: Request) -> Request {
    let named = request.uri().authority().map(|authority| authority.as_str().parse::<HeaderValue>());
    if let Some(Ok(host)) = named {
        request.headers_mut().insert(HOST, host);
    }
    request
}
