//! What must not be seen is taken out of what is shown.

use serde_json::Value;

/// Stands for what is not shown.
pub const REDACTED: &str = "[redacted]";
/// The annotation in which kubectl keeps a whole object, contents of Secrets included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Lists of headers that are added, as resources and as Envoy's own dumps spell them. A value may be a credential.
const ADDED: [&str; 4] =
    ["requestHeadersToAdd", "responseHeadersToAdd", "request_headers_to_add", "response_headers_to_add"];

/// Takes out of an object, or of anything else in JSON, what those must not see who look at an installation to find
/// out what is wrong: contents of Secrets, values of headers that are added, and credentials in URIs. Names stay.
/// Says whether there was anything.
pub fn all(value: &mut Value) -> bool {
    let is_secret = value["kind"].as_str() == Some("Secret");
    object(value);
    values(value) || is_secret
}

/// Takes values of headers that are added, and credentials in URIs, out of JSON at any depth. Says whether there
/// was anything.
fn values(value: &mut Value) -> bool {
    match value {
        Value::String(text) => without_credentials(text).map(|clean| *text = clean).is_some(),
        Value::Array(items) => items.iter_mut().fold(false, |any, item| values(item) | any),
        Value::Object(fields) => fields.iter_mut().fold(false, |any, (name, field)| {
            let done = match name.as_str() {
                LAST_APPLIED => applied(field),
                name if ADDED.contains(&name) => added(field) | values(field),
                _ => values(field),
            };
            done || any
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Hides the values of a list of headers.
fn added(list: &mut Value) -> bool {
    let headers = list.as_array_mut().into_iter().flatten().filter_map(|item| item.get_mut("header"));
    let values = headers.filter_map(Value::as_object_mut).flatten().filter(|(name, _)| *name != "key");
    values.fold(false, |_, (_, value)| {
        hide(value);
        true
    })
}

/// The same inside of the text of a whole object.
fn applied(text: &mut Value) -> bool {
    match text.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(mut object)) => {
            let any = all(&mut object);
            if any {
                *text = object.to_string().into();
            }
            any
        }
        // Nobody knows what is in it.
        _ if text.as_str() != Some(REDACTED) => {
            hide(text);
            true
        }
        _ => false,
    }
}

/// A text whose URIs name nobody: `https://[redacted]@host`. None where they do not anyway.
fn without_credentials(text: &str) -> Option<String> {
    const BEGINS: &str = "://";
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGINS) {
        let (before, authority) = rest.split_at(at + BEGINS.len());
        clean.push_str(before);
        let ends =
            |char: char| matches!(char, '/' | '?' | '#' | '"' | '\'' | '<' | '>') || char.is_whitespace();
        let (authority, behind) = authority.split_at(authority.find(ends).unwrap_or(authority.len()));
        match authority.rsplit_once('@') {
            Some((user, host)) if user != REDACTED => clean.extend([REDACTED, "@", host]),
            _ => clean.push_str(authority),
        }
        rest = behind;
    }
    clean.push_str(rest);
    (clean != text).then_some(clean)
}

/// Takes the contents out of a Secret; any other object stays as it is.
pub fn object(object: &mut Value) {
    if object["kind"].as_str() != Some("Secret") {
        return;
    }
    for field in ["data", "stringData"] {
        match object.get_mut(field) {
            Some(Value::Object(entries)) => entries.values_mut().for_each(hide),
            Some(other) => hide(other),
            None => {}
        }
    }
    if let Some(applied) = object.pointer_mut("/metadata/annotations").and_then(|it| it.get_mut(LAST_APPLIED))
    {
        hide(applied);
    }
}

fn hide(value: &mut Value) {
    *value = REDACTED.into();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_left_of_the_contents_of_a_secret() {
        let mut secret = json!({
            "kind": "Secret",
            "metadata": { "name": "a", "annotations": { LAST_APPLIED: "s3cret", "note": "kept" } },
            "data": { "api-key": "s3cret", "deep": { "er": "s3cret" } },
            "stringData": "s3cret",
        });
        object(&mut secret);
        let text = secret.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(secret["data"]["api-key"], REDACTED);
        assert_eq!(secret["metadata"]["annotations"]["note"], "kept");
    }

    #[test]
    fn values_of_added_headers_and_credentials_in_uris_are_taken_out_wherever_they_stand() {
        let added = |name: &str| json!({ name: [{ "header": { "key": "x-name", "value": "s3cret" }, "append": true }] });
        let mut shown = json!({
            "kind": "VirtualService",
            "metadata": { "annotations": { LAST_APPLIED: added("requestHeadersToAdd").to_string(), "note": "kept" } },
            "spec": { "deep": [added("requestHeadersToAdd"), { "er": added("responseHeadersToAdd") }] },
            "dump": { "a": added("request_headers_to_add"), "b": added("response_headers_to_add"),
                      "raw": { "requestHeadersToAdd": [{ "header": { "key": "x-name", "rawValue": "s3cret" } }] } },
            "url": "see https://ann:s3cret@host.test:80/a@b and ftp://s3cret@other?x=@",
        });
        assert!(all(&mut shown));
        let text = shown.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(text.matches("x-name").count(), 6, "{text}");
        assert_eq!(shown["url"], "see https://[redacted]@host.test:80/a@b and ftp://[redacted]@other?x=@");
        assert_eq!(shown["spec"]["deep"][0]["requestHeadersToAdd"][0]["append"], true);
        let once = shown.clone();
        all(&mut shown);
        assert_eq!(shown, once);

        let plain = json!({
            "kind": "VirtualService", "url": "https://host.test/a@b", "spec": { "requestHeadersToRemove": ["x"] },
        });
        let mut shown = plain.clone();
        assert!(!all(&mut shown) && shown == plain);
        let mut secret = json!({ "kind": "Secret", "data": { "a": "s3cret" } });
        assert!(all(&mut secret) && !secret.to_string().contains("s3cret"));
        let mut unclear = json!({ LAST_APPLIED: "{ s3cret" });
        assert!(all(&mut unclear) && !unclear.to_string().contains("s3cret"));
    }

    #[test]
    fn other_objects_are_left_alone() {
        let upstream = json!({ "kind": "Upstream", "data": { "a": "b" } });
        let mut shown = upstream.clone();
        object(&mut shown);
        assert_eq!(shown, upstream);
    }
}
