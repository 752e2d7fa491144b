//! The audit log: a line for every change over REST, and one for every attempt that came to none.

use std::net::SocketAddr;

#[cfg(test)]
mod tests;

/// The target of its lines.
pub const TARGET: &str = "keyward::audit";

/// A change that has taken place. It has no room for what the object holds.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Who made it.
    pub who: &'a str,
    /// From where; a part of the server itself comes from nowhere.
    pub peer: Option<SocketAddr>,
    /// By what: `update`.
    pub verb: &'a str,
    /// Of what kind.
    pub kind: &'a str,
    /// Where; empty without.
    pub namespace: &'a str,
    /// Of which object.
    pub name: &'a str,
    /// The version that came of it.
    pub resource_version: u64,
}

/// A request that would have changed something, and did not: it was refused, or a rehearsal.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Who made it; none when that remained unclear.
    pub who: Option<&'a str>,
    /// From where.
    pub peer: Option<SocketAddr>,
    /// The method.
    pub method: &'a str,
    /// The path, which names the kind, the namespace and the object.
    pub path: &'a str,
    /// Whether it was a rehearsal.
    pub dry_run: bool,
    /// The HTTP status of the answer.
    pub code: u16,
}

/// A look at what is secret: at Secrets, or at everything that a server holds.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Who looked.
    pub who: &'a str,
    /// From where.
    pub peer: Option<SocketAddr>,
    /// The method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The HTTP status of the answer.
    pub code: u16,
}

fn from(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "inside".to_owned(), |peer| peer.to_string())
}

// === impl Change ===

impl Change<'_> {
    /// Writes the line.
    pub fn log(&self) {
        // Text of a client stands in fields, which the log quotes: it cannot look like another line.
        tracing::info!(
            target: TARGET,
            who = self.who,
            from = from(self.peer).as_str(),
            verb = self.verb,
            kind = self.kind,
            namespace = self.namespace,
            name = self.name,
            resource_version = self.resource_version,
            "changed",
        );
    }
}

// === impl Attempt ===

impl Attempt<'_> {
    /// Writes the line.
    pub fn log(&self) {
        tracing::info!(
            target: TARGET,
            who = self.who.unwrap_or("unknown"),
            from = from(self.peer).as_str(),
            method = self.method,
            path = self.path,
            dry_run = self.dry_run,
            code = self.code,
            "not changed",
        );
    }
}

// === impl Look ===

impl Look<'_> {
    /// Writes the line.
    pub fn log(&self) {
        tracing::info!(
            target: TARGET,
            who = self.who,
            from = from(self.peer).as_str(),
            method = self.method,
            path = self.path,
            code = self.code,
            "looked",
        );
    }
}
