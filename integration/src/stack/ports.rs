//! Ports that nobody else uses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::bail;

/// Below the range from which Linux takes the ports of outgoing connections (32768 and up), so that
/// no connection can take a port between here and the process that it is for.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port of the loopback address that is free and that is handed out once in this process.
///
/// # Errors
///
/// When all are in use.
pub(super) fn free_port() -> anyhow::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test binaries that run side by side start at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT / 100))? * 100;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start.wrapping_add(step)) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} on")
}

/// An address with such a port.
///
/// # Errors
///
/// When all are in use.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, free_port()?).into())
}
