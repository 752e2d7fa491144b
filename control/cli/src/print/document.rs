//! Objects as YAML and JSON. Nobody sees here what a Secret holds.

use anyhow::Context as _;
use keyward_admin::redact;
use keyward_resource::Kind;
use serde_json::{Value, json};

use crate::output::yaml;

/// How documents are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON list of objects.
    Json,
    /// As the original has it: the fields of `spec` beside the metadata, for the kinds that it shows so.
    Yaml,
    /// Objects as they are applied.
    KubeYaml,
}

/// Kinds that are shown whole in every form.
const WHOLE: &[&str] = &["AuthConfig", "Namespace", "RateLimitConfig", "Secret"];
/// The field of the status.
const STATUS: &str = "status";

/// Objects of one kind.
pub(crate) fn documents(kind: &Kind, objects: Vec<Value>, form: Form) -> anyhow::Result<String> {
    let objects: Vec<Value> = objects.into_iter().map(|object| hidden(tidy(object))).collect();
    if form == Form::Json {
        let all: Result<Vec<_>, _> = objects.iter().map(serde_json::to_string_pretty).collect();
        let all = all.context("the output cannot be written as JSON")?;
        return Ok(if all.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", all.join("\n,\n")) });
    }
    let flat = form == Form::Yaml && !WHOLE.contains(&kind.name);
    let mut documents = Vec::new();
    let has_status = kind.fields.fields.iter().any(|field| field.name == STATUS);
    for object in objects {
        let mut object = if flat { flattened(object) } else { object };
        if let Some(fields) = object.as_object_mut().filter(|_| has_status) {
            fields.entry(STATUS).or_insert_with(|| json!({}));
        }
        documents.push(yaml(&object)?);
    }
    Ok(match form {
        Form::Yaml => {
            documents.iter().map(|document| format!("---\n{document}")).collect::<Vec<_>>().join("\n")
        }
        _ => documents.join("\n---\n"),
    })
}

/// The object without the notes of field managers, which are for programs.
fn tidy(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// The object without what a Secret holds.
fn hidden(mut object: Value) -> Value {
    redact::object(&mut object);
    object
}

fn flattened(object: Value) -> Value {
    let Value::Object(mut fields) = object else { return object };
    fields.remove("apiVersion");
    fields.remove("kind");
    if let Some(Value::Object(spec)) = fields.remove("spec") {
        for (name, value) in spec {
            fields.entry(name).or_insert(value);
        }
    }
    fields.into()
}
