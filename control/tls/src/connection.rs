//! A connection after its handshake: whose it is, and until when.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use keyward_pki::ProxyRole;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

/// How long to sleep without a look at the clock on the wall, which may be set, or go on while the
/// machine sleeps.
const LOOK: Duration = Duration::from_secs(30);
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The role that its certificate says, where proxies need one.
    pub proxy: Option<ProxyRole>,
}

/// Why a connection ends although both ends would go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum End {
    /// The certificate of the other end.
    #[error("the certificate of the client has expired")]
    Expired,
    /// What is trusted has changed, so the other end has to show its certificate again.
    #[error("who is trusted has changed")]
    TrustChanged,
}

/// A TLS connection.
pub struct Connection {
    stream: Pin<Box<TlsStream<TcpStream>>>,
    peer: Peer,
    end: Pin<Box<dyn Future<Output = End> + Send>>,
    ended: Option<End>,
}

/// Resolves when a connection has to end.
pub(crate) async fn end(not_after: Option<Timestamp>, trust_changed: CancellationToken) -> End {
    loop {
        let left = match not_after {
            // A certificate is valid through its last second.
            Some(end) => SECOND.saturating_add(end.duration_since(Timestamp::now())),
            None => SignedDuration::MAX,
        };
        let Ok(left) = Duration::try_from(left) else { return End::Expired };
        if left.is_zero() {
            return End::Expired;
        }
        tokio::select! {
            () = sleep(LOOK.min(left)) => {}
            () = trust_changed.cancelled() => return End::TrustChanged,
        }
    }
}

// === impl Connection ===

impl Connection {
    pub(crate) fn new(
        stream: TlsStream<TcpStream>,
        peer: Peer,
        end: impl Future<Output = End> + Send + 'static,
    ) -> Self {
        Self { stream: Box::pin(stream), peer, end: Box::pin(end), ended: None }
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Whether it has ended; if not, whoever asks is woken when it does.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.ended.is_none()
            && let Poll::Ready(end) = self.end.as_mut().poll(cx)
        {
            tracing::info!(peer = %self.peer.address, "connection ended: {end}");
            self.ended = Some(end);
        }
        self.ended.map_or(Ok(()), |end| Err(io::Error::new(io::ErrorKind::ConnectionAborted, end)))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        self.stream.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        self.stream.as_mut().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        self.stream.as_mut().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.peer.clone()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}
