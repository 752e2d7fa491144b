//! The upstream hosts of a case: an echo server in this process for each of them. They keep what
//! arrives, and answer as the request that is under way says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::http::response::Builder;
use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::certificates;
use super::model::{Answer, HostSetup, Values};
use super::serve::{self, Peer, Server};
use crate::stack::TEST_ID_HEADER;

/// Says which host answered.
pub(super) const HOST_HEADER: &str = "x-test-host";

/// A request as it arrived at a host.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// The host, as the case writes it.
    pub(super) at: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) authority: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) http: u8,
    pub(super) peer: Peer,
}

/// The hosts.
pub(super) struct Hosts {
    shared: Arc<Shared>,
    servers: BTreeMap<String, Server>,
}

/// What the hosts of a case share.
#[derive(Default)]
struct Shared {
    requests: Mutex<BTreeMap<String, Entry>>,
}

/// A request that is under way.
#[derive(Default)]
struct Entry {
    answer: Answer,
    arrived: Vec<Arrival>,
}

fn lock(shared: &Shared) -> MutexGuard<'_, BTreeMap<String, Entry>> {
    shared.requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the answer to a request is: none of the test, the plan's, or a good one.
fn plan(shared: &Shared, arrival: Arrival) -> Option<Answer> {
    let id = arrival.headers.get(TEST_ID_HEADER)?.to_str().ok()?.to_owned();
    let mut requests = lock(shared);
    let entry = requests.get_mut(&id)?;
    entry.arrived.push(arrival);
    let planned = entry.answer.times.is_none_or(|times| entry.arrived.len() <= times);
    Some(if planned { entry.answer.clone() } else { Answer::default() })
}

async fn answer(
    at: String,
    setup: HostSetup,
    shared: Arc<Shared>,
    peer: Peer,
    mut request: Request<Incoming>,
) -> anyhow::Result<Response<Full<Bytes>>> {
    let upgrade = request.headers().get("upgrade").cloned();
    let upgraded = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let body = if upgraded.is_some() { Bytes::new() } else { body.collect().await?.to_bytes() };
    let authority = head.uri.authority().map(ToString::to_string);
    let host = head.headers.get("host").map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
    let arrival = Arrival {
        at: at.clone(),
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        authority: authority.or(host),
        headers: head.headers,
        body,
        http: if head.version == Version::HTTP_2 { 2 } else { 1 },
        peer,
    };
    let response = Response::builder().header(HOST_HEADER, &at);
    let Some(plan) = plan(&shared, arrival) else {
        let response = with(response, &setup.health_headers);
        return Ok(response.status(setup.health.or(setup.status).unwrap_or(200)).body(Full::default())?);
    };
    tokio::time::sleep(Duration::from_millis(plan.delay_ms)).await;
    let response = with(response, &plan.headers);
    if let (Some(protocol), Some(upgraded)) = (upgrade, upgraded) {
        tokio::spawn(mirror(upgraded));
        let switching = response.status(StatusCode::SWITCHING_PROTOCOLS);
        return Ok(switching
            .header("connection", "upgrade")
            .header("upgrade", protocol)
            .body(Full::default())?);
    }
    let status = plan.status.or(setup.status).unwrap_or(200);
    Ok(response.status(status).body(plan.body.unwrap_or(at).into())?)
}

fn with(mut response: Builder, headers: &BTreeMap<String, Values>) -> Builder {
    for (name, values) in headers {
        for value in values.iter() {
            response = response.header(name, value);
        }
    }
    response
}

/// Sends everything back that comes.
async fn mirror(upgraded: hyper::upgrade::OnUpgrade) -> anyhow::Result<()> {
    let mut stream = TokioIo::new(upgraded.await?);
    let mut buffer = [0; 1024];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(buffer.get(..count).unwrap_or_default()).await?;
    }
}

// === impl Hosts ===

impl Hosts {
    /// Starts a server for each host that does not differ from what it is said to be.
    pub(super) async fn start(
        names: impl IntoIterator<Item = String>,
        setups: &BTreeMap<String, HostSetup>,
    ) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut servers = BTreeMap::new();
        for name in names {
            let setup = setups.get(&name).cloned().unwrap_or_default();
            let tls = setup.tls.as_ref().map(certificates::server).transpose()?;
            let server = if setup.down {
                Server::down().await?
            } else {
                let (shared, at) = (Arc::clone(&shared), name.clone());
                let handler = move |peer, request| {
                    answer(at.clone(), setup.clone(), Arc::clone(&shared), peer, request)
                };
                serve::http(tls, handler).await?
            };
            servers.insert(name, server);
        }
        Ok(Self { shared, servers })
    }

    /// Where each host really is.
    pub(super) fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        self.servers.iter().map(|(name, server)| (name.clone(), server.address())).collect()
    }

    /// Expects a request, to be answered so.
    pub(super) fn expect(&self, id: &str, answer: &Answer) {
        let entry = Entry { answer: answer.clone(), arrived: Vec::new() };
        lock(&self.shared).insert(id.to_owned(), entry);
    }

    /// What has arrived of a request, in order.
    pub(super) fn arrived(&self, id: &str) -> Vec<Arrival> {
        lock(&self.shared).get(id).map(|entry| entry.arrived.clone()).unwrap_or_default()
    }
}
