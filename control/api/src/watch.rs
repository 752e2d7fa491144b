//! Watching: what there is, if that is asked for, and then every change, line by line.
//!
//! ```text
//! [ADDED … BOOKMARK(initial-events-end)] ─▶ ADDED | MODIFIED | DELETED … BOOKMARK … ─▶ (timeout)
//!                                                          ├▶ ERROR 410: list again
//!                                                          └▶ ERROR 401, 403: no longer allowed
//! ```

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use keyward_resource::ApiStatus;
use keyward_store::{Event, Key, Record, Revision, Selector, StoreError, Watch};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::access::{Attempt, Verb};
use crate::api::Api;
use crate::dispatch::{Answer, Call};
use crate::query::{Query, Version};
use crate::reply::store_error;
use crate::selector::{FieldSelector, LabelSelector, Selection};
use crate::stored::{Stored, metadata_mut};
use crate::table::Form;
use crate::target::Target;

/// How long a watch lives whose client does not say.
const LIFETIME: Duration = Duration::from_secs(40 * 60);
/// How often a client is told how far it has got.
const BOOKMARK_EVERY: Duration = Duration::from_secs(20);
/// How long somebody goes on watching who may not any more.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// How many objects of the beginning are read at once.
const PAGE: usize = 500;
/// Marks the bookmark after which there are only changes.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A watch under way.
struct Watcher {
    api: Api,
    target: Target,
    form: Form,
    labels: LabelSelector,
    fields: FieldSelector,
    /// What there was at the beginning, as far as it is still to be told.
    initial: Option<Initial>,
    changes: Watch,
    /// The client knows everything up to here.
    at: Revision,
    /// And was told so.
    told: Revision,
    bookmarks: Option<Interval>,
    until: Instant,
    access: Access,
    lines: VecDeque<String>,
    done: bool,
}

/// By what somebody watches. A token may be deleted, expire, or get another role meanwhile.
struct Access {
    path: String,
    headers: HeaderMap,
    peer: Option<SocketAddr>,
    checked: Instant,
}

/// What there was at the beginning.
struct Initial {
    after: Option<Key>,
    /// The end of it is to be marked.
    marked: bool,
}

/// Where a watch starts.
enum Start {
    /// With everything that there is, and perhaps with a mark behind it.
    Everything { marked: bool },
    /// With the next change after this.
    After(Revision),
}

/// Answers that the client must list again, as an event of a watch.
fn expired() -> Response {
    let status = ApiStatus::expired("too old resource version: list again and go on from there");
    let line = format!("{}\n", json!({ "type": "ERROR", "object": status }));
    ([(CONTENT_TYPE, "application/json")], line).into_response()
}

// === impl Start ===

impl Start {
    fn of(query: &Query, current: Revision) -> Result<Self, ApiStatus> {
        match (query.send_initial_events, query.version) {
            (Some(true), Version::At(asked)) if asked > current => {
                Err(ApiStatus::too_large_version(asked.0, current.0))
            }
            (Some(true), _) => Ok(Self::Everything { marked: query.bookmarks }),
            (Some(false), Version::Unset | Version::Any) => Ok(Self::After(current)),
            (None, Version::Unset | Version::Any) => Ok(Self::Everything { marked: false }),
            (_, Version::At(asked)) => Ok(Self::After(asked)),
        }
    }
}

// === impl Api ===

impl Api {
    pub(crate) async fn watch(&self, call: &Call<'_>) -> Answer {
        let (target, query) = (&call.target, &call.query);
        query.field_selector.check(target.kind)?;
        let fields = match &target.name {
            Some(name) => FieldSelector::name(name),
            None => query.field_selector.clone(),
        };
        let failed = |error| store_error(target.kind, "", error);
        let current = self.store().revision().await.map_err(failed)?;
        let (at, initial) = match Start::of(query, current)? {
            Start::After(at) => (at, None),
            Start::Everything { marked } => (current, Some(Initial { after: None, marked })),
        };
        let changes = match self.store().watch(at).await {
            Ok(changes) => changes,
            // A version that never was: the client knows another store, or this one before it lost
            // its data.
            Err(StoreError::Compacted { .. } | StoreError::Future { .. }) => return Ok(expired()),
            Err(error) => return Err(failed(error)),
        };
        let lifetime = query.timeout_seconds.map_or(LIFETIME, Duration::from_secs);
        let bookmarks = query.bookmarks.then(|| {
            let mut bookmarks = interval(BOOKMARK_EVERY);
            bookmarks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            bookmarks.reset();
            bookmarks
        });
        let watcher = Watcher {
            api: self.clone(),
            target: target.clone(),
            form: call.form.clone(),
            labels: query.label_selector.clone(),
            fields,
            initial,
            changes,
            at,
            told: at,
            bookmarks,
            until: Instant::now() + lifetime,
            access: Access {
                path: call.path.to_owned(),
                headers: call.headers.clone(),
                peer: call.identity.peer,
                checked: Instant::now(),
            },
            lines: VecDeque::new(),
            done: false,
        };
        let lines = stream::unfold(watcher, async |mut watcher| {
            let line = watcher.next().await?;
            Some((Ok::<_, Infallible>(line), watcher))
        });
        Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(lines)).into_response())
    }
}

