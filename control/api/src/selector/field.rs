//! Field selectors: `metadata.name=a,metadata.namespace!=b`, and `type` of Secrets.

use keyward_resource::kinds::secret::canonical_type;
use keyward_resource::{ApiStatus, Kind};
use keyward_store::Key;
use serde_json::Value;

/// Which values fields must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    field: Field,
    equal: bool,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// Of a Secret.
    Type,
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let (field, equal, value) = if let Some((field, value)) = text.split_once("!=") {
        (field, false, value)
    } else if let Some((field, value)) = text.split_once("==") {
        (field, true, value)
    } else if let Some((field, value)) = text.split_once('=') {
        (field, true, value)
    } else {
        return Err(format!("{text:?} has none of =, == and !="));
    };
    let field = match field.trim() {
        "metadata.name" => Field::Name,
        "metadata.namespace" => Field::Namespace,
        "type" => Field::Type,
        other => return Err(format!("field label not supported: {other}")),
    };
    Ok(Requirement { field, equal, value: value.trim().to_owned() })
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Reads a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiStatus> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let requirements: Result<Vec<_>, String> = parts.map(requirement).collect();
        requirements
            .map(|requirements| Self { requirements })
            .map_err(|why| ApiStatus::bad_request(format!("fieldSelector: {why}")))
    }

    /// The object of this name and nothing else.
    pub(crate) fn name(name: &str) -> Self {
        let requirement = Requirement { field: Field::Name, equal: true, value: name.to_owned() };
        Self { requirements: vec![requirement] }
    }

    /// Refuses fields that objects of a kind do not have.
    pub(crate) fn check(&self, kind: &Kind) -> Result<(), ApiStatus> {
        if kind.name != "Secret" && self.requirements.iter().any(|one| one.field == Field::Type) {
            return Err(ApiStatus::bad_request("fieldSelector: field label not supported: type"));
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The only name that can be selected, if there is but one.
    pub(crate) fn only_name(&self) -> Option<&str> {
        let exact = |one: &&Requirement| one.field == Field::Name && one.equal;
        self.requirements.iter().find(exact).map(|one| one.value.as_str())
    }

    /// The only namespace that can be selected, if there is but one.
    pub(crate) fn only_namespace(&self) -> Option<&str> {
        let exact = |one: &&Requirement| one.field == Field::Namespace && one.equal;
        self.requirements.iter().find(exact).map(|one| one.value.as_str())
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, key: &Key, object: &Value) -> bool {
        self.requirements.iter().all(|requirement| {
            let wanted = requirement.value.as_str();
            let is_so = match requirement.field {
                Field::Name => key.name == wanted,
                Field::Namespace => key.namespace == wanted,
                Field::Type => {
                    let found = object.get("type").and_then(Value::as_str).unwrap_or_default();
                    canonical_type(found) == canonical_type(wanted)
                }
            };
            is_so == requirement.equal
        })
    }
}
