//! `GET /keyward/v1/logs`: what was logged last, and with `?follow=true` what is logged from now on.
//!
//! `?component=control|gateway-proxy`, `?tail=N` for the last lines alone, `?errorsOnly=true`. Lines of text. With
//! `?component=gateway-proxy&follow=true&level=debug` the proxy logs at that level for as long as somebody follows.
//! For those with the role admin, as lines may tell of anything but keys; a follower is asked for it again and
//! again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Extension, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use futures::stream;
use keyward_admin::proxy::LEVELS;
use keyward_admin::{Gate, Need, Who};
use keyward_resource::ApiStatus;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::sync::failure;
use crate::envoy::{LogLevels, Raised};
use crate::logs::{Logs, Ring};

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/logs";
/// Says that the proxy logs at this level.
const LEVEL: HeaderName = HeaderName::from_static("keyward-log-level");
/// Says why it does not.
const NO_LEVEL: HeaderName = HeaderName::from_static("keyward-log-level-unchanged");
/// A follower that may not any more is told nothing after this, at most.
const RECHECK: Duration = Duration::from_secs(5);
/// Lines are sent together for so long: sending each may be worth a line again.
const PACE: Duration = Duration::from_millis(50);

/// What it asks.
#[derive(Clone)]
pub(crate) struct LogReader {
    pub(crate) logs: Logs,
    /// Those of the Envoy whose log this is, if there is one.
    pub(crate) levels: Option<LogLevels>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) stop: CancellationToken,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Component {
    #[default]
    Control,
    GatewayProxy,
}

/// What is asked of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Question {
    component: Component,
    tail: Option<usize>,
    follow: bool,
    errors_only: bool,
    /// At which the proxy is to log meanwhile.
    level: Option<&'static str>,
}

/// Somebody who reads.
struct Follower {
    reader: LogReader,
    ring: Ring,
    changes: watch::Receiver<u64>,
    next: u64,
    question: Question,
    headers: HeaderMap,
    peer: Option<SocketAddr>,
    /// When it was asked last whether it may.
    checked: Instant,
    /// Levels go back when nobody reads any more.
    _raised: Option<Raised>,
}

/// The endpoint.
pub(super) fn methods(reader: LogReader) -> MethodRouter {
    get(logs).with_state(reader)
}

async fn logs(
    State(reader): State<LogReader>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let peer = peer.map(|Extension(ConnectInfo(peer))| peer);
    // Who may not ask is told nothing of how to.
    let admitted = reader.admit(&headers, peer);
    let question = admitted.and_then(|who| Ok((Question::read(query.as_deref())?, who)));
    let found = question.and_then(|(question, who)| Ok((reader.ring(question.component)?, question, who)));
    match found {
        Ok((ring, question, who)) => {
            let changes = ring.changes();
            let next = ring.tail(question.tail.unwrap_or(usize::MAX), question.errors_only);
            let checked = Instant::now();
            let (raised, said) = reader.raise(question.level, who).await;
            let _raised = raised;
            let follower =
                Follower { reader, ring, changes, next, question, headers, peer, checked, _raised };
            let chunks = stream::unfold(Some(follower), |follower| async { follower?.chunk().await });
            let mut response = Body::from_stream(chunks).into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.extend(said);
            response
        }
        Err(status) => failure(status),
    }
}

// === impl LogReader ===