// === impl Watcher ===

impl Watcher {
    /// The next line; none at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            if !self.done && self.access.checked.elapsed() >= CHECK_EVERY {
                self.check_access();
            }
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.done {
                return None;
            }
            if self.initial.is_some() {
                self.begin().await;
            } else {
                self.follow().await;
            }
        }
    }

    /// Ends the watch if whoever watches may not any more; what has not been sent is not for them.
    fn check_access(&mut self) {
        let Access { path, headers, peer, .. } = &self.access;
        let attempt = Attempt {
            verb: Verb::Watch,
            kind: Some(self.target.kind),
            namespace: self.target.namespace.as_deref(),
            name: self.target.name.as_deref(),
            path,
            headers,
            peer: *peer,
        };
        if let Err(refusal) = self.api.authorizer.authorize(&attempt) {
            self.lines.clear();
            self.end(&refusal);
        }
        self.access.checked = Instant::now();
    }

    /// Tells the next part of what there was.
    async fn begin(&mut self) {
        let Some(Initial { after, marked }) = self.initial.take() else { return };
        let namespace = self.target.namespace.clone();
        let selector = Selector { kind: self.target.kind.name.to_owned(), namespace };
        let page = self.api.store().list_at(selector, after, Some(PAGE), self.at).await;
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.fail(error),
        };
        let last = page.records.last().map(|record| record.key.clone());
        for record in page.records {
            if let Some(stored) = self.selected(&record) {
                let (key, revision) = (record.key, record.revision);
                self.tell("ADDED", &key, revision, stored);
            }
        }
        if page.more {
            self.initial = Some(Initial { after: last, marked });
        } else if marked {
            self.bookmark(true);
        }
    }

    /// Waits for what comes next.
    async fn follow(&mut self) {
        let bookmarks = &mut self.bookmarks;
        let tick = async {
            match bookmarks {
                Some(bookmarks) => drop(bookmarks.tick().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            batch = self.changes.next() => match batch {
                Some(Ok(events)) => {
                    for event in events {
                        self.at = event.revision();
                        self.on_event(event);
                    }
                }
                Some(Err(error)) => self.fail(error),
                None => self.done = true,
            },
            () = tick => self.bookmark_if_behind(),
            // Looked at before anything else is told.
            () = sleep_until(self.access.checked + CHECK_EVERY) => {}
            () = sleep_until(self.until) => {
                self.bookmark_if_behind();
                self.done = true;
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        let key = event.key();
        let in_place = self.target.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace);
        if key.kind != self.target.kind.name || !in_place {
            return;
        }
        let revision = event.revision();
        let (now, before) = match event {
            Event::Put { record, before } => (Some(record), before),
            Event::Delete { last, .. } => (None, Some(last)),
        };
        let now = now.and_then(|record| Some((self.selected(&record)?, record.key)));
        let was = before.and_then(|record| Some((self.selected(&record)?, record.key)));
        match (now, was) {
            (Some((stored, key)), None) => self.tell("ADDED", &key, revision, stored),
            (Some((stored, key)), Some(_)) => self.tell("MODIFIED", &key, revision, stored),
            (None, Some((stored, key))) => self.tell("DELETED", &key, revision, stored),
            (None, None) => {}
        }
    }

    /// The object, if it is selected.
    fn selected(&self, record: &Record) -> Option<Stored> {
        let Ok(stored) = Stored::read(record) else {
            tracing::error!(key = %record.key, "a stored object is not JSON");
            return None;
        };
        let selection = Selection { labels: &self.labels, fields: &self.fields };
        selection.selects(record, &stored).then_some(stored)
    }

    fn tell(&mut self, kind: &str, key: &Key, revision: Revision, stored: Stored) {
        let object = self.api.shown(&self.target, key, revision, stored);
        self.told = self.told.max(revision);
        self.push(kind, object);
    }

    fn bookmark_if_behind(&mut self) {
        if self.bookmarks.is_some() && self.told < self.at {
            self.bookmark(false);
        }
    }

    fn bookmark(&mut self, initial_end: bool) {
        let mut object = json!({
            "kind": self.target.kind.name,
            "apiVersion": self.target.asked.to_string(),
            "metadata": { "resourceVersion": self.at.0.to_string(), "creationTimestamp": null },
        });
        if initial_end {
            let mark = json!({ INITIAL_EVENTS_END: "true" });
            metadata_mut(&mut object).insert("annotations".to_owned(), mark);
        }
        self.told = self.at;
        self.push("BOOKMARK", object);
    }

    fn push(&mut self, kind: &str, object: Value) {
        let object = self.form.object(self.target.kind, object);
        self.lines.push_back(format!("{}\n", json!({ "type": kind, "object": object })));
    }

    /// Ends the watch and says why.
    fn fail(&mut self, error: StoreError) {
        self.end(&store_error(self.target.kind, "", error));
    }

    fn end(&mut self, why: &ApiStatus) {
        self.lines.push_back(format!("{}\n", json!({ "type": "ERROR", "object": why })));
        self.done = true;
    }
}
