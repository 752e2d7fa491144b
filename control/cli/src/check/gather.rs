//! Everything that is looked at, asked of the server: a list of each kind, all at once.

use std::time::Duration;

use anyhow::{Context as _, bail};
use http::StatusCode;
use keyward_check::{State, World};
use keyward_resource::{KINDS, Kind};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::{Client, ClientError, Collection, USUAL_NAMESPACE};

/// Objects in a page of a list.
const PAGE: &str = "1000";
/// So many Secrets are looked at unless somebody wants all: of keys there may be a million.
const MANY: usize = 20_000;
/// Who is connected.
const PROXIES: &str = "/keyward/v1/proxies";

/// What is asked, and of whom.
pub(super) struct Gatherer {
    pub(super) client: Client,
    pub(super) secrets: bool,
    pub(super) all_secrets: bool,
    pub(super) proxies: bool,
    /// The namespace of the installation, if somebody names it.
    pub(super) namespace: Option<String>,
}

/// What was said.
pub(super) struct Gathered {
    pub(super) world: World,
    /// Nobody asked, if it is none.
    pub(super) state: Option<State>,
}

/// What a list brought.
enum Listed {
    /// The objects, and whether there are more.
    Items(Vec<Value>, bool),
    /// Whoever asks may not see them.
    Refused(String),
}

/// Reads a kind page by page, and no more pages than needed for so many.
async fn list(client: Client, kind: &'static Kind, enough: usize) -> Result<Listed, ClientError> {
    let collection = Collection::of(kind, None);
    let mut token = String::new();
    let mut all = Vec::new();
    loop {
        let mut pairs = vec![("limit", PAGE)];
        if !token.is_empty() {
            pairs.push(("continue", &token));
        }
        let mut page = match client.patiently(&collection.query(&pairs), Duration::ZERO).await {
            Ok(answer) => answer.body,
            Err(ClientError::Refused { refusal, .. }) if refusal.code == StatusCode::FORBIDDEN => {
                return Ok(Listed::Refused(refusal.message));
            }
            Err(error) => return Err(error),
        };
        if let Value::Array(mut items) = page["items"].take() {
            all.append(&mut items);
        }
        match page["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() && all.len() < enough => token = next.to_owned(),
            Some(next) if !next.is_empty() => return Ok(Listed::Items(all, true)),
            _ => return Ok(Listed::Items(all, false)),
        }
    }
}

// === impl Gatherer ===

impl Gatherer {
    /// Asks for everything. It is an error where whoever asks may see nothing of it.
    pub(super) async fn gather(&self) -> anyhow::Result<Gathered> {
        let state = if self.proxies { Some(self.state().await?) } else { None };
        let mut lists = JoinSet::new();
        for kind in KINDS.iter().copied().filter(|kind| self.secrets || !kind.is_confidential()) {
            let client = self.client.clone();
            let enough = if kind.is_confidential() && !self.all_secrets { MANY } else { usize::MAX };
            lists.spawn(async move { list(client, kind, enough).await.map(|listed| (kind, listed)) });
        }
        let says = || state.as_ref().and_then(State::namespace).unwrap_or(USUAL_NAMESPACE);
        let namespace = self.namespace.as_deref().unwrap_or_else(says);
        let mut world = World::new(namespace);
        let (mut refused, mut seen) = (None, false);
        while let Some(listed) = lists.join_next().await {
            match listed.context("a list could not be read")?? {
                (kind, Listed::Refused(why)) => {
                    refused.get_or_insert_with(|| why.clone());
                    world.lacks(kind, why);
                }
                (kind, Listed::Items(items, more)) => {
                    seen = true;
                    items.into_iter().for_each(|object| world.take(kind, object));
                    if more {
                        world.lacks_secrets();
                    }
                }
            }
        }
        if let Some(why) = refused.filter(|_| !seen) {
            bail!(
                "{why}\nhint: a check looks at the objects of all namespaces, so the token must be of all of them"
            );
        }
        Ok(Gathered { world, state })
    }

    async fn state(&self) -> anyhow::Result<State> {
        let answer = self.client.patiently(PROXIES, Duration::ZERO).await?.body;
        serde_json::from_value(answer).context("the server is of another version")
    }
}
