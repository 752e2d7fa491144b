//! The verbs, the same for every kind.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use keyward_resource::{
    ApiStatus, FieldError, FieldErrorReason, Kind, ObjectKey, admit, present, present_list, status_value,
};
use keyward_store::{Body, Key, Record, Revision, Selector, StoreError};
use serde_json::{Map, Value, json};

use super::Api;
use super::reply::{ApiError, store_error};
use super::request::{self, Preconditions};
use super::target::Target;

/// Answers a request on any path of any kind.
pub(super) async fn dispatch(
    State(api): State<Api>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let answer = match (Target::of_path(uri.path()), body) {
        (Ok(target), Ok(body)) => match request::check_query(uri.query()) {
            Ok(()) => api.answer(&method, &target, &headers, &body).await,
            Err(error) => Err(error),
        },
        (Ok(_), Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(ApiError::from(ApiStatus::too_large(request::MAX_BODY)))
        }
        (Ok(_), Err(_)) => {
            Err(ApiError::from(ApiStatus::bad_request("the body of the request did not arrive whole")))
        }
        (Err(error), _) => Err(error),
    };
    answer.unwrap_or_else(|error| error.into_response())
}

/// The parts of an object that its author decides: what a change of `generation` is about.
fn authored(object: &Value) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.remove("metadata");
    fields.remove("status");
    fields
}

fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().unwrap_or_else(|| unreachable!("made an object just above"))
}

fn not_allowed(methods: &'static str) -> Response {
    let status = ApiError::from(ApiStatus::method_not_allowed());
    ([(ALLOW, HeaderValue::from_static(methods))], status).into_response()
}

fn serialize(object: &Value) -> Body {
    object.to_string().into_bytes().into()
}

// === impl Api ===

impl Api {
    async fn answer(
        &self,
        method: &Method,
        target: &Target,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        match (method, target.namespace.as_deref(), target.name.as_deref()) {
            // The answer to HEAD loses its body on the way out.
            (&Method::GET | &Method::HEAD, namespace, None) => self.list(target, namespace).await,
            (&Method::GET | &Method::HEAD, Some(namespace), Some(name)) => {
                self.get(target, namespace, name).await
            }
            (&Method::POST, Some(namespace), None) => {
                self.create(target, namespace, request::body(headers, body)?).await
            }
            (&Method::PUT, Some(namespace), Some(name)) => {
                self.replace(target, namespace, name, request::body(headers, body)?).await
            }
            (&Method::DELETE, Some(namespace), Some(name)) => {
                let conditions = Preconditions::of_delete(headers, body)?;
                self.delete(target, namespace, name, &conditions).await
            }
            (_, _, Some(_)) => Ok(not_allowed("GET, HEAD, PUT, DELETE")),
            (_, Some(_), None) => Ok(not_allowed("GET, HEAD, POST")),
            (_, None, None) => Ok(not_allowed("GET, HEAD")),
        }
    }

    async fn list(&self, target: &Target, namespace: Option<&str>) -> Result<Response, ApiError> {
        let selector =
            Selector { kind: target.kind.name.to_owned(), namespace: namespace.map(str::to_owned) };
        let page = self
            .store
            .list(selector, None, None)
            .await
            .map_err(|error| store_error(target.kind, "", error))?;
        let items =
            page.records.iter().map(|record| self.shown(target, record)).collect::<Result<Vec<_>, _>>()?;
        Ok(Json(present_list(target.kind, items, page.revision.0, target.asked)).into_response())
    }

    async fn get(&self, target: &Target, namespace: &str, name: &str) -> Result<Response, ApiError> {
        let record = self.stored(target.kind, namespace, name).await?;
        Ok(Json(self.shown(target, &record)?).into_response())
    }

    async fn create(&self, target: &Target, namespace: &str, object: Value) -> Result<Response, ApiError> {
        let kind = target.kind;
        let mut object = self.admitted(kind, namespace, None, object)?;
        let metadata = metadata_mut(&mut object);
        if metadata.remove("resourceVersion").is_some_and(|version| version != "") {
            return Err(ApiError::from(ApiStatus::bad_request(
                "resourceVersion should not be set on objects to be created",
            )));
        }
        metadata.insert("uid".to_owned(), (self.origin.uid)().to_string().into());
        metadata.insert("generation".to_owned(), 1.into());
        let now = (self.origin.now)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        metadata.insert("creationTimestamp".to_owned(), now.into());
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = Key::new(kind.name, namespace, &name);
        let record = self
            .store
            .create(key, serialize(&object))
            .await
            .map_err(|error| store_error(kind, &name, error))?;
        tracing::info!(kind = kind.name, %namespace, %name, "created");
        Ok((StatusCode::CREATED, Json(self.shown(target, &record)?)).into_response())
    }

