//! A writer of log lines that keeps the last ones.

use std::io::{self, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::{ENVOY_TARGET, Ring};

/// Writes to standard error, and into a ring.
#[derive(Debug, Clone)]
pub(crate) struct Tee {
    ring: Ring,
}

/// Writes one event.
#[derive(Debug)]
pub(crate) struct Writer {
    ring: Option<Ring>,
    is_error: bool,
    said: Vec<u8>,
}

/// What a terminal shows of a text: colours are for terminals.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

// === impl Tee ===

impl Tee {
    pub(crate) fn new(ring: Ring) -> Self {
        Self { ring }
    }
}

impl<'a> MakeWriter<'a> for Tee {
    type Writer = Writer;

    fn make_writer(&'a self) -> Writer {
        Writer { ring: Some(self.ring.clone()), is_error: false, said: Vec::new() }
    }

    fn make_writer_for(&'a self, of: &Metadata<'_>) -> Writer {
        let is_own = of.target() != ENVOY_TARGET;
        Writer {
            ring: is_own.then(|| self.ring.clone()),
            is_error: *of.level() == Level::ERROR,
            said: Vec::new(),
        }
    }
}

// === impl Writer ===

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(bytes)?;
        if self.ring.is_some() {
            self.said.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Some(ring) = &self.ring else { return };
        let said = String::from_utf8_lossy(&self.said);
        for line in plain(&said).lines().filter(|line| !line.is_empty()) {
            ring.push(line, self.is_error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_no_colours() {
        let coloured = "\u{1b}[2m2026-11-21T00:00:00Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m a: b";
        assert_eq!(plain(coloured), "2026-11-21T00:00:00Z  INFO a: b");
        assert_eq!(plain("a [b] c\u{1b}[9"), "a [b] c");
    }

    #[test]
    fn an_event_is_kept_with_its_level_and_what_envoy_says_is_not_ours() {
        let ring = Ring::default();
        let subscriber =
            tracing_subscriber::fmt().with_writer(Tee::new(ring.clone())).with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("fine");
            tracing::error!(what = "it", "broke");
            tracing::error!(target: ENVOY_TARGET, "theirs");
        });
        let read = ring.read(0).lines;
        assert_eq!(read.iter().map(|line| line.is_error).collect::<Vec<_>>(), [false, true], "{read:?}");
        assert!(read[0].text.ends_with("fine") && read[1].text.ends_with("broke what=\"it\""), "{read:?}");
    }
}
