//! The audit log: one line for every change that somebody asks for over REST, made or refused.

use std::net::SocketAddr;

use crate::role::Verb;
use crate::rules::Identity;

#[cfg(test)]
mod tests;

/// The target of its lines.
pub const TARGET: &str = "keyward::audit";

/// A change, and what became of it. It has no room for a body.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Who; none when that remained unclear.
    pub who: Option<&'a Identity>,
    /// From where.
    pub peer: SocketAddr,
    /// What was done.
    pub verb: Verb,
    /// To what kind, with its group: `virtualservices.gateway.keyward.io`.
    pub kind: &'a str,
    /// Where; empty without.
    pub namespace: &'a str,
    /// To which object; empty when to several, or when its name was not known yet.
    pub name: &'a str,
    /// The version of the object that came of it; empty without.
    pub resource_version: &'a str,
    /// Whether it was a rehearsal.
    pub dry_run: bool,
    /// The HTTP status of the answer.
    pub code: u16,
    /// The reason in the answer; empty when it went well.
    pub reason: &'a str,
}

// === impl Change ===

impl Change<'_> {
    /// Writes the line.
    pub fn log(&self) {
        let who = self.who.map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let from = self.peer.to_string();
        // Text of a client stands in fields, which the log quotes: it cannot look like another line.
        tracing::info!(
            target: TARGET,
            who = who.as_str(),
            from = from.as_str(),
            verb = self.verb.as_str(),
            kind = self.kind,
            namespace = self.namespace,
            name = self.name,
            resource_version = self.resource_version,
            dry_run = self.dry_run,
            code = self.code,
            reason = self.reason,
            "{}",
            if (200..300).contains(&self.code) { "changed" } else { "not changed" },
        );
    }
}
