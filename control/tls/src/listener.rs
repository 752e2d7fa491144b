//! Accepting TLS connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keyward_pki::Facts;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::config::{Current, TlsConfig};
use crate::connection::{Connection, Peer, end};

#[cfg(test)]
mod tests;

/// How many handshakes are under way at most. More clients wait outside.
const HANDSHAKES: usize = 256;
/// How long a client may take to shake hands.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait when the machine has no room for another connection.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that wait for whoever serves them.
const BACKLOG: usize = 64;

/// Connections that have shaken hands. Whoever is slow at it, or fails, is in nobody's way.
#[derive(Debug)]
pub struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<Connection>,
}

/// A handshake that did not come to a connection.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the handshake took too long")]
    Slow,
    #[error("the handshake failed: {0}")]
    Handshake(#[from] io::Error),
    #[error("the client's certificate: {0}")]
    Certificate(#[from] keyward_pki::CertificateError),
}

async fn accept(listener: TcpListener, config: TlsConfig, ready: mpsc::Sender<Connection>) {
    let slots = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ready.closed() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                tokio::spawn(admit(stream, address, config.clone(), ready.clone(), slot));
            }
            Err(error) => {
                tracing::warn!(port = config.name(), "a connection could not be accepted: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn admit(
    stream: TcpStream,
    address: SocketAddr,
    config: TlsConfig,
    ready: mpsc::Sender<Connection>,
    slot: OwnedSemaphorePermit,
) {
    let connection = tokio::select! {
        shaken = timeout(PATIENCE, shake_hands(stream, address, config.current())) => {
            shaken.unwrap_or(Err(Refused::Slow))
        }
        () = ready.closed() => return,
    };
    drop(slot);
    match connection {
        // Nobody may be there any more to serve it.
        Ok(connection) => drop(ready.send(connection).await),
        Err(refused) => tracing::warn!(port = config.name(), peer = %address, "refused: {refused}"),
    }
}

async fn shake_hands(
    stream: TcpStream,
    address: SocketAddr,
    current: Arc<Current>,
) -> Result<Connection, Refused> {
    stream.set_nodelay(true)?;
    let stream = TlsAcceptor::from(current.config.clone()).accept(stream).await?;
    let (_, session) = stream.get_ref();
    // The library demands and verifies it where one is needed; here it is only read.
    let facts =
        session.peer_certificates().and_then(<[_]>::first).map(|leaf| Facts::of_der(leaf)).transpose()?;
    let proxy = facts.as_ref().map(Facts::proxy_role).transpose()?;
    let until = end(facts.map(|facts| facts.not_after), current.trust_changed.clone());
    Ok(Connection::new(stream, Peer { address, proxy }, until))
}

// === impl TlsListener ===

impl TlsListener {
    /// Accepts connections with whatever certificates are in force when they come. It stops when it
    /// is dropped.
    ///
    /// # Errors
    ///
    /// When the listener has no address.
    pub fn new(listener: TcpListener, config: TlsConfig) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, ready) = mpsc::channel(BACKLOG);
        tokio::spawn(accept(listener, config, sender));
        Ok(Self { address, ready })
    }

    /// The connections, as tonic takes them.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Connection>> + Send {
        tokio_stream::StreamExt::map(ReceiverStream::new(self.ready), Ok)
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(connection) => {
                let address = connection.peer().address;
                (connection, address)
            }
            // The task that accepts ends after this end only.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.address)
    }
}
