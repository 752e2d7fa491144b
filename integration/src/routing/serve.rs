//! An HTTP server of a test: both versions on one port, with TLS or without.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// Who is at the other end of a TLS connection; nothing without TLS.
#[derive(Debug, Clone, Default)]
pub(super) struct Peer {
    /// The server name that it asked for.
    pub(super) sni: Option<String>,
    /// Whether it showed a certificate.
    pub(super) certificate: bool,
}

/// A server, or a port where nobody answers. Both end when this is dropped.
pub(super) struct Server {
    address: SocketAddr,
    /// Held, so that nobody else gets the port.
    _closed: Option<TcpSocket>,
    task: Option<AbortHandle>,
}

/// Starts a server.
pub(super) async fn http<H, F>(tls: Option<Arc<ServerConfig>>, handler: H) -> anyhow::Result<Server>
where
    H: Fn(Peer, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<Response<Full<Bytes>>>> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port for a host")?;
    let address = listener.local_addr()?;
    let acceptor = tls.map(TlsAcceptor::from);
    let task = tokio::spawn(async move {
        // Connections end with the server.
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, handler) = (acceptor.clone(), handler.clone());
            connections.spawn(async move {
                let Some(acceptor) = acceptor else {
                    return connection(stream, Peer::default(), handler).await;
                };
                // Whoever does not get through the handshake sees it at the other end.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let session = stream.get_ref().1;
                let peer = Peer {
                    sni: session.server_name().map(str::to_owned),
                    certificate: session.peer_certificates().is_some(),
                };
                connection(stream, peer, handler).await;
            });
            while connections.try_join_next().is_some() {}
        }
    });
    Ok(Server { address, _closed: None, task: Some(task.abort_handle()) })
}

async fn connection<S, H, F>(stream: S, peer: Peer, handler: H)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Peer, Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<Response<Full<Bytes>>>> + Send + 'static,
{
    let service = service_fn(move |request| {
        let answer = handler(peer.clone(), request);
        async move { answer.await.map_err(std::io::Error::other) }
    });
    // A connection that breaks is the business of whoever waits for an answer on it.
    let _ = Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
}

// === impl Server ===

impl Server {
    /// A port where connections are refused.
    pub(super) async fn down() -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { address: socket.local_addr()?, _closed: Some(socket), task: None })
    }

    /// Where it is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
