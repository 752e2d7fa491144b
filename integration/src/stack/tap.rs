//! A wire tap: between a proxy and its control server, it records what is said and can hold back.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A tap in front of an address.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    recorded: Mutex<Vec<u8>>,
    /// Connections from this number on say nothing and hear nothing.
    held_from: AtomicUsize,
    stop: AtomicBool,
}

fn forward(mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        shared.recorded.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // The other direction ends as well: half a connection helps nobody.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn connect(client: TcpStream, number: usize, shared: &Arc<Shared>) -> std::io::Result<()> {
    while number >= shared.held_from.load(Ordering::Relaxed) {
        if shared.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let server = TcpStream::connect(shared.target)?;
    let (client_too, server_too) = (client.try_clone()?, server.try_clone()?);
    let sharing = Arc::clone(shared);
    std::thread::spawn(move || forward(client_too, server_too, &sharing));
    forward(server, client, shared);
    Ok(())
}

// === impl Tap ===

impl Tap {
    /// Starts to listen, for whatever is said to this address.
    ///
    /// # Errors
    ///
    /// When there is no port.
    pub fn start(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            target,
            recorded: Mutex::default(),
            held_from: AtomicUsize::new(usize::MAX),
            stop: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                if serving.stop.load(Ordering::Relaxed) {
                    return;
                }
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || connect(client, number, &serving).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets only the first connections through; the others wait until [`Tap::release`].
    pub fn hold_from(&self, number: usize) {
        self.shared.held_from.store(number, Ordering::Relaxed);
    }

    /// Lets everything through.
    pub fn release(&self) {
        self.hold_from(usize::MAX);
    }

    /// Everything that was said so far, both directions.
    #[must_use]
    pub fn recorded(&self) -> Vec<u8> {
        self.shared.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts, so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}
