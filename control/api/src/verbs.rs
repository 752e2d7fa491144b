//! The verbs that write, from a request to the writer and back.

use axum::http::StatusCode;
use keyward_resource::{ApiStatus, kind};
use serde_json::{Value, json};

use crate::access::{Attempt, Verb};
use crate::api::Api;
use crate::dispatch::{Answer, Call};
use crate::reply::{store_error, success};
use crate::request::{self, DeleteOptions, PatchType};
use crate::selector::Selection;
use crate::target::{NAMESPACE, Target};
use crate::writer::{Current, Effect, Patch, Preconditions, WriteOptions, Written};
use keyward_store::Selector;

/// The kind that only some may delete.
const SECRET: &str = "Secret";
/// Stands before the reason of a refusal.
const FORBIDDEN: &str = " is forbidden: ";
/// How many objects of a collection are read at once to be deleted.
const PAGE: usize = 500;

// === impl Call ===

impl Call<'_> {
    /// How the request wants to be written.
    fn options(&self) -> WriteOptions {
        WriteOptions {
            identity: self.identity.clone(),
            manager: request::manager(self.query.field_manager.as_deref(), self.headers),
            dry_run: self.query.dry_run,
            field_validation: self.query.field_validation,
        }
    }
}

// === impl Api ===

impl Api {
    pub(crate) async fn create(&self, call: &Call<'_>) -> Answer {
        let object = request::body(call.headers, call.body)?;
        let written = self.writer.create(&call.target, object, &call.options()).await?;
        self.answer(call, written).await
    }

    pub(crate) async fn update(&self, call: &Call<'_>) -> Answer {
        let object = request::body(call.headers, call.body)?;
        let options = call.options();
        let written = self.writer.update(&call.target, object, &options).await?;
        self.answer(call, written).await
    }

    pub(crate) async fn patch(&self, call: &Call<'_>) -> Answer {
        let (patch_type, body) = request::patch(call.headers, call.body)?;
        let (target, mut options) = (&call.target, call.options());
        let patch = match patch_type {
            PatchType::Json => Patch::Json(body),
            PatchType::Merge => Patch::Merge(body),
            PatchType::Strategic => Patch::Strategic(body),
            PatchType::Apply => {
                // Whoever applies says who they are: it decides what is removed.
                options.manager = call.query.field_manager.clone().unwrap_or_default();
                let force = call.query.force;
                let written = self.writer.apply(target, body, force, &options).await?;
                return self.answer(call, written).await;
            }
        };
        if call.query.force {
            return Err(ApiStatus::bad_request("force: Forbidden: may not be specified for non-apply patch"));
        }
        let written = self.writer.patch(target, &patch, &options).await?;
        self.answer(call, written).await
    }

    pub(crate) async fn delete(&self, call: &Call<'_>) -> Answer {
        let DeleteOptions { preconditions, dry_run } = DeleteOptions::read(call.headers, call.body)?;
        let mut options = call.options();
        options.dry_run |= dry_run;
        let target = &call.target;
        self.check_contents(call, target.name.as_deref().unwrap_or_default()).await?;
        let written = self.writer.delete(target, &preconditions, &options).await?;
        if written.effect == Effect::Deleted {
            let name = &written.key.name;
            let status = ApiStatus::deleted(target.kind, name, written.stored.uid());
            let status = status.as_asked(target.kind, target.asked);
            let status = serde_json::to_value(status).unwrap_or_else(|_| json!({}));
            let revision = written.last().filter(|_| !options.dry_run);
            return call
                .confirmed(self.confirm.as_deref(), revision, success(StatusCode::OK, &status, &[]))
                .await;
        }
        self.answer(call, written).await
    }

    /// Deletes what is selected in one place; answers with what it was.
    pub(crate) async fn delete_collection(&self, call: &Call<'_>) -> Answer {
        let DeleteOptions { preconditions, dry_run } = DeleteOptions::read(call.headers, call.body)?;
        if preconditions != Preconditions::default() {
            return Err(ApiStatus::bad_request("preconditions: Forbidden: they are for one object"));
        }
        let mut options = call.options();
        options.dry_run |= dry_run;
        let (target, query) = (&call.target, &call.query);
        query.field_selector.check(target.kind)?;
        let selection = Selection { labels: &query.label_selector, fields: &query.field_selector };
        let place = Selector { kind: target.kind.name.to_owned(), namespace: target.namespace.clone() };
        let (mut items, mut after, mut revision) = (Vec::new(), None, None);
        let mut last = None;
        loop {
            let page = self.store().list(place.clone(), after.take(), Some(PAGE)).await;
            let page = page.map_err(|error| store_error(target.kind, "", error))?;
            revision.get_or_insert(page.revision);
            for record in page.records {
                let Current { record, stored } = Current::read(record)?;
                after = Some(record.key.clone());
                if !selection.selects(&record, &stored) {
                    continue;
                }
                self.check_contents(call, &record.key.name).await?;
                let one = Target { name: Some(record.key.name.clone()), ..target.clone() };
                // The one that was looked at, and not one that has come under its name since.
                let uid = Some(stored.uid().to_owned());
                let this = Preconditions { uid, revision: None };
                match self.writer.delete_as(&one, &this, &options, Verb::DeleteCollection).await {
                    Ok(written) => {
                        last = last.max(written.last());
                        items.push(self.outcome(&one, written));
                    }
                    Err(gone) if matches!(gone.code, 404 | 409) => {}
                    Err(failure) => return Err(failure),
                }
            }
            if !page.more {
                break;
            }
        }
        let revision = revision.unwrap_or_default().0;
        let list = keyward_resource::present_list(target.kind, items, revision, target.asked);
        let answer = success(StatusCode::OK, &call.form.list(target.kind, list), &[]);
        call.confirmed(self.confirm.as_deref(), last.filter(|_| !options.dry_run), answer).await
    }

    /// What is in a namespace goes with it: whoever may not delete Secrets may not do so by deleting
    /// their namespace.
    async fn check_contents(&self, call: &Call<'_>, name: &str) -> Result<(), ApiStatus> {
        let Some(secrets) = kind::by_name(SECRET).filter(|_| call.target.kind.name == NAMESPACE) else {
            return Ok(());
        };
        let page = self.store().list(Selector::namespaced(SECRET, name), None, Some(1)).await;
        if page.map_err(|error| store_error(secrets, "", error))?.records.is_empty() {
            return Ok(());
        }
        let attempt = Attempt {
            verb: Verb::DeleteCollection,
            kind: Some(secrets),
            namespace: Some(name),
            name: None,
            path: call.path,
            headers: call.headers,
            peer: call.identity.peer,
        };
        self.authorizer.authorize(&attempt).map(drop).map_err(|refusal| match refusal.code {
            403 => {
                let why = refusal.message.split_once(FORBIDDEN).map_or(&*refusal.message, |(_, why)| why);
                let why = format!("it holds Secrets, which would go with it: {why}");
                ApiStatus::forbidden_object(call.target.kind, name, &why, None)
            }
            _ => refusal,
        })
    }

    async fn answer(&self, call: &Call<'_>, written: Written) -> Answer {
        let code = match written.effect {
            Effect::Created => StatusCode::CREATED,
            Effect::Changed | Effect::Unchanged | Effect::Deleted => StatusCode::OK,
        };
        let warnings = written.warnings.clone();
        let revision = written.last().filter(|_| !call.query.dry_run);
        let object: Value = self.outcome(&call.target, written);
        let answer = success(code, &call.form.object(call.target.kind, object), &warnings);
        call.confirmed(self.confirm.as_deref(), revision, answer).await
    }
}