    async fn replace(
        &self,
        target: &Target,
        namespace: &str,
        name: &str,
        object: Value,
    ) -> Result<Response, ApiError> {
        let kind = target.kind;
        let mut object = self.admitted(kind, namespace, Some(name), object)?;
        let expected = request::expected_revision(&object)?;
        metadata_mut(&mut object).remove("resourceVersion");
        // Without a condition it takes whatever is there. Each further round means that somebody
        // else's write went through in between, so it ends when the others do.
        loop {
            let current = self.stored(kind, namespace, name).await?;
            let replacement = self.replacement(kind, &current, object.clone())?;
            if expected.is_none_or(|expected| expected == current.revision) && replacement == current.body {
                return Ok(Json(self.shown(target, &current)?).into_response());
            }
            let condition = expected.unwrap_or(current.revision);
            match self.store.update(Key::new(kind.name, namespace, name), Some(condition), replacement).await
            {
                Ok(record) => {
                    tracing::info!(kind = kind.name, %namespace, %name, "replaced");
                    return Ok(Json(self.shown(target, &record)?).into_response());
                }
                Err(StoreError::Conflict { .. }) if expected.is_none() => {}
                Err(error) => return Err(store_error(kind, name, error)),
            }
        }
    }

    async fn delete(
        &self,
        target: &Target,
        namespace: &str,
        name: &str,
        conditions: &Preconditions,
    ) -> Result<Response, ApiError> {
        let kind = target.kind;
        let current = self.stored(kind, namespace, name).await?;
        let object = self.object(&current)?;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if !conditions.allow(uid, current.revision) {
            return Err(ApiError::from(ApiStatus::conflict(kind, name)));
        }
        let expected = conditions.are_set().then_some(current.revision);
        self.store
            .delete(Key::new(kind.name, namespace, name), expected)
            .await
            .map_err(|error| store_error(kind, name, error))?;
        tracing::info!(kind = kind.name, %namespace, %name, "deleted");
        Ok(Json(ApiStatus::deleted(kind, name, uid)).into_response())
    }

    /// Validates; answers with every mistake at once.
    fn admitted(
        &self,
        kind: &'static Kind,
        namespace: &str,
        name: Option<&str>,
        object: Value,
    ) -> Result<Value, ApiError> {
        let named =
            object.pointer("/metadata/name").and_then(Value::as_str).or(name).unwrap_or_default().to_owned();
        admit(kind, namespace, name, object)
            .map_err(|errors| ApiError::from(ApiStatus::invalid(kind, &named, &errors)))
    }

    /// The body that replaces a stored one: what the server owns is carried over.
    fn replacement(&self, kind: &Kind, current: &Record, mut object: Value) -> Result<Body, ApiError> {
        let stored = self.object(current)?;
        if stored["type"] != object["type"] {
            let message = "field is immutable: delete the object and create it anew";
            let error = FieldError::new("type", FieldErrorReason::Invalid, message);
            return Err(ApiError::from(ApiStatus::invalid(kind, &current.key.name, &[error])));
        }
        let changed = authored(&stored) != authored(&object);
        let name = &current.key.name;
        let metadata = metadata_mut(&mut object);
        let uid = &stored["metadata"]["uid"];
        if metadata.get("uid").is_some_and(|sent| sent != uid) {
            return Err(ApiError::from(ApiStatus::conflict(kind, name)));
        }
        let generation = stored["metadata"]["generation"].as_i64().unwrap_or(1) + i64::from(changed);
        metadata.insert("uid".to_owned(), uid.clone());
        metadata.insert("generation".to_owned(), generation.into());
        metadata.insert("creationTimestamp".to_owned(), stored["metadata"]["creationTimestamp"].clone());
        Ok(serialize(&object))
    }

    async fn stored(&self, kind: &Kind, namespace: &str, name: &str) -> Result<Record, ApiError> {
        self.store
            .get(Key::new(kind.name, namespace, name))
            .await
            .map_err(|error| store_error(kind, name, error))?
            .ok_or_else(|| ApiError::from(ApiStatus::not_found(kind, name)))
    }

    /// A stored object as its caller sees it: with its version and its status, in the group asked.
    fn shown(&self, target: &Target, record: &Record) -> Result<Value, ApiError> {
        let kind = target.kind;
        let mut object = self.object(record)?;
        let Revision(version) = record.revision;
        metadata_mut(&mut object).insert("resourceVersion".to_owned(), version.to_string().into());
        let key = ObjectKey::new(kind.name, &record.key.namespace, &record.key.name);
        let published = self.published.borrow().clone();
        object["status"] =
            status_value(&self.system_namespace, published.report(&key, record.revision).as_ref());
        Ok(present(kind, object, target.asked))
    }

    fn object(&self, record: &Record) -> Result<Value, ApiError> {
        serde_json::from_slice(&record.body).map_err(|error| {
            tracing::error!(key = %record.key, "a stored object is not JSON: {error}");
            ApiError::from(ApiStatus::internal(
                "a stored object cannot be read; the log of the control server says which",
            ))
        })
    }
}
