//! Are the ports free? Asked before anything is started, so that the answer names the port.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::args::{Ports, loopback};

#[cfg(test)]
mod tests;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PortError {
    #[error(
        "port {port} is taken, and {what} needs it
hint: stop what listens there, or add {hint}"
    )]
    Taken { port: u16, what: &'static str, hint: String },
    #[error(
        "port {port} cannot be opened for {what}: {source}
hint: add {hint}"
    )]
    Refused { port: u16, what: &'static str, hint: String, source: std::io::Error },
    #[error(
        "{what} and {other} were both given port {port}
hint: add {hint}"
    )]
    Twice { port: u16, what: &'static str, other: &'static str, hint: String },
}

/// How far above a taken port the proposed ones begin.
const STRIDE: u16 = 10_000;

/// Checks that every port is free and is given once. The error proposes flags to add to the
/// command, for every port that needs another. Those of a stack of `ours` will be free when it is
/// stopped.
pub(super) fn check(ports: &Ports, ours: Option<&Ports>) -> Result<(), PortError> {
    judge(ports, |port| {
        let is_ours = ours.is_some_and(|ours| ours.all().iter().any(|(ours, ..)| *ours == port));
        if is_ours { Ok(()) } else { open(port) }
    })
}

fn judge(ports: &Ports, open: impl Fn(u16) -> std::io::Result<()>) -> Result<(), PortError> {
    let all = ports.all();
    let mut proposals = Vec::new();
    let mut first = None;
    let mut used: Vec<u16> = all.iter().map(|(port, ..)| *port).collect();
    for (index, (port, what, flag, variable)) in all.into_iter().enumerate() {
        let earlier = all.iter().take(index).find(|(earlier, ..)| *earlier == port);
        let problem = match (earlier, open(port)) {
            (Some((_, other, ..)), _) => PortError::Twice { port, what, other, hint: String::new() },
            (None, Ok(())) => continue,
            (None, Err(source)) if source.kind() == ErrorKind::AddrInUse => {
                PortError::Taken { port, what, hint: String::new() }
            }
            (None, Err(source)) => PortError::Refused { port, what, hint: String::new(), source },
        };
        first.get_or_insert(problem);
        // Without a free one the words still say what to choose.
        let other = propose(port, |other| !used.contains(&other) && open(other).is_ok());
        used.extend(other);
        let other = other.map_or_else(|| "PORT".to_owned(), |other| other.to_string());
        proposals.push((format!("{flag} {other}"), format!("{variable}={other}")));
    }
    let Some(mut problem) = first else { return Ok(()) };
    let (flags, variables): (Vec<String>, Vec<String>) = proposals.into_iter().unzip();
    let (PortError::Taken { hint, .. } | PortError::Refused { hint, .. } | PortError::Twice { hint, .. }) =
        &mut problem;
    *hint = format!("{} to the command (or set {})", flags.join(" "), variables.join(" "));
    Err(problem)
}

/// The listener is closed at once: somebody may still come between, and then the process that
/// wanted the port says so in its log.
fn open(port: u16) -> std::io::Result<()> {
    TcpListener::bind(loopback(port)).map(drop)
}

/// A free port like this one that nobody else was given: 18080 for 8080.
fn propose(port: u16, is_free: impl Fn(u16) -> bool) -> Option<u16> {
    let begin = port.checked_add(STRIDE).unwrap_or(STRIDE);
    (begin..=u16::MAX).find(|port| is_free(*port))
}
