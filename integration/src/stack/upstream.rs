//! The upstream of a test: it keeps what arrives, to the byte, and answers as it was told.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::http1::parse_head;
use crate::headers::Headers;

/// Names a request, from the client to the upstream. No case may use it.
pub const TEST_ID_HEADER: &str = "x-test-id";

/// A request with this header is answered when [`Upstream::release`] is called, and not before.
pub const TEST_HOLD_HEADER: &str = "x-test-hold";
/// No request is held longer, so that nothing hangs when a test fails.
const LONGEST_HOLD: Duration = Duration::from_secs(20);

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The first line: method, path, version.
    pub line: String,
    /// The headers.
    pub headers: Headers,
    /// Trailers, if its body came in chunks.
    pub trailers: Headers,
    /// The body.
    pub body: Vec<u8>,
}

/// The upstream.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    arrived: Mutex<BTreeMap<Vec<u8>, Arrived>>,
    answers: Mutex<BTreeMap<Vec<u8>, Headers>>,
    total: AtomicU64,
    released: AtomicBool,
    stop: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: &TcpStream, shared: &Shared) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream.try_clone()?;
    while let Some(arrived) = read_request(&mut reader)? {
        shared.total.fetch_add(1, Ordering::Relaxed);
        let held = arrived.headers.first(TEST_HOLD_HEADER).is_some();
        let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n".to_vec();
        if let Some(id) = arrived.headers.first(TEST_ID_HEADER).map(<[u8]>::to_vec) {
            for (name, value) in lock(&shared.answers).remove(&id).unwrap_or_default().iter() {
                answer.extend_from_slice(name);
                answer.extend_from_slice(b": ");
                answer.extend_from_slice(value);
                answer.extend_from_slice(b"\r\n");
            }
            lock(&shared.arrived).insert(id, arrived);
        }
        let limit = Instant::now() + LONGEST_HOLD;
        while held && !shared.released.load(Ordering::Relaxed) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        answer.extend_from_slice(b"\r\nok");
        writer.write_all(&answer)?;
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Option<Arrived>> {
    let Some((line, headers)) = read_head(reader)? else { return Ok(None) };
    let mut body = Vec::new();
    let mut trailers = Headers::new();
    if headers.first("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16)?;
            if size == 0 {
                trailers = read_fields(reader)?;
                break;
            }
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
        }
    } else if let Some(length) = headers.first("content-length") {
        let length: u64 = str::from_utf8(length)?.parse()?;
        reader.by_ref().take(length).read_to_end(&mut body)?;
    }
    Ok(Some(Arrived { line, headers, trailers, body }))
}

fn read_head(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Option<(String, Headers)>> {
    let head = read_block(reader)?;
    if head.is_empty() {
        return Ok(None);
    }
    let (line, headers) = parse_head(&head)?;
    Ok(Some((String::from_utf8_lossy(&line).into_owned(), headers)))
}

fn read_fields(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Headers> {
    let mut block = b"trailers\r\n".to_vec();
    block.extend(read_block(reader)?);
    Ok(parse_head(&block)?.1)
}

/// Lines up to an empty one, or to the end.
fn read_block(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Vec<u8>> {
    let mut block = Vec::new();
    loop {
        let before = block.len();
        reader.read_until(b'\n', &mut block)?;
        let line = block.get(before..).unwrap_or_default();
        if line.is_empty() || line == b"\r\n" {
            block.truncate(before);
            return Ok(block);
        }
    }
}

// === impl Upstream ===

impl Upstream {
    /// Starts to listen on a port of the loopback address.
    ///
    /// # Errors
    ///
    /// When there is no port.
    pub fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for the upstream")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stop.load(Ordering::Relaxed) {
                    return;
                }
                let serving = Arc::clone(&serving);
                // A connection that breaks is the business of whoever waits for an answer on it.
                std::thread::spawn(move || serve(&stream, &serving).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests have arrived.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.shared.total.load(Ordering::Relaxed)
    }

    /// Answers the requests that are held, and holds no more.
    pub fn release(&self) {
        self.shared.released.store(true, Ordering::Relaxed);
    }

    /// Answers the request of this id with these headers.
    pub fn answer(&self, id: &str, headers: &Headers) {
        lock(&self.shared.answers).insert(id.as_bytes().to_vec(), headers.clone());
    }

    /// Takes out the request of this id, if it arrived.
    #[must_use]
    pub fn take(&self, id: &str) -> Option<Arrived> {
        lock(&self.shared.answers).remove(id.as_bytes());
        lock(&self.shared.arrived).remove(id.as_bytes())
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts, so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}
