//! Admission: what somebody sends becomes the form in which it is stored, or a list of mistakes.

use keyward_resource::{ApiStatus, admit as admit_object, schema};
use keyward_store::Revision;
use serde_json::{Value, json};

use crate::fields::Managers;
use crate::stored::{metadata_mut, metadata_str};
use crate::target::{NAME_LABEL, NAMESPACE, Target};
use crate::writer::FieldValidation;

/// An object that may be stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Admitted {
    /// In the form in which it is stored, without what the server adds.
    pub(crate) object: Value,
    /// The version that it was made from, if it says so.
    pub(crate) expected: Option<Revision>,
    /// The object that it was made from, if it says so.
    pub(crate) uid: Option<String>,
    /// What it says of its managers.
    pub(crate) managers: Sent,
    /// What the sender should know.
    pub(crate) warnings: Vec<String>,
}

/// The managers as somebody sends them back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    /// Nothing that could be read: those that are known stay.
    Nothing,
    /// They are to be forgotten.
    Reset,
    /// These.
    These(Managers),
}

/// Admits an object sent to `target`, which may have another name to be than the path says.
pub(crate) fn admit(
    target: &Target,
    name: Option<&str>,
    object: Value,
    validation: FieldValidation,
) -> Result<Admitted, ApiStatus> {
    let mut object = object;
    let managers = sent_managers(&object);
    let warnings = prune(target, &mut object, validation);
    let called = match metadata_str(&object, "name") {
        "" => name.unwrap_or_default().to_owned(),
        called => called.to_owned(),
    };
    let mut object = admit_object(target.kind, target.place(), name, object)
        .map_err(|errors| ApiStatus::invalid(target.kind, &called, &errors))?;
    let metadata = metadata_mut(&mut object);
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    let version = text(metadata.remove("resourceVersion"));
    let uid = text(metadata.remove("uid"));
    if target.kind.name == NAMESPACE {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        // Selectors of namespaces count on it, as in Kubernetes.
        labels[NAME_LABEL] = called.as_str().into();
    }
    // The reader has seen that it is a number. Zero is what Go programs say for none.
    let expected = version.and_then(|version| version.parse().ok()).filter(|version| *version > 0);
    Ok(Admitted { object, expected: expected.map(Revision), uid, managers, warnings })
}

/// Removes the fields that nobody knows, unless they are to be refused; tells which, if that is
/// wanted.
pub(crate) fn prune(target: &Target, object: &mut Value, validation: FieldValidation) -> Vec<String> {
    if validation == FieldValidation::Strict {
        return Vec::new();
    }
    let unknown = schema::prune(target.kind.fields, object);
    if validation == FieldValidation::Ignore {
        return Vec::new();
    }
    let warning = |field: &schema::Unknown| match field.nearest {
        Some(nearest) => format!("unknown field {:?}, did you mean {nearest:?}?", field.path),
        None => format!("unknown field {:?}", field.path),
    };
    unknown.iter().map(warning).collect()
}

fn sent_managers(object: &Value) -> Sent {
    match object.pointer("/metadata/managedFields") {
        None | Some(Value::Null) => Sent::Nothing,
        // The way of Kubernetes to forget them.
        Some(sent) if *sent == json!([{}]) => Sent::Reset,
        Some(sent) => match Managers::decode(sent) {
            Some(managers) if !managers.is_empty() => Sent::These(managers),
            _ => Sent::Nothing,
        },
    }
}