impl LogReader {
    fn admit(&self, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, ApiStatus> {
        self.gate.admit(Need::Operate, headers, peer).map_err(|refusal| match refusal.code {
            StatusCode::UNAUTHORIZED => ApiStatus::unauthorized(refusal.message),
            StatusCode::FORBIDDEN => ApiStatus::forbidden(refusal.message),
            _ => ApiStatus::internal(&refusal.message),
        })
    }

    /// Raises the levels of the proxy, and says in a header whether that could be: the log is there all the same.
    async fn raise(
        &self,
        level: Option<&'static str>,
        who: Who,
    ) -> (Option<Raised>, Option<(HeaderName, HeaderValue)>) {
        let (Some(level), Some(levels)) = (level, &self.levels) else { return (None, None) };
        match levels.raise(level, who).await {
            Ok(raised) => (Some(raised), Some((LEVEL, HeaderValue::from_static(level)))),
            Err(why) => (None, HeaderValue::from_str(&why).ok().map(|why| (NO_LEVEL, why))),
        }
    }

    fn ring(&self, component: Component) -> Result<Ring, ApiStatus> {
        match component {
            Component::Control => Ok(self.logs.control.clone()),
            Component::GatewayProxy if self.levels.is_some() => Ok(self.logs.proxy.clone()),
            Component::GatewayProxy => Err(ApiStatus::bad_request(
                "component: Invalid value: this server runs no gateway proxy: logs of proxies are where they run",
            )),
        }
    }
}

// === impl Question ===

impl Question {
    fn read(query: Option<&str>) -> Result<Self, ApiStatus> {
        let mut question = Self::default();
        let boolean = |name: &str, value: &str| match value {
            "true" | "" => Ok(true),
            "false" => Ok(false),
            _ => Err(ApiStatus::bad_request(format!("{name}: Invalid value: must be true or false"))),
        };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("component", "control") => question.component = Component::Control,
                ("component", "gateway-proxy") => question.component = Component::GatewayProxy,
                ("component", _) => {
                    let message = "component: Invalid value: must be control or gateway-proxy";
                    return Err(ApiStatus::bad_request(message));
                }
                ("tail", value) => {
                    let message = "tail: Invalid value: must be a number of lines";
                    question.tail = Some(value.parse().map_err(|_| ApiStatus::bad_request(message))?);
                }
                ("follow", value) => question.follow = boolean("follow", value)?,
                ("errorsOnly", value) => question.errors_only = boolean("errorsOnly", value)?,
                ("level", value) => {
                    let level = LEVELS.into_iter().find(|level| *level == value);
                    let message = || format!("level: Invalid value: must be one of {}", LEVELS.join(", "));
                    question.level = Some(level.ok_or_else(|| ApiStatus::bad_request(message()))?);
                }
                (other, _) => {
                    let message = format!(
                        "the query parameter {other:?} is not served; there are: component, tail, follow, \
                         errorsOnly, level"
                    );
                    return Err(ApiStatus::bad_request(message));
                }
            }
        }
        if question.level.is_some() && !(question.follow && question.component == Component::GatewayProxy) {
            let message = "level: Forbidden: it is for those who follow the log of gateway-proxy";
            return Err(ApiStatus::bad_request(message));
        }
        Ok(question)
    }
}

// === impl Follower ===

impl Follower {
    /// The next lines, and who goes on after them.
    async fn chunk(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Option<Self>)> {
        loop {
            if self.checked.elapsed() >= RECHECK {
                self.reader.admit(&self.headers, self.peer).ok()?;
                self.checked = Instant::now();
            }
            let read = self.ring.read(self.next);
            self.next = read.next;
            let mut text = String::new();
            if read.missed > 0 {
                text.push_str(&format!("... {} lines are gone\n", read.missed));
            }
            for line in read.lines.iter().filter(|line| line.is_error || !self.question.errors_only) {
                text.push_str(&line.text);
                text.push('\n');
            }
            if !text.is_empty() {
                let rest = self.question.follow.then_some(self);
                return Some((Ok(text.into()), rest));
            }
            if !self.question.follow {
                return None;
            }
            let next = self.next;
            tokio::select! {
                () = self.reader.stop.cancelled() => return None,
                () = sleep_until(self.checked + RECHECK) => {}
                changed = self.changes.wait_for(|count| *count > next) => drop(changed.ok()?),
            }
            sleep(PACE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let read = |query: Option<&str>| Question::read(query).map_err(|status| status.code);
        assert_eq!(read(None), Ok(Question::default()));
        let all = Question {
            component: Component::GatewayProxy,
            tail: Some(5),
            follow: true,
            errors_only: true,
            level: Some("debug"),
        };
        let query = "component=gateway-proxy&tail=5&follow=true&errorsOnly=true&level=debug";
        assert_eq!(read(Some(query)), Ok(all));
        for query in ["level=debug", "component=gateway-proxy&level=debug", "follow=true&level=debug"] {
            assert_eq!(read(Some(query)), Err(400), "{query}");
        }
        assert_eq!(read(Some("component=gateway-proxy&follow=true&level=loud")), Err(400));
        assert_eq!(read(Some("component=control&follow=false")), Ok(Question::default()));
        for query in ["component=envoy", "tail=-1", "tail=some", "follow=yes", "errorsOnly=1", "tial=5"] {
            assert_eq!(read(Some(query)), Err(400), "{query}");
        }
    }
}
