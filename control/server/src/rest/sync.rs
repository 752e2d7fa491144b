//! `GET /keyward/v1/sync`: the proof that a revision has arrived at every worker of every proxy.
//!
//! `?revision=N` asks about a revision of the store (a `resourceVersion`), by default the newest;
//! `?wait=5s` lets the answer wait for it. It is an error, 504, only where a wait was in vain.

mod seen;
mod types;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{ConnectInfo, Extension, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use jiff::{SignedDuration, Timestamp};
use keyward_api::{Attempt, Authorizer, Sight, Verb};
use keyward_keys::{Goal, Standing};
use keyward_resource::{ApiStatus, Cause};
use keyward_store::Store;
use keyward_xds::{AdsService, ClientStatus};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::published::Published;
use crate::rollout::Waits;
use crate::workers::{Lost, WorkersHandle, lack};

pub(super) use self::seen::unnamed;
use self::types::{Types, types};

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/sync";

/// What it asks.
#[derive(Clone)]
pub(crate) struct Sync {
    pub(crate) workers: WorkersHandle,
    pub(crate) ads: AdsService,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) published: watch::Receiver<Arc<Published>>,
}

/// What is asked of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Question {
    revision: Option<u64>,
    wait: Option<Duration>,
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    /// The revision that it is about.
    revision: String,
    /// Whether every worker has confirmed it.
    synced: bool,
    /// How many workers there are, and how many of them have confirmed it.
    workers: usize,
    confirmed: usize,
    /// How long the answer took.
    milliseconds: u64,
    /// Why it is not synced, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    proxies: Vec<Proxy>,
}

/// One Envoy.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Proxy {
    node: String,
    role: String,
    /// What it makes of its configuration; none while it has no xDS stream.
    configuration: Option<&'static str>,
    /// How each type of it stands.
    types: Types,
    /// How its routes wait for keys and policies.
    routes: Routes,
    workers: Vec<Worker>,
}

/// How the routes of a proxy's role have waited until its workers had what they need.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Routes {
    /// For how long they have been waiting, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_milliseconds: Option<u64>,
    /// How often they have waited since the server started.
    waits: u64,
    /// How often that was in vain.
    expired: u64,
    /// The longest wait that is over.
    longest_milliseconds: u64,
}

/// One thread of it. Envoy's main thread runs the filter as well, and is one of them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Worker {
    name: String,
    /// `Synced`, `Behind`, or `Away` while it is between two streams.
    state: &'static str,
    /// Version of the filter.
    build: String,
    /// The newest revision of which it has confirmed all keys.
    revision: String,
    /// For how long it has lacked keys that are published.
    lag_milliseconds: u64,
    /// When it last acknowledged keys, on its present stream or on one before.
    last_acknowledged: Option<String>,
    /// Version of its policies, and of those that it should have when it has others.
    policies: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    policies_wanted: Option<String>,
    /// What it lacks of the revision that is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<String>,
    tables: BTreeMap<String, Table>,
}

/// A key table in a worker.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    /// What it holds: revision and checksum of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// Of that, keys are missing: they were revoked or narrowed by changes for which there was no room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
    /// What it should hold, when that is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<String>,
    /// Why it refused that.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Answers.
pub(super) async fn sync(
    State(sync): State<Sync>,
    Extension(authorizer): Extension<Arc<dyn Authorizer>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let peer = peer.map(|Extension(ConnectInfo(peer))| peer);
    let attempt = Attempt {
        verb: Verb::Get,
        kind: None,
        namespace: None,
        name: None,
        path: PATH,
        headers: &headers,
        peer,
    };
    let asked = authorizer.authorize(&attempt);
    let question = asked.and_then(|who| Ok((Question::read(query.as_deref())?, who.sight)));
    match question {
        Ok((question, sight)) => sync.answer(question, &sight).await.unwrap_or_else(failure),
        Err(status) => failure(status),
    }
}

pub(super) fn failure(status: ApiStatus) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, Json(status)).into_response()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn version(version: keyward_filter_core::wire::Version) -> String {
    format!("{}:{:016x}", version.revision, version.checksum)
}

/// What an Envoy makes of what it was told.
fn configuration(client: &ClientStatus) -> &'static str {
    if client.types.iter().any(|one_type| !one_type.rejected.is_empty()) {
        "Rejected"
    } else if client.in_sync() {
        "Accepted"
    } else {
        "Pending"
    }
}

// === impl Question ===

impl Question {
    fn read(query: Option<&str>) -> Result<Self, ApiStatus> {
        let mut question = Self::default();
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        for pair in pairs {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("wait", value) => question.wait = keyward_api::wait(value)?,
                ("revision", value) => {
                    let revision = value.parse().map_err(|_| {
                        ApiStatus::bad_request("revision: Invalid value: must be a resourceVersion, a number")
                    })?;
                    question.revision = Some(revision);
                }
                (other, _) => {
                    let message =
                        format!("the query parameter {other:?} is not served; there are: revision, wait");
                    return Err(ApiStatus::bad_request(message));
                }
            }
        }
        Ok(question)
    }
}

// === impl Sync ===

