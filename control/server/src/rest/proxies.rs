//! `GET /keyward/v1/proxies`: which components there are, and how each connected proxy stands.
//!
//! It asks nobody to wait and is cheap: for tools that look often.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::{ConnectInfo, Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use jiff::{SignedDuration, Timestamp};
use keyward_api::{Attempt, Authorizer, Sight, Verb};
use keyward_keys::{Goal, Standing as WorkerStanding};
use keyward_xds::{AdsService, ClientStatus, Standing, TypeStatus, printable, type_url};
use serde::Serialize;

use super::sync::{failure, unnamed};
use crate::control::words;
use crate::workers::{WorkersHandle, lack};

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/proxies";
/// So many of the workers that lack something say what.
const MANY: usize = 10;
/// So much is shown of what a proxy says of itself.
const MAX_WORDS: usize = 1024;

/// What it asks.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) workers: WorkersHandle,
    pub(super) ads: AdsService,
    /// The namespace of the installation.
    pub(super) namespace: Arc<str>,
    /// When the server started.
    pub(super) started: Timestamp,
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    components: Vec<Component>,
    /// By role and node.
    proxies: Vec<Proxy>,
}

/// A part of Keyward that answers.
#[derive(Debug, Serialize)]
struct Component {
    name: &'static str,
    /// Of the installation.
    namespace: String,
    version: &'static str,
    started: String,
}

/// An Envoy with a stream of either kind.
#[derive(Debug, Default, Serialize)]
struct Proxy {
    role: String,
    node: String,
    /// Of its software: `envoy 1.38.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Whether it has a stream for its configuration.
    connected: bool,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    workers: Workers,
    types: Vec<OneType>,
}

/// The threads of a proxy that hold keys.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Workers {
    /// How many there are; those are among them that are between two streams.
    total: usize,
    /// How many hold all keys that are published, and run with the newest policies.
    synced: usize,
    away: usize,
    /// For how long the one that is furthest behind has lacked keys that are published.
    lag_milliseconds: u64,
    /// Versions of the filter that run.
    builds: Vec<String>,
    /// What those lack that lack something: some sentences.
    lacks: Vec<String>,
}

/// A type of configuration.
#[derive(Debug, Serialize)]
struct OneType {
    #[serde(rename = "type")]
    name: &'static str,
    /// `SYNCED`, `STALE`, `NOT SENT` or `NACKED`.
    state: &'static str,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The last version that it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What it refuses, and why, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Answers.
pub(super) async fn proxies(
    State(connected): State<Connected>,
    Extension(authorizer): Extension<Arc<dyn Authorizer>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
) -> Response {
    let attempt = Attempt {
        verb: Verb::Get,
        kind: None,
        namespace: None,
        name: None,
        path: PATH,
        headers: &headers,
        peer: peer.map(|Extension(ConnectInfo(peer))| peer),
    };
    match authorizer.authorize(&attempt) {
        Ok(who) => Json(connected.answer(&who.sight)).into_response(),
        Err(status) => failure(status),
    }
}

fn time(at: SystemTime) -> Option<String> {
    Timestamp::try_from(at).ok().map(seconds)
}

/// To the second.
fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn name(of: &str) -> Option<&'static str> {
    Some(match of {
        type_url::CLUSTER => "clusters",
        type_url::ENDPOINT => "endpoints",
        type_url::EXTENSION_CONFIG => "extension-configs",
        type_url::LISTENER => "listeners",
        type_url::ROUTE => "routes",
        type_url::SECRET => "secrets",
        type_url::VIRTUAL_HOST => "virtual-hosts",
        _ => return None,
    })
}

