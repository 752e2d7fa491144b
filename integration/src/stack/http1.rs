//! HTTP/1.1 to the byte: any header, any value, any number of times, over one connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::headers::Headers;

/// How long an answer may take: longer than any wait inside the filter, and not so long that Envoy's
/// own limit of 15 s for a route is met.
const PATIENCE: Duration = Duration::from_secs(14);
const MAX_BODY: usize = 64 << 20;

/// A connection that is kept alive.
#[derive(Debug)]
pub struct Connection {
    stream: Box<dyn Stream>,
    received: Vec<u8>,
}

/// What a connection goes over.
trait Stream: Read + Write + Send + Sync + std::fmt::Debug {}

impl<T: Read + Write + Send + Sync + std::fmt::Debug> Stream for T {}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
}

/// Splits the head of a message into its first line and its headers.
pub(super) fn parse_head(head: &[u8]) -> anyhow::Result<(Vec<u8>, Headers)> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().context("no first line")?.to_vec();
    let mut headers = Headers::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let colon = line.iter().position(|byte| *byte == b':').context("a header without a colon")?;
        let (name, value) = line.split_at(colon);
        headers.add(name, value.get(1..).unwrap_or_default().trim_ascii());
    }
    Ok((first, headers))
}

// === impl Connection ===

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: Box::new(stream), received: Vec::new() })
    }

    /// Connects to a Unix domain socket.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub fn open_socket(path: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: Box::new(stream), received: Vec::new() })
    }

    /// Sends a request with no body and waits for its answer. Nothing is added to the headers.
    ///
    /// # Errors
    ///
    /// When the connection ends, or no answer comes in time.
    pub fn request(&mut self, method: &str, path: &str, headers: &Headers) -> anyhow::Result<Response> {
        self.request_with_body(method, path, headers, b"")
    }

    /// The same with a body, whose length the headers have to state.
    ///
    /// # Errors
    ///
    /// When the connection ends, or no answer comes in time.
    pub fn request_with_body(
        &mut self,
        method: &str,
        path: &str,
        headers: &Headers,
        body: &[u8],
    ) -> anyhow::Result<Response> {
        let mut message = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
        for (name, value) in headers.iter() {
            message.extend_from_slice(name);
            message.extend_from_slice(b": ");
            message.extend_from_slice(value);
            message.extend_from_slice(b"\r\n");
        }
        message.extend_from_slice(b"\r\n");
        message.extend_from_slice(body);
        self.exchange(&message, method == "HEAD")
    }

    /// Sends bytes as they are and waits for an answer.
    ///
    /// # Errors
    ///
    /// When the connection ends, or no answer comes in time.
    pub fn exchange(&mut self, message: &[u8], no_body: bool) -> anyhow::Result<Response> {
        self.stream.write_all(message).context("the request could not be sent")?;
        loop {
            let response = self.response(no_body)?;
            // Envoy says 100 by itself before any filter has decided.
            if response.status != 100 {
                return Ok(response);
            }
        }
    }

    fn response(&mut self, no_body: bool) -> anyhow::Result<Response> {
        let head = self.take_until(b"\r\n\r\n").context("no head of an answer")?;
        let (first, headers) = parse_head(&head)?;
        let status = first.split(|byte| *byte == b' ').nth(1).context("no status")?;
        let status = str::from_utf8(status)?.parse()?;
        let length = headers.first("content-length").map(|length| str::from_utf8(length).map(str::to_owned));
        let body = if no_body || matches!(status, 100 | 204 | 304) {
            Vec::new()
        } else if let Some(length) = length {
            self.take(length?.parse()?)?
        } else if headers.first("transfer-encoding").is_some() {
            self.chunks()?
        } else {
            bail!("an answer without a length: {status} {headers:?}")
        };
        Ok(Response { status, headers, body })
    }

    fn chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_until(b"\r\n")?;
            let size = usize::from_str_radix(str::from_utf8(&line)?.trim(), 16)?;
            if size == 0 {
                while !self.take_until(b"\r\n")?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.take(size)?);
            self.take(2)?;
        }
    }

    fn take_until(&mut self, end: &[u8]) -> anyhow::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.received.windows(end.len()).position(|window| window == end) {
                let mut taken: Vec<u8> = self.received.drain(..at + end.len()).collect();
                taken.truncate(at);
                return Ok(taken);
            }
            self.receive()?;
        }
    }

    fn take(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        ensure!(length <= MAX_BODY, "a body of {length} bytes");
        while self.received.len() < length {
            self.receive()?;
        }
        Ok(self.received.drain(..length).collect())
    }

    fn receive(&mut self) -> anyhow::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer).context("nothing came in time")?;
        ensure!(count > 0, "the connection was closed");
        self.received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(())
    }
}
