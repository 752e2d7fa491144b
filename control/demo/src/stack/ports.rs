//! Are the ports free? Asked before anything is started, so that the answer names the port.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::args::{Ports, loopback};
use super::terminal::spelled;

#[cfg(test)]
mod tests;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum PortError {
    #[error(
        "port {port} is taken, and {what} needs it
hint: stop what listens there, or choose another: {hint}"
    )]
    Taken { port: u16, what: &'static str, hint: String },
    #[error(
        "port {port} cannot be opened for {what}: {source}
hint: choose another: {hint}"
    )]
    Refused { port: u16, what: &'static str, hint: String, source: std::io::Error },
    #[error(
        "{what} and {other} were both given port {port}
hint: choose another: {hint}"
    )]
    Twice { port: u16, what: &'static str, other: &'static str, hint: String },
}

/// Checks that every port is free and is given once.
pub(super) fn check(ports: &Ports) -> Result<(), PortError> {
    let all = ports.all();
    for (index, (port, what, flag, variable)) in all.iter().copied().enumerate() {
        let hint = format!("{} {flag} PORT, or {variable}=PORT", spelled("up"));
        if let Some((_, other, ..)) = all.iter().take(index).find(|(earlier, ..)| *earlier == port) {
            return Err(PortError::Twice { port, what, other, hint });
        }
        // The listener is closed at once: somebody may still come between, and then the process
        // that wanted the port says so in its log.
        if let Err(source) = TcpListener::bind(loopback(port)) {
            return Err(match source.kind() {
                ErrorKind::AddrInUse => PortError::Taken { port, what, hint },
                _ => PortError::Refused { port, what, hint, source },
            });
        }
    }
    Ok(())
}