impl Sync {
    async fn answer(&self, question: Question, sight: &Sight) -> Result<Response, ApiStatus> {
        let began = Instant::now();
        let newest = self.store.revision().await.map_err(|error| {
            tracing::error!("the store failed: {:#}", anyhow::Error::new(error));
            ApiStatus::internal("the store failed; the log of the control server says why")
        })?;
        let revision = question.revision.unwrap_or(newest.0);
        if revision > newest.0 {
            return Err(ApiStatus::too_large_version(revision, newest.0));
        }
        let goal = Goal { revision, policies: true };
        let wait = question.wait.unwrap_or_default();
        let lost = self.workers.confirmed(goal, wait).await;
        let (confirmed, message) = self.workers.lagging(goal, wait, &lost);
        if let (Some(message), Some(_)) = (&message, question.wait) {
            if sight.is_everywhere() {
                return Err(ApiStatus::timeout(message, self.causes(goal, &lost)));
            }
            let said = seen::summary(confirmed.workers, confirmed.confirmed, &revision.to_string());
            return Err(ApiStatus::timeout(&said, Vec::new()));
        }
        let answer = Answer {
            kind: "Sync",
            api_version: "keyward.io/v1",
            revision: revision.to_string(),
            synced: message.is_none(),
            workers: confirmed.workers,
            confirmed: confirmed.confirmed,
            milliseconds: milliseconds(began.elapsed()),
            message,
            proxies: self.proxies(goal),
        };
        Ok(Json(answer.seen_by(sight)).into_response())
    }

    /// Who lacks what.
    fn causes(&self, goal: Goal, lost: &Lost) -> Vec<Cause> {
        let cause = |message| Cause { reason: "NotConfirmed", message, field: String::new() };
        self.workers.read(|workers, now| {
            let lacks = workers.standings(now).filter_map(|standing| lack(&standing, goal));
            lacks.chain(lost.lacks()).map(cause).collect()
        })
    }

    /// All Envoys that have a stream of either kind.
    fn proxies(&self, goal: Goal) -> Vec<Proxy> {
        let mut proxies: BTreeMap<(String, String), Proxy> = BTreeMap::new();
        for client in self.ads.clients() {
            let (node, role) = (client.client.node_id.to_string(), client.client.node_key.to_string());
            let proxy = proxies.entry((role, node)).or_default();
            proxy.configuration = Some(configuration(&client));
            proxy.types = types(&client);
        }
        let wall = Timestamp::now();
        self.workers.read(|workers, now| {
            for standing in workers.standings(now) {
                let key = (standing.worker.role.clone(), standing.worker.node.clone());
                proxies.entry(key).or_default().workers.push(worker(&standing, goal, now, wall));
            }
        });
        let waits = &self.published.borrow().waits;
        let named = proxies.into_iter().map(|((role, node), proxy)| {
            let routes = waits.get(&role).map(Routes::from).unwrap_or_default();
            Proxy { node, role, routes, ..proxy }
        });
        named.collect()
    }
}

fn worker(standing: &Standing<'_>, goal: Goal, now: Duration, wall: Timestamp) -> Worker {
    let lacks = lack(standing, goal);
    let of = standing.worker;
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for (name, held) in &of.held {
        let (held, incomplete) = (Some(version(held.version)), held.less.is_some());
        tables.insert(name.clone(), Table { held, incomplete, wanted: None, refused: None });
    }
    for missing in &standing.missing {
        let table = Table {
            held: missing.held.map(version),
            incomplete: missing.is_less,
            wanted: Some(version(missing.wanted)),
            refused: missing.refused.map(|refusal| refusal.reason.clone()),
        };
        tables.insert(missing.table.to_owned(), table);
    }
    let at = |at: Duration| SignedDuration::try_from(now.saturating_sub(at)).ok().map(|ago| wall - ago);
    Worker {
        name: of.worker.clone(),
        state: match (of.away_since, &lacks) {
            (Some(_), _) => "Away",
            (None, Some(_)) => "Behind",
            (None, None) => "Synced",
        },
        build: of.build.clone(),
        revision: standing.revision.to_string(),
        lag_milliseconds: standing.behind_since.map_or(0, |since| milliseconds(now.saturating_sub(since))),
        last_acknowledged: of.acknowledged_at.and_then(at).map(|at| format!("{at:.3}")),
        policies: format!("{:016x}", of.config_version),
        policies_wanted: standing.config_wanted.map(|wanted| format!("{wanted:016x}")),
        lacks,
        tables,
    }
}

// === impl Routes ===

impl From<&Waits> for Routes {
    fn from(waits: &Waits) -> Self {
        Self {
            waiting_milliseconds: waits.since.map(|since| milliseconds(since.elapsed())),
            waits: waits.count,
            expired: waits.expired,
            longest_milliseconds: milliseconds(waits.longest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let read = |query| Question::read(query).map_err(|status| status.code);
        assert_eq!(read(None), Ok(Question::default()));
        let seconds = Some(Duration::from_secs(2));
        assert_eq!(read(Some("revision=7&wait=2s")), Ok(Question { revision: Some(7), wait: seconds }));
        for query in ["revision=new", "wait=soon", "wiat=2s", "revision=-1"] {
            assert_eq!(read(Some(query)), Err(400), "{query}");
        }
    }
}
