//! The certificate of the supervised Envoy, where the gRPC port demands one.
//!
//! It is made here when the authority's key is here, for a short time, and renewed long before its
//! end. Envoy takes each new one up by itself. Without the key it has to be put there.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use keyward_pki::{Folder, Overwrite, ProxyFiles, ProxyRole, Validity};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How long a certificate is valid; it is renewed in the middle of it.
pub(crate) const LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often it is looked at whether there is something to do.
const PACE: Duration = Duration::from_secs(5);

/// Keeps the certificate of one proxy.
#[derive(Debug)]
pub(crate) struct Identity {
    authority: Folder,
    files: ProxyFiles,
    role: ProxyRole,
    lifetime: SignedDuration,
    trust: String,
}

// === impl Identity ===

impl Identity {
    /// Makes the certificate, or takes the one that is there if the authority's key is elsewhere.
    ///
    /// # Errors
    ///
    /// When there is neither.
    pub(crate) fn new(
        authority: Folder,
        folder: PathBuf,
        role: ProxyRole,
        lifetime: SignedDuration,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let files = ProxyFiles::at(folder);
        let mut identity = Self { authority, files, role, lifetime, trust: String::new() };
        if identity.authority.authority_key_path().exists() {
            identity.issue(now)?;
        } else {
            identity.take(now)?;
        }
        Ok(identity)
    }

    /// The folder, for the bootstrap configuration.
    ///
    /// # Errors
    ///
    /// When its path is not UTF-8.
    pub(crate) fn folder(&self) -> anyhow::Result<String> {
        let path = std::path::absolute(self.files.folder())?;
        Ok(path.to_str().context("the path of the data folder is not UTF-8")?.to_owned())
    }

    /// Renews the certificate when it is time, or when the authority is another one, until cancelled.
    ///
    /// # Errors
    ///
    /// Never: an old certificate is better than none, and the log says what is wrong.
    pub(crate) async fn keep(mut self, cancelled: CancellationToken) -> anyhow::Result<()> {
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut complained = false;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = cancelled.cancelled() => return Ok(()),
            }
            match self.renew_if_due(Timestamp::now()) {
                Ok(()) => complained = false,
                Err(error) if complained => tracing::debug!("{error:#}"),
                Err(error) => {
                    complained = true;
                    tracing::error!("the certificate of the supervised envoy is not renewed: {error:#}");
                }
            }
        }
    }

    fn renew_if_due(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let trust = self.authority.trust()?;
        if trust != self.trust && !self.authority.authority_key_path().exists() {
            self.files.write_trust(&trust)?;
            self.trust = trust;
            return Ok(());
        }
        let left = self.files.facts()?.not_after.duration_since(now);
        if trust == self.trust && left.as_secs() * 2 >= self.lifetime.as_secs() {
            return Ok(());
        }
        if self.authority.authority_key_path().exists() {
            self.issue(now)?;
            tracing::info!(role = %self.role, "renewed the certificate of the supervised envoy");
        }
        Ok(())
    }

    fn issue(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let authority = self.authority.authority()?;
        let issued = authority.proxy(&self.role, Validity::starting(now, self.lifetime)?)?;
        self.files.write(authority.certificate(), &issued, &self.folder()?, Overwrite::Replace)?;
        authority.certificate().clone_into(&mut self.trust);
        Ok(())
    }

    fn take(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let path = self.files.identity_path();
        let known = self.files.facts().ok().filter(|facts| facts.not_after > now);
        let right = known.is_some_and(|facts| facts.proxy_role().is_ok_and(|role| role == self.role));
        if !right {
            let (key, role) = (self.authority.authority_key_path(), &self.role);
            anyhow::bail!(
                "the supervised envoy needs a certificate for {role}, and {} is not there to make one\n\
                 hint: put one into {}, or say --no-envoy",
                key.display(),
                path.display()
            );
        }
        self.trust = self.authority.trust()?;
        self.files.write_trust(&self.trust)?;
        self.files.write_secrets(&self.folder()?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
