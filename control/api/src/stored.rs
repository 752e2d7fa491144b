//! What the store holds of an object.

use keyward_resource::{GroupVersion, Kind, present};
use keyward_store::{Body, Record, Revision};
use serde_json::{Map, Value, json};

use crate::tenure::Tenure;
use crate::writer::Current;

/// An object as it is stored: what people wrote, its status beside it, and which of its changes was
/// the last one that was more than a status.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The object in canonical words, without status and resource version.
    pub object: Value,
    /// Its status, if one was written. Secrets never have one.
    pub status: Option<Value>,
    /// The last change of the object itself; none when that is the change that wrote this.
    content: Option<Revision>,
    /// Since when its keys are there; none when they are since it was created.
    tenure: Option<Tenure>,
}

/// What is stored is not the JSON of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Where the last change of the object itself stands. No kind has a field of this name.
const CONTENT: &str = "contentRevision";
const STATUS: &str = "status";
/// Where it stands since when a Secret has its keys. Secrets have no field of this name either.
const KEYS_SINCE: &str = "keysSince";

/// The metadata of an object, to be changed.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().unwrap_or_else(|| unreachable!("made an object just above"))
}

/// A field of the metadata that is a string.
pub(crate) fn metadata_str<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
}

// === impl Stored ===

impl Stored {
    /// A new state of an object, to be written.
    pub(crate) fn new(object: Value, status: Option<Value>) -> Self {
        Self { object, status, content: None, tenure: None }
    }

    /// The state of an object that follows this one, to be written.
    pub(crate) fn following(current: &Current, object: Value) -> Self {
        let tenure = Tenure::next(current, &object);
        Self { tenure, ..Self::new(object, current.stored.status.clone()) }
    }

    /// Reads what the store holds.
    ///
    /// # Errors
    ///
    /// When it is not the JSON of an object.
    pub fn read(record: &Record) -> Result<Self, Unreadable> {
        let mut object: Value = serde_json::from_slice(&record.body).map_err(|_| Unreadable)?;
        let fields = object.as_object_mut().ok_or(Unreadable)?;
        let status = fields.remove(STATUS);
        let content = fields.remove(CONTENT).and_then(|revision| revision.as_u64()).map(Revision);
        let tenure = fields.remove(KEYS_SINCE).as_ref().and_then(Tenure::read);
        Ok(Self { object, status, content, tenure })
    }

    /// The changes that brought the present key of a Secret into it, and the one before that.
    #[must_use]
    pub fn keys_since(&self, record: &Record) -> (Revision, Revision) {
        match self.tenure {
            None => (record.created, record.created),
            Some(Tenure { present, previous }) => {
                let this = self.content_revision(record);
                (present.unwrap_or(this), previous.unwrap_or(this))
            }
        }
    }

    /// The last change that was more than a status.
    #[must_use]
    pub fn content_revision(&self, record: &Record) -> Revision {
        self.content.unwrap_or(record.revision)
    }

    /// The same object with another status.
    pub(crate) fn with_status(mut self, status: Value, record: &Record) -> Self {
        self.content = Some(self.content_revision(record));
        self.status = Some(status);
        self
    }

    /// The bytes to store.
    pub(crate) fn body(&self) -> Body {
        let mut object = self.object.clone();
        if let Value::Object(fields) = &mut object {
            if let Some(status) = &self.status {
                fields.insert(STATUS.to_owned(), status.clone());
            }
            if let Some(Revision(content)) = self.content {
                fields.insert(CONTENT.to_owned(), content.into());
            }
            if let Some(tenure) = self.tenure {
                fields.insert(KEYS_SINCE.to_owned(), tenure.stored());
            }
        }
        object.to_string().into_bytes().into()
    }

    /// The object as its caller sees it, in the group asked for.
    pub(crate) fn shown(
        self,
        kind: &Kind,
        asked: GroupVersion,
        status: Option<Value>,
        revision: Option<Revision>,
    ) -> Value {
        let mut object = self.object;
        if let Some(Revision(revision)) = revision {
            metadata_mut(&mut object).insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        if let Some(status) = status {
            object[STATUS] = status;
        }
        present(kind, object, asked)
    }

    pub(crate) fn uid(&self) -> &str {
        metadata_str(&self.object, "uid")
    }

    /// Whether somebody asked for its deletion.
    pub(crate) fn is_terminating(&self) -> bool {
        !metadata_str(&self.object, "deletionTimestamp").is_empty()
    }

    pub(crate) fn finalizers(&self) -> &[Value] {
        let finalizers = self.object.pointer("/metadata/finalizers").and_then(Value::as_array);
        finalizers.map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
