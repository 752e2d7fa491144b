//! `GET /keyward/v1/usage`: how often the keys of each Secret were used, and when last.
//!
//! For whoever may list Secrets: `?namespace=` asks about those of one namespace. Secrets whose keys were
//! never used are not in it. With `?limit=` it comes in pages, each of which says how to `?continue=`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, Extension, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use keyward_api::{Attempt, Authorizer, Verb};
use keyward_resource::{ApiStatus, ObjectRef, kind};
use serde::Serialize;
use tokio::sync::watch;

use super::sync::failure;
use crate::published::Published;
use crate::usage::Usage;

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/usage";
/// The most items of one answer, and how many there are when nobody says.
const MAX_ITEMS: usize = 10_000;

/// What it asks.
#[derive(Clone)]
pub(crate) struct Uses {
    pub(crate) usage: Usage,
    pub(crate) published: watch::Receiver<Arc<Published>>,
}

/// What is asked of it.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    namespace: Option<String>,
    after: Option<ObjectRef>,
    limit: usize,
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata,
    /// By namespace and name.
    items: Vec<Item>,
}

#[derive(Debug, Serialize)]
struct Metadata {
    /// Asks for the next page, if there is one.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The uses of one Secret's keys.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    namespace: String,
    name: String,
    uses: u64,
    /// To the second.
    last_used: String,
}

/// Answers.
pub(super) async fn usage(
    State(uses): State<Uses>,
    Extension(authorizer): Extension<Arc<dyn Authorizer>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let question = Question::read(query.as_deref());
    // Who may not ask is told nothing of how to.
    let namespace = question.as_ref().ok().and_then(|question| question.namespace.as_deref());
    let attempt = Attempt {
        verb: Verb::List,
        kind: kind::by_name("Secret"),
        namespace,
        name: None,
        path: PATH,
        headers: &headers,
        peer: peer.map(|Extension(ConnectInfo(peer))| peer),
    };
    match authorizer.authorize(&attempt).and(question) {
        Ok(question) => uses.answer(question).await.unwrap_or_else(failure),
        Err(status) => failure(status),
    }
}

// === impl Question ===

impl Question {
    fn read(query: Option<&str>) -> Result<Self, ApiStatus> {
        let mut question = Self { namespace: None, after: None, limit: MAX_ITEMS };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("namespace", "") => {}
                ("namespace", name) => question.namespace = Some(name.to_owned()),
                ("limit", "" | "0") => {}
                ("limit", number) => {
                    let limit: usize = number.parse().map_err(|_| {
                        ApiStatus::bad_request("limit: Invalid value: must be a number that is not negative")
                    })?;
                    question.limit = limit.min(MAX_ITEMS);
                }
                ("continue", "") => {}
                ("continue", token) => {
                    let (namespace, name) =
                        token.split_once("%2F").or(token.split_once('/')).ok_or_else(|| {
                            ApiStatus::bad_request("continue: Invalid value: must be what an answer said")
                        })?;
                    question.after = Some(ObjectRef::new(namespace, name));
                }
                (other, _) => {
                    let message = format!(
                        "the query parameter {other:?} is not served; there are: namespace, limit, continue"
                    );
                    return Err(ApiStatus::bad_request(message));
                }
            }
        }
        Ok(question)
    }
}

// === impl Uses ===

impl Uses {
    async fn answer(&self, Question { namespace, after, limit }: Question) -> Result<Response, ApiStatus> {
        let page = self.usage.list(&self.published, namespace, after, limit).await.map_err(|error| {
            tracing::error!("uses of keys could not be read: {:#}", anyhow::Error::new(error));
            ApiStatus::internal("uses of keys could not be read; the log of the control server says why")
        })?;
        let item = |row: keyward_store::SecretUses| Item {
            namespace: row.namespace,
            name: row.name,
            uses: row.uses,
            last_used: time(row.last_used),
        };
        let answer = Answer {
            kind: "UsageList",
            api_version: "keyward.io/v1",
            metadata: Metadata { next: page.next.map(|next| format!("{}/{}", next.namespace, next.name)) },
            items: page.rows.into_iter().map(item).collect(),
        };
        Ok(Json(answer).into_response())
    }
}

fn time(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).ok();
    seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let read = |query: Option<&str>| Question::read(query).map_err(|status| status.code);
        let all = || Question { namespace: None, after: None, limit: MAX_ITEMS };
        assert_eq!(read(None), Ok(all()));
        assert_eq!(read(Some("namespace=&limit=0&continue=")), Ok(all()));
        let after = Some(ObjectRef::new("a", "ann"));
        for token in ["a/ann", "a%2Fann"] {
            let query = format!("namespace=a&limit=5&continue={token}");
            let asked = Question { namespace: Some("a".to_owned()), after: after.clone(), limit: 5 };
            assert_eq!(read(Some(&query)), Ok(asked));
        }
        assert_eq!(read(Some("limit=99999999")), Ok(all()));
        for query in ["limit=some", "limit=-1", "continue=x", "namspace=a"] {
            assert_eq!(read(Some(query)), Err(400), "{query}");
        }
    }
}
