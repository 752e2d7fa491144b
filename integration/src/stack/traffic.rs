//! Traffic in the background of a test: clients that ask without pause and check every answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::http1::Connection;
use super::launch::Stack;
use crate::headers::Headers;

/// A pause between two requests of one client, so that all tests have some of the machine.
const PACE: Duration = Duration::from_millis(2);

/// One kind of request, and the statuses that are right answers to it.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The host.
    pub host: String,
    /// The path.
    pub path: String,
    /// The key, if any.
    pub key: Option<String>,
    /// What may come.
    pub right: Vec<u16>,
}

/// Running traffic.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    tally: Arc<Mutex<Tally>>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Tally {
    answers: u64,
    wrong: Vec<String>,
    dropped: Vec<String>,
}

/// Asks until told to stop, over one connection as long as it holds.
fn ask(gateway: std::net::SocketAddr, samples: &[Sample], stop: &AtomicBool, tally: &Mutex<Tally>) {
    let note = |act: &dyn Fn(&mut Tally)| act(&mut tally.lock().unwrap_or_else(PoisonError::into_inner));
    let started = Instant::now();
    let mut connection = None;
    for sample in samples.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let at = started.elapsed();
        let mut headers = Headers::new().with("host", &sample.host);
        if let Some(key) = &sample.key {
            headers.add("api-key", key);
        }
        let open: &mut Connection = match &mut connection {
            Some(open) => open,
            None => match Connection::open(gateway) {
                Ok(open) => connection.insert(open),
                Err(error) => {
                    note(&|tally| tally.dropped.push(format!("{at:?}: no connection: {error:#}")));
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
            },
        };
        match open.request("GET", &sample.path, &headers) {
            Ok(response) if sample.right.contains(&response.status) => note(&|tally| tally.answers += 1),
            Ok(response) => {
                let wrong = format!("{at:?}: {sample:?} got {}", response.status);
                note(&|tally| tally.wrong.push(wrong.clone()));
            }
            Err(error) => {
                note(&|tally| tally.dropped.push(format!("{at:?}: {error:#}")));
                connection = None;
            }
        }
        std::thread::sleep(PACE);
    }
}

// === impl Sample ===

impl Sample {
    /// A request with a key, or without, and the one right answer.
    #[must_use]
    pub fn new(host: &str, key: Option<&str>, right: u16) -> Self {
        Self { host: host.to_owned(), path: "/".to_owned(), key: key.map(str::to_owned), right: vec![right] }
    }

    /// One more right answer.
    #[must_use]
    pub fn or(mut self, status: u16) -> Self {
        self.right.push(status);
        self
    }
}

// === impl Traffic ===

impl Traffic {
    /// Starts clients that each send the samples in turn.
    #[must_use]
    pub fn start(stack: &Stack, clients: usize, samples: &[Sample]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tally = Arc::new(Mutex::new(Tally::default()));
        let gateway = stack.gateway();
        let clients = (0..clients)
            .map(|_| {
                let (stop, tally, samples) = (Arc::clone(&stop), Arc::clone(&tally), samples.to_vec());
                std::thread::spawn(move || ask(gateway, &samples, &stop, &tally))
            })
            .collect();
        Self { stop, tally, clients }
    }

    /// How many right answers there were so far.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).answers
    }

    /// Waits for some more right answers.
    ///
    /// # Errors
    ///
    /// When they do not come in time.
    pub fn more(&self, count: u64, limit: Duration) -> anyhow::Result<()> {
        let goal = self.answers() + count;
        super::wait::until(limit, "traffic to go on", || {
            ensure!(self.answers() >= goal, "{} of {goal} answers", self.answers());
            Ok(())
        })
    }

    /// Stops it. Every answer must have been right, and no connection dropped; how many answers
    /// there were.
    ///
    /// # Errors
    ///
    /// When an answer was wrong or a connection dropped.
    pub fn stop(self) -> anyhow::Result<u64> {
        let (answers, dropped) = self.stop_leniently()?;
        if let Some(first) = dropped.first() {
            bail!("{} connections dropped; the first: {first}", dropped.len());
        }
        Ok(answers)
    }

    /// Stops it. Every answer must have been right; connections may have dropped: how many answers
    /// there were, and what dropped.
    ///
    /// # Errors
    ///
    /// When an answer was wrong, or there was none.
    pub fn stop_leniently(mut self) -> anyhow::Result<(u64, Vec<String>)> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            ensure!(client.join().is_ok(), "a client panicked");
        }
        let tally = std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(first) = tally.wrong.first() {
            bail!("{} of {} answers were wrong; the first: {first}", tally.wrong.len(), tally.answers);
        }
        ensure!(tally.answers > 0, "no request was answered: {:?}", tally.dropped.first());
        Ok((tally.answers, tally.dropped))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