/// What is refused, in the words of the proxy.
fn error(of: &TypeStatus) -> Option<String> {
    let one = |refused: &keyward_xds::RejectedResource| {
        format!("{}: {}", printable(&refused.name, MAX_WORDS), words(&refused.message))
    };
    let mut said: Vec<String> = of.rejected.iter().take(MANY).map(one).collect();
    if of.rejected.len() > MANY {
        said.push(format!("and {} more", of.rejected.len() - MANY));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

// === impl Connected ===

impl Connected {
    fn answer(&self, sight: &Sight) -> Answer {
        let control = Component {
            name: "control",
            namespace: self.namespace.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            started: seconds(self.started),
        };
        Answer {
            kind: "Proxies",
            api_version: "keyward.io/v1",
            components: vec![control],
            proxies: self.proxies().into_iter().enumerate().map(|(at, one)| one.seen_by(sight, at)).collect(),
        }
    }

    fn proxies(&self) -> Vec<Proxy> {
        let mut proxies: BTreeMap<(String, String), Proxy> = BTreeMap::new();
        for client in self.ads.clients() {
            let key = (client.client.node_key.to_string(), client.client.node_id.to_string());
            proxies.entry(key).or_default().configured(&client);
        }
        self.workers.read(|workers, now| {
            let goal = Goal { revision: workers.revision(), policies: true };
            for standing in workers.standings(now) {
                let key = (standing.worker.role.clone(), standing.worker.node.clone());
                proxies.entry(key).or_default().workers.add(&standing, goal, now);
            }
        });
        let shown = |text: &str| printable(text, MAX_WORDS);
        let named = |((role, node), proxy): ((String, String), Proxy)| Proxy {
            role: shown(&role),
            node: shown(&node),
            ..proxy
        };
        proxies.into_iter().map(named).collect()
    }
}

// === impl Proxy ===

impl Proxy {
    /// What somebody is told of it: whoever may look at some namespaces alone gets numbers and states. Sentences
    /// have names in them, of nodes, of key tables and of whatever is refused.
    fn seen_by(mut self, sight: &Sight, index: usize) -> Self {
        if !sight.is_everywhere() {
            self.node = unnamed(index);
            self.workers.lacks.clear();
            self.types.iter_mut().for_each(|one| one.error = None);
        }
        self
    }

    /// Takes over what is known of a stream. A proxy may have two for a moment: the newer one counts.
    fn configured(&mut self, client: &ClientStatus) {
        self.connected = true;
        self.version = client.agent.as_deref().map(str::to_owned);
        self.since = client.since.and_then(time);
        self.types = client.types.iter().filter_map(|of| OneType::of(client, of)).collect();
        self.types.sort_by_key(|one| one.name);
    }
}

// === impl Workers ===

impl Workers {
    fn add(&mut self, standing: &WorkerStanding<'_>, goal: Goal, now: Duration) {
        self.total += 1;
        self.away += usize::from(standing.worker.away_since.is_some());
        match lack(standing, goal) {
            None => self.synced += 1,
            Some(lack) if self.lacks.len() < MANY => self.lacks.push(printable(&lack, MAX_WORDS)),
            Some(_) => {}
        }
        let lag = standing.behind_since.map(|since| now.saturating_sub(since));
        let lag = lag.and_then(|lag| SignedDuration::try_from(lag).ok()).unwrap_or_default();
        self.lag_milliseconds = self.lag_milliseconds.max(u64::try_from(lag.as_millis()).unwrap_or(u64::MAX));
        let build = printable(&standing.worker.build, MAX_WORDS);
        if !self.builds.contains(&build) {
            self.builds.push(build);
            self.builds.sort_unstable();
        }
    }
}

// === impl OneType ===

impl OneType {
    fn of(client: &ClientStatus, of: &TypeStatus) -> Option<Self> {
        let state = match of.standing() {
            Standing::Refused => "NACKED",
            Standing::NotSent => "NOT SENT",
            Standing::Synced if !client.behind => "SYNCED",
            Standing::Synced | Standing::Stale => "STALE",
        };
        Some(Self {
            name: name(&of.type_url)?,
            state,
            since: of.since.and_then(time),
            version: of.sent.as_deref().map(str::to_owned),
            error: error(of),
        })
    }
}
