//! All objects on a server, as documents of YAML.

use anyhow::bail;
use keyward_admin::redact;
use keyward_resource::{KINDS, Kind};
use serde_json::{Value, json};

use super::scrub;
use crate::client::Collection;
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
    let fits = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if let Some(namespace) = namespace.filter(|name| !fits(name)) {
        bail!(
            "{namespace:?} is no name of a namespace\nhint: `keyward get namespaces` shows those that there are"
        );
    }
    let mut documents = Vec::new();
    let mut shown = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.is_namespaced() || namespace.is_none()) {
        let collection = Collection::of(kind, namespace);
        let mut next = String::new();
        loop {
            let mut pairs = vec![("limit", PAGE)];
            if !next.is_empty() {
                pairs.push(("continue", &next));
            }
            let list = remote.client.get(&collection.query(&pairs)).await?.body;
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
