//! The configuration that is in force, and its files.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use rustls::ServerConfig;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::error::TlsError;
use crate::material::{Material, TlsFiles};

/// How often the files are looked at. They are small, and looking works on every file system and
/// however they are replaced.
const PACE: Duration = Duration::from_millis(500);
/// How long before its end a certificate is worth a warning, and how often.
const WARN_BEFORE: SignedDuration = SignedDuration::from_hours(30 * 24);
const WARN_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// A configuration that follows its files. Clones are the same one.
#[derive(Clone)]
pub struct TlsConfig {
    name: Arc<str>,
    files: Arc<TlsFiles>,
    current: Arc<ArcSwap<Current>>,
}

/// What is in force.
pub(crate) struct Current {
    material: Material,
    pub(crate) config: Arc<ServerConfig>,
    not_after: Timestamp,
    /// Cancelled when who is trusted is decided anew.
    pub(crate) trust_changed: CancellationToken,
}

// === impl TlsConfig ===

impl TlsConfig {
    /// Reads the files. `name` is the port's, for the log.
    ///
    /// # Errors
    ///
    /// When they cannot be used.
    pub fn open(name: &str, files: TlsFiles) -> Result<Self, TlsError> {
        let current = Current::build(&files, files.read()?, CancellationToken::new())?;
        let current = Arc::new(ArcSwap::from_pointee(current));
        Ok(Self { name: name.into(), files: Arc::new(files), current })
    }

    /// Takes up the files whenever they change, until cancelled.
    pub async fn follow(self, cancelled: CancellationToken) {
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut complaint, mut warned) = (None, None);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = cancelled.cancelled() => return,
            }
            let name = &*self.name;
            match self.reload() {
                Ok(None) => complaint = None,
                Ok(Some(until)) => {
                    complaint = None;
                    tracing::info!(port = name, %until, "took up new certificates");
                }
                Err(error) => {
                    // Files are replaced one by one: what fits neither now will fit in a moment.
                    let text = chain(&error);
                    if complaint.as_ref() != Some(&text) {
                        tracing::warn!(port = name, "new certificates are not taken up: {text}");
                    }
                    complaint = Some(text);
                }
            }
            let (now, until) = (Timestamp::now(), self.current.load().not_after);
            let due = warned.is_none_or(|last: Timestamp| now.duration_since(last) >= WARN_EVERY);
            if due && until.duration_since(now) < WARN_BEFORE {
                warned = Some(now);
                tracing::warn!(port = name, %until, "the certificate ends soon: renew it");
            }
        }
    }

    /// Reads the files again. Says until when their certificate is valid if they are new.
    fn reload(&self) -> Result<Option<Timestamp>, TlsError> {
        let before = self.current.load_full();
        let material = self.files.read_after(&before.material)?;
        if material == before.material {
            return Ok(None);
        }
        let same_trust = material.trust == before.material.trust;
        let trust_changed = if same_trust { before.trust_changed.clone() } else { CancellationToken::new() };
        let next = Current::build(&self.files, material, trust_changed)?;
        let until = next.not_after;
        self.current.store(Arc::new(next));
        if !same_trust {
            before.trust_changed.cancel();
        }
        Ok(Some(until))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn current(&self) -> Arc<Current> {
        self.current.load_full()
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

// === impl Current ===

impl Current {
    fn build(
        files: &TlsFiles,
        material: Material,
        trust_changed: CancellationToken,
    ) -> Result<Self, TlsError> {
        let (config, not_after) = files.build(&material)?;
        Ok(Self { material, config: Arc::new(config), not_after, trust_changed })
    }
}

impl std::fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsConfig")
            .field("name", &self.name)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
