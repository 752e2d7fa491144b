//! Sends one request over a connection of its own.
//!
//! A connection of its own also means that the request finds the configuration that Envoy acknowledged
//! before: a worker is told of it before it is told of the connection.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::certificates;
use super::model::{ClientTls, Request};
use crate::stack::TEST_ID_HEADER;

/// How long an answer may take: Envoy gives up a request after 15 s by itself.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a connection may take to end after its request failed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What came of a request.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) result: Result<Answered, Failure>,
    /// How long it took.
    pub(super) took: Duration,
    pub(super) session: Session,
}

/// What is known of the connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) certificate: Option<CertificateDer<'static>>,
    pub(super) alpn: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Why there is none.
#[derive(Debug)]
pub(super) struct Failure {
    /// `connect`, `tls` or `closed`.
    pub(super) stage: &'static str,
    pub(super) why: anyhow::Error,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

/// Sends a request under a name, and waits for what comes of it.
pub(super) async fn send(address: SocketAddr, id: &str, request: &Request) -> anyhow::Result<Outcome> {
    let message = message(id, request)?;
    let started = Instant::now();
    let mut session = Session::default();
    let result = match exchange(address, request, message, &mut session).await {
        Ok(answered) => Ok(answered),
        Err(error) => Err(error.downcast::<Failure>()?),
    };
    Ok(Outcome { result, took: started.elapsed(), session })
}

/// The message. Its target is whole in HTTP/2 and a path in HTTP/1.1, as clients send it.
fn message(id: &str, request: &Request) -> anyhow::Result<hyper::Request<Full<Bytes>>> {
    let scheme = if request.tls.is_some() { "https" } else { "http" };
    let uri = match request.http {
        1 => request.path.clone(),
        2 => format!("{scheme}://{}{}", request.host, request.path),
        other => bail!("HTTP/{other} is neither 1 nor 2"),
    };
    let mut message = hyper::Request::builder().method(request.method.as_str()).uri(uri);
    if request.http == 1 {
        message = message.header("host", &request.host);
    }
    for (name, values) in &request.headers {
        for value in values.iter() {
            message = message.header(name, value);
        }
    }
    if let Some(protocol) = &request.upgrade {
        message = message.header("connection", "upgrade").header("upgrade", protocol);
        return Ok(message.header(TEST_ID_HEADER, id).body(Full::default())?);
    }
    message
        .header(TEST_ID_HEADER, id)
        .body(request.body.clone().into())
        .context("no request that can be sent")
}

async fn exchange(
    address: SocketAddr,
    request: &Request,
    message: hyper::Request<Full<Bytes>>,
    session: &mut Session,
) -> anyhow::Result<Answered> {
    let connect = timeout(PATIENCE, TcpStream::connect(address)).await;
    let stream = connect.context("the gateway does not accept")?.map_err(|why| failure("connect", why))?;
    stream.set_nodelay(true)?;
    let all = async {
        match &request.tls {
            None => over(stream, request, message).await,
            Some(tls) => {
                let stream = handshake(stream, &request.host, tls, session).await?;
                over(stream, request, message).await
            }
        }
    };
    timeout(PATIENCE, all).await.context("no answer in time")?
}

async fn handshake(
    stream: TcpStream,
    host: &str,
    tls: &ClientTls,
    session: &mut Session,
) -> anyhow::Result<impl Stream> {
    let connector = TlsConnector::from(certificates::client(tls)?);
    let host = host.split(':').next().unwrap_or_default();
    let name = ServerName::try_from(tls.sni.as_deref().unwrap_or(host).to_owned())?;
    let stream = connector.connect(name, stream).await.map_err(|why| failure("tls", why))?;
    let connection = stream.get_ref().1;
    session.certificate = connection.peer_certificates().and_then(|chain| chain.first()).cloned();
    session.alpn = connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(stream)
}

async fn over(
    stream: impl Stream,
    request: &Request,
    message: hyper::Request<Full<Bytes>>,
) -> anyhow::Result<Answered> {
    let io = TokioIo::new(stream);
    if request.http == 2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.map_err(closed)?;
        let driver = tokio::spawn(connection);
        let answered = async { collect(sender.send_request(message).await.map_err(closed)?).await };
        return end(answered.await, driver).await;
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(closed)?;
    let driver = tokio::spawn(connection.with_upgrades());
    let answered = async {
        let response = sender.send_request(message).await.map_err(closed)?;
        if response.status() == 101 {
            mirrored(response, &request.body).await
        } else {
            collect(response).await
        }
    };
    end(answered.await, driver).await
}

/// When there is no answer, the connection may know better why than the request does.
async fn end(
    answered: anyhow::Result<Answered>,
    mut driver: JoinHandle<hyper::Result<()>>,
) -> anyhow::Result<Answered> {
    let why = match &answered {
        Ok(_) => None,
        Err(_) => timeout(LAST_WORDS, &mut driver).await.ok().and_then(|ended| ended.ok()?.err()),
    };
    driver.abort();
    match why {
        Some(why) => Err(closed(why)),
        None => answered,
    }
}

async fn collect(response: Response<Incoming>) -> anyhow::Result<Answered> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(closed)?.to_bytes();
    Ok(Answered { status: head.status.as_u16(), headers: head.headers, body })
}

/// After an upgrade: sends the body, and takes as much as it sent for the body of the answer.
async fn mirrored(mut response: Response<Incoming>, body: &str) -> anyhow::Result<Answered> {
    let upgraded = hyper::upgrade::on(&mut response).await.map_err(closed)?;
    let mut stream = TokioIo::new(upgraded);
    stream.write_all(body.as_bytes()).await.map_err(closed)?;
    let mut back = vec![0; body.len()];
    stream.read_exact(&mut back).await.map_err(closed)?;
    ensure!(back == body.as_bytes(), "what was sent came back changed: {}", String::from_utf8_lossy(&back));
    let (head, _) = response.into_parts();
    Ok(Answered { status: head.status.as_u16(), headers: head.headers, body: back.into() })
}

fn failure(stage: &'static str, why: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(Failure { stage, why: why.into() })
}

/// A connection that ended. In TLS 1.3 a server refuses a client's certificate after the handshake.
fn closed(why: impl Into<anyhow::Error>) -> anyhow::Error {
    let why = why.into();
    let refused = format!("{why:#}").contains("received fatal alert");
    failure(if refused { "tls" } else { "closed" }, why)
}

// === impl Failure ===

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:#}", self.stage, self.why)
    }
}

impl std::error::Error for Failure {}
