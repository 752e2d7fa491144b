//! All objects on a server, as documents of YAML.

use keyward_admin::redact;
use keyward_resource::{KINDS, Kind};
use serde_json::{Value, json};

use super::scrub;
use crate::client::query;
use crate::output::yaml;
use crate::remote::Remote;

#[cfg(test)]
mod tests;

/// Objects in a page of a list.
const PAGE: &str = "500";
/// What the server writes beside an object, and nobody applies.
const BY_SERVER: [&str; 6] =
    ["creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid"];
/// What is shown, and not to be applied.
const HEADING: &str =
    "# Not to be applied: something of these is redacted, or the control server writes them itself.";

/// All objects of a namespace, or of all, as YAML.
pub(super) async fn all(remote: &Remote, namespace: Option<&str>) -> anyhow::Result<String> {
    let mut documents = Vec::new();
    let mut shown = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.is_namespaced() || namespace.is_none()) {
        let path = collection(kind, namespace);
        let mut next = String::new();
        loop {
            let mut pairs = vec![("limit", PAGE)];
            if !next.is_empty() {
                pairs.push(("continue", &next));
            }
            let list = remote.client.get(&query(&path, &pairs)).await?.body;
            for object in list["items"].as_array().into_iter().flatten() {
                let (document, is_whole) = document(kind, object.clone())?;
                let to_apply = is_whole && !kind.is_written_by_server();
                if to_apply { documents.push(document) } else { shown.push(commented(&document)) }
            }
            match list["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => next = token.to_owned(),
                _ => break,
            }
        }
    }
    Ok(joined(&documents, &shown))
}

fn collection(kind: &Kind, namespace: Option<&str>) -> String {
    let root = match kind.group_version.group {
        "" => format!("/api/{}", kind.group_version.version),
        group => format!("/apis/{group}/{}", kind.group_version.version),
    };
    match namespace {
        // A namespace is a label: nothing in it has to be encoded. Anything else is not found.
        Some(namespace) => {
            let safe: String = namespace.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            format!("{root}/namespaces/{safe}/{}", kind.plural)
        }
        None => format!("{root}/{}", kind.plural),
    }
}

/// An object as it is applied: without what the server made of it; and whether nothing in it is redacted.
fn document(kind: &Kind, mut object: Value) -> anyhow::Result<(String, bool)> {
    let version = match kind.group_version.group {
        "" => kind.group_version.version.to_owned(),
        group => format!("{group}/{}", kind.group_version.version),
    };
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind.name);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| !BY_SERVER.contains(&name.as_str()));
    }
    let is_redacted = redact::all(&mut object);
    let text = yaml(&object)?;
    let shown = scrub::text(&text);
    Ok((shown.clone(), !is_redacted && shown == text))
}

fn commented(document: &str) -> String {
    document.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

fn joined(documents: &[String], shown: &[String]) -> String {
    let mut text: String = documents.iter().map(|document| format!("---\n{document}\n")).collect();
    if !shown.is_empty() {
        text.push_str(HEADING);
        text.push('\n');
        text.extend(shown.iter().map(|document| format!("# ---\n{document}")));
    }
    text
}
