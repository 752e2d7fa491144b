//! Reading: one object, or many in pages that show one moment.

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyward_resource::{ApiStatus, present_list};
use keyward_store::{Key, Page, Revision, Selector, StoreError};
use serde_json::{Value, json};

use crate::api::Api;
use crate::dispatch::{Answer, Call};
use crate::query::{Version, VersionMatch};
use crate::reply::{store_error, success};
use crate::selector::Selection;
use crate::stored::metadata_mut;
use crate::target::Target;
use crate::writer::Current;

/// How many objects are read at once where a selector may pass over most of them.
const READ_AHEAD: usize = 500;

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// The moment that the list shows; none to go on with what there is now.
    at: Option<Revision>,
    /// Behind this object.
    after: Key,
}

/// A part of a list.
struct Listed {
    items: Vec<Value>,
    revision: Revision,
    /// The last object looked at, if others follow.
    more: Option<Key>,
}

// === impl Token ===

impl Token {
    fn encode(&self) -> String {
        let at = self.at.map(|Revision(at)| at);
        let token = json!({ "rv": at, "ns": self.after.namespace, "n": self.after.name });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(kind: &str, token: &str) -> Option<Self> {
        let token: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let at = match &token["rv"] {
            Value::Null => None,
            at => Some(Revision(at.as_u64()?)),
        };
        Some(Self { at, after: Key::new(kind, token["ns"].as_str()?, token["n"].as_str()?) })
    }
}

// === impl Api ===

impl Api {
    pub(crate) async fn get(&self, call: &Call<'_>) -> Answer {
        let target = &call.target;
        let Current { record, stored } = self.writer.current(target).await?;
        let object = self.shown(target, &record.key, record.revision, stored);
        Ok(success(StatusCode::OK, &call.form.object(target.kind, object), &[]))
    }

    pub(crate) async fn list(&self, call: &Call<'_>) -> Answer {
        let (target, query) = (&call.target, &call.query);
        query.field_selector.check(target.kind)?;
        let token = query.continue_token.as_deref().map(|token| {
            Token::decode(target.kind.name, token).ok_or_else(|| {
                ApiStatus::bad_request("continue key is not valid: it is not from this server")
            })
        });
        let token = token.transpose()?;
        let current = self.store().revision().await;
        let current = current.map_err(|error| store_error(target.kind, "", error))?;
        if let Version::At(asked) = query.version
            && asked > current
        {
            return Err(ApiStatus::too_large_version(asked.0, current.0));
        }
        let at = match (&token, query.version, query.version_match) {
            (Some(token), ..) => token.at,
            (None, Version::At(asked), Some(VersionMatch::Exact)) => Some(asked),
            _ => None,
        };
        let after = token.map(|token| token.after);
        let selection = Selection { labels: &query.label_selector, fields: &query.field_selector };
        let listed = self.collect(target, selection, at, after.clone(), query.limit).await?;
        let Listed { items, revision, more } = match listed {
            Ok(listed) => listed,
            Err(()) => {
                let message = "The provided continue parameter or resourceVersion is too old to display a \
                               consistent list result. Start a new list without the continue parameter, or use \
                               the continue token in this response to go on with what there is now";
                return Err(match after {
                    Some(after) => ApiStatus::expired_list(message, Token { at: None, after }.encode()),
                    None => ApiStatus::expired(message),
                });
            }
        };
        let mut list = present_list(target.kind, items, revision.0, target.asked);
        if let Some(after) = more {
            let token = Token { at: Some(revision), after }.encode();
            metadata_mut(&mut list).insert("continue".to_owned(), token.into());
        }
        Ok(success(StatusCode::OK, &call.form.list(target.kind, list), &[]))
    }

    /// Reads the objects that are selected; an error when the moment is gone.
    async fn collect(
        &self,
        target: &Target,
        selection: Selection<'_>,
        at: Option<Revision>,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Result<Listed, ()>, ApiStatus> {
        let namespace = target.namespace.as_deref().or(selection.fields.only_namespace());
        if let Some(name) = selection.fields.only_name()
            && (namespace.is_some() || !target.kind.is_namespaced())
            && at.is_none()
        {
            let key = Key::new(target.kind.name, namespace.unwrap_or_default(), name);
            return self.only(target, selection, key).await.map(Ok);
        }
        let selector =
            Selector { kind: target.kind.name.to_owned(), namespace: namespace.map(str::to_owned) };
        let (mut items, mut after, mut at) = (Vec::new(), after, at);
        loop {
            // Whatever is passed over makes room for more.
            let room = limit.map(|limit| limit - items.len());
            let step = match room {
                Some(room) if selection.is_everything() => Some(room),
                Some(room) => Some(room.max(READ_AHEAD)),
                None => None,
            };
            let page = match self.page(selector.clone(), after.take(), step, at).await {
                Ok(page) => page,
                Err(StoreError::Compacted { .. } | StoreError::Future { .. }) => return Ok(Err(())),
                Err(error) => return Err(store_error(target.kind, "", error)),
            };
            // All parts of an answer show one moment.
            let revision = *at.get_or_insert(page.revision);
            let count = page.records.len();
            for (index, record) in page.records.into_iter().enumerate() {
                let Current { record, stored } = Current::read(record)?;
                after = Some(record.key.clone());
                if selection.selects(&record, &stored) {
                    items.push(self.shown(target, &record.key, record.revision, stored));
                }
                if limit == Some(items.len()) {
                    let more = after.filter(|_| page.more || index + 1 < count);
                    return Ok(Ok(Listed { items, revision, more }));
                }
            }
            if !page.more {
                return Ok(Ok(Listed { items, revision, more: None }));
            }
        }
    }

    /// The list of the one object that can be meant, without a look at the others.
    async fn only(&self, target: &Target, selection: Selection<'_>, key: Key) -> Result<Listed, ApiStatus> {
        // Read first: a watch from here repeats at most what the object shows, and misses nothing.
        let before = self.store().revision().await;
        let before = before.map_err(|error| store_error(target.kind, "", error))?;
        let mut listed = Listed { items: Vec::new(), revision: before, more: None };
        if let Some(Current { record, stored }) = self.writer.find(target.kind, key).await? {
            listed.revision = before.max(record.revision);
            if selection.selects(&record, &stored) {
                listed.items.push(self.shown(target, &record.key, record.revision, stored));
            }
        }
        Ok(listed)
    }

    async fn page(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Option<Revision>,
    ) -> Result<Page, StoreError> {
        match at {
            Some(at) => self.store().list_at(selector, after, limit, at).await,
            None => self.store().list(selector, after, limit).await,
        }
    }
}
