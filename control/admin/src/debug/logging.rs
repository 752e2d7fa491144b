//! `/logging`: how much is logged, also while the server runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::envelope;
use crate::gate::Who;
use crate::index::Endpoint;
use crate::query::Pretty;

pub(super) const ENDPOINTS: [Endpoint; 2] = [
    Endpoint { method: "GET", path: "/logging", about: "the log levels" },
    Endpoint {
        method: "PUT",
        path: "/logging",
        about: "sets them: {\"level\":\"debug\"}, and for parts {\"targets\":{\"keyward_server\":\"trace\"}} \
                (null takes one back)",
    },
];

/// The longest name of a target.
const MAX_TARGET: usize = 128;
/// So many targets may be named at a time.
const MAX_TARGETS: usize = 64;

/// How much is logged, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What went wrong.
    Error,
    /// And what may.
    Warn,
    /// And what happens.
    Info,
    /// And why.
    Debug,
    /// And everything else.
    Trace,
}

/// What is logged at present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// The level of all parts that have none of their own; `off` when nothing is.
    pub level: String,
    /// The levels of parts, by target.
    pub targets: BTreeMap<String, String>,
}

/// What is to be logged from now on. What is not named stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// The level of all parts that have none of their own.
    pub level: Option<Level>,
    /// The levels of parts, by target; none takes the part's own level back.
    pub targets: BTreeMap<String, Option<Level>>,
}

/// Where levels are set.
pub trait Logging: Send + Sync + 'static {
    /// The levels.
    fn levels(&self) -> Levels;

    /// Sets levels; answers with all of them. `who` is for the log.
    ///
    /// # Errors
    ///
    /// When that is impossible.
    fn change(&self, change: &Change, who: &str) -> Result<Levels, String>;
}

pub(super) fn router(logging: &Arc<dyn Logging>) -> Router {
    Router::new().route("/logging", get(show).put(set)).with_state(Arc::clone(logging))
}

async fn show(State(logging): State<Arc<dyn Logging>>, Pretty(pretty): Pretty) -> Response {
    envelope::respond(StatusCode::OK, &logging.levels(), pretty)
}

async fn set(
    State(logging): State<Arc<dyn Logging>>,
    Pretty(pretty): Pretty,
    Extension(Who(who)): Extension<Who>,
    body: Bytes,
) -> Response {
    let change = match Change::parse(&body) {
        Ok(change) => change,
        Err(why) => return envelope::failed(StatusCode::BAD_REQUEST, &why, pretty),
    };
    match logging.change(&change, &who) {
        Ok(levels) => envelope::respond(StatusCode::OK, &levels, pretty),
        Err(why) => envelope::failed(StatusCode::INTERNAL_SERVER_ERROR, &why, pretty),
    }
}

fn accepted() -> String {
    let names: Vec<&str> = [Level::Debug, Level::Info, Level::Warn, Level::Error, Level::Trace]
        .into_iter()
        .map(Level::as_str)
        .collect();
    format!("accepted levels: {}", names.join(", "))
}

fn level(value: &Value) -> Result<Level, String> {
    let text = value.as_str().ok_or_else(|| format!("a level is a string; {}", accepted()))?;
    text.parse().map_err(|()| format!("{text:?} is no level; {}", accepted()))
}

fn targets(value: &Value) -> Result<BTreeMap<String, Option<Level>>, String> {
    let named = value.as_object().ok_or("\"targets\" is an object of targets and their levels")?;
    if named.len() > MAX_TARGETS {
        return Err(format!("at most {MAX_TARGETS} targets at a time"));
    }
    let target = |(name, value): (&String, &Value)| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.');
        if name.is_empty() || name.len() > MAX_TARGET || !name.bytes().all(fits) {
            return Err(format!("{name:?} is no target: a module such as keyward_server::control is one"));
        }
        let level = if value.is_null() { None } else { Some(level(value)?) };
        Ok((name.clone(), level))
    };
    named.iter().map(target).collect()
}

// === impl Level ===

impl Level {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl std::str::FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];
        all.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(text)).ok_or(())
    }
}

// === impl Change ===

impl Change {
    /// Reads the body of a request.
    fn parse(body: &[u8]) -> Result<Self, String> {
        let shape = || format!("the body is a JSON object such as {{\"level\":\"debug\"}}; {}", accepted());
        let fields: Map<String, Value> = serde_json::from_slice(body).map_err(|_| shape())?;
        if fields.is_empty() {
            return Err(shape());
        }
        let mut change = Self::default();
        for (name, value) in &fields {
            match name.as_str() {
                "level" => change.level = Some(level(value)?),
                "targets" => change.targets = targets(value)?,
                _ => {
                    return Err(format!("{name:?} is no field: there are level and targets; {}", accepted()));
                }
            }
        }
        Ok(change)
    }
}
