//! The marks by which objects of the folder are known again.
//!
//! They are annotations that the folder owns as a field manager. A copy of an object that somebody
//! makes with the same annotations has another owner for them, and is no object of the folder.

use keyward_api::Stored;
use serde_json::{Map, Value, json};

/// The field manager of everything that comes from the folder.
pub const MANAGER: &str = "keyward-folder";

/// The file that an object comes from.
const FILE: &str = "folder.keyward.io/file";
/// Whether the folder has made the object.
const ORIGIN: &str = "folder.keyward.io/origin";
const PREFIX: &str = "folder.keyward.io/";

/// How an object came to be one of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The folder made it, and deletes it.
    Created,
    /// It was there. The folder never deletes it.
    Adopted,
}

/// What an object says of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) file: String,
    pub(crate) origin: Origin,
}

fn is_ours(entry: &Value) -> bool {
    let is = |key: &str, text: &str| entry.get(key).and_then(Value::as_str) == Some(text);
    is("manager", MANAGER) && is("operation", "Apply")
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}

/// Removes the marks from an object; a file may be the copy of what the server showed.
pub(crate) fn strip(object: &mut Value) {
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.retain(|key, _| !key.starts_with(PREFIX));
    if annotations.is_empty()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("annotations");
    }
}

/// The object without anything of the folder, to be written over the one that is stored.
pub(crate) fn released(stored: &Stored) -> Value {
    let mut object = stored.object.clone();
    strip(&mut object);
    if let Some(Value::Array(entries)) = object.pointer_mut("/metadata/managedFields") {
        entries.retain(|entry| !is_ours(entry));
        if entries.is_empty() {
            // An empty list would mean that nothing is said of them.
            entries.push(json!({}));
        }
    }
    object
}

// === impl Origin ===

impl Origin {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Adopted => "adopted",
        }
    }
}

// === impl Mark ===

impl Mark {
    /// Whether what is stored could have a mark: a quick look, as there may be very many objects.
    pub(crate) fn may_be_in(body: &[u8]) -> bool {
        str::from_utf8(body).is_ok_and(|text| text.contains(FILE))
    }

    /// Reads the mark of a stored object.
    pub(crate) fn read(stored: &Stored) -> Option<Self> {
        let annotation = |key: &str| {
            let annotations = stored.object.pointer("/metadata/annotations")?;
            Some(annotations.get(key)?.as_str()?.to_owned())
        };
        let entries = stored.object.pointer("/metadata/managedFields")?.as_array()?;
        let ours = entries.iter().find(|entry| is_ours(entry))?;
        let owned = ours.pointer("/fieldsV1/f:metadata/f:annotations")?;
        let owns = |key: &str| owned.get(format!("f:{key}")).is_some();
        let file = annotation(FILE).filter(|_| owns(FILE))?;
        let created = owns(ORIGIN) && annotation(ORIGIN).as_deref() == Some(Origin::Created.as_str());
        Some(Self { file, origin: if created { Origin::Created } else { Origin::Adopted } })
    }

    /// The object with this mark.
    pub(crate) fn put_on(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][FILE] = self.file.as_str().into();
        object["metadata"]["annotations"][ORIGIN] = self.origin.as_str().into();
        object
    }
}
