//! A load generator: one thread, some connections, HTTP/1.1, one request after the other on each.
//!
//! Every answer is looked at, and its time is kept, so that any part of a run can be looked at later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::keys::{self, DIGITS};
use crate::peers::DIRECT;

/// A single answer takes no longer.
const LIMIT: Duration = Duration::from_secs(20);
/// Between two requests of a connection of traffic beside a measurement: some 500 requests a second.
const PAUSE: Duration = Duration::from_millis(1);
/// Room for the head of an answer and its small body.
const ANSWER: usize = 8 * 1024;

/// Which key goes with a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    /// Any of so many that are known, another one each time: what is asked for is not in a cache.
    Known(usize),
    /// Always the same that nobody has.
    Unknown,
    /// Another one each time that nobody has.
    Flood,
}

/// What is asked, and what the answer must be.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) port: u16,
    pub(crate) path: &'static str,
    pub(crate) key: Key,
    pub(crate) status: u16,
    pub(crate) connections: usize,
    /// A pause before each request, for traffic that leaves the machine some air.
    pub(crate) pause: Duration,
}

/// One answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) asked: Instant,
    pub(crate) took: Duration,
}

/// Load that runs until it is told to stop, or dropped.
pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<anyhow::Result<Vec<Answer>>>>,
}

/// Small and quick: the load generator shares the machine with what it measures.
struct Random(u64);

struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    /// Where the number of the key stands in it.
    digits: usize,
    buffer: Vec<u8>,
}

async fn ask(load: Load, number: usize, stop: Arc<AtomicBool>) -> anyhow::Result<Vec<Answer>> {
    let mut client = Client::connect(&load).await?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1));
    let mut answers = Vec::with_capacity(64 * 1024);
    while !stop.load(Ordering::Relaxed) {
        if !load.pause.is_zero() {
            tokio::time::sleep(load.pause).await;
        }
        match load.key {
            Key::Known(count) => client.number(random.below(count)),
            Key::Flood => client.number(random.below(usize::MAX)),
            Key::Unknown => {}
        }
        let asked = Instant::now();
        let status = timeout(LIMIT, client.exchange()).await.context("no answer came in time")??;
        ensure!(status == load.status, "{} was answered with {status}, not {}", load.path, load.status);
        answers.push(Answer { asked, took: asked.elapsed() });
    }
    Ok(answers)
}

/// The status and the whole length of an answer, once its head is there.
fn head(received: &[u8]) -> anyhow::Result<Option<(u16, usize)>> {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&received[..end])?;
    let status = text.get(9..12).context("an answer without a status")?.parse()?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let Some(length) = length else { bail!("an answer without a length: {text}") };
    Ok(Some((status, end + 4 + length.parse::<usize>()?)))
}

// === impl Load ===

impl Load {
    /// Allowed requests beside what is measured, which leave the machine some air.
    pub(crate) fn beside(port: u16, keys: usize, connections: usize) -> Self {
        Self { port, path: DIRECT, key: Key::Known(keys), status: 200, connections, pause: PAUSE }
    }

    /// Starts it.
    pub(crate) fn start(&self) -> anyhow::Result<Running> {
        let stop = Arc::new(AtomicBool::new(false));
        let (load, stopped) = (self.clone(), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut clients = tokio::task::JoinSet::new();
                for number in 0..load.connections {
                    clients.spawn(ask(load.clone(), number, Arc::clone(&stopped)));
                }
                let mut answers = Vec::new();
                while let Some(client) = clients.join_next().await {
                    answers.extend(client.context("a client failed")??);
                }
                Ok(answers)
            })
        })?;
        Ok(Running { stop, thread: Some(thread) })
    }

    /// Runs it for some time.
    pub(crate) async fn run(&self, time: Duration) -> anyhow::Result<Vec<Answer>> {
        let running = self.start()?;
        tokio::time::sleep(time).await;
        running.stop().await
    }
}

// === impl Running ===

impl Running {
    /// Stops it: all answers. It is an error when one of them was wrong.
    pub(crate) async fn stop(mut self) -> anyhow::Result<Vec<Answer>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().context("stopped already")?;
        let joined = tokio::task::spawn_blocking(move || thread.join()).await?;
        joined.map_err(|_| anyhow::anyhow!("the load generator panicked"))?
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

// === impl Client ===

impl Client {
    async fn connect(load: &Load) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", load.port)).await.context("nobody listens")?;
        stream.set_nodelay(true)?;
        let key = match load.key {
            Key::Known(_) => keys::known(0),
            Key::Unknown | Key::Flood => keys::unknown(0),
        };
        let before = format!("GET {} HTTP/1.1\r\nhost: bench\r\napi-key: ", load.path);
        let request = format!("{before}{key}\r\n\r\n").into_bytes();
        Ok(Self { stream, request, digits: before.len(), buffer: Vec::with_capacity(ANSWER) })
    }

    /// From now on asks with the key of this number.
    fn number(&mut self, number: usize) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut rest = number;
        for digit in self.request[self.digits..self.digits + DIGITS].iter_mut().rev() {
            *digit = HEX[rest % 16];
            rest /= 16;
        }
    }

    /// Asks and waits for the answer: its status.
    async fn exchange(&mut self) -> anyhow::Result<u16> {
        self.stream.write_all(&self.request).await?;
        self.buffer.clear();
        let mut known = None;
        loop {
            if known.is_none() {
                known = head(&self.buffer)?;
            }
            if let Some((status, length)) = known
                && self.buffer.len() >= length
            {
                return Ok(status);
            }
            let count = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(count > 0, "the connection was closed");
        }
    }
}

// === impl Random ===

impl Random {
    /// A number below another one, about evenly.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}
