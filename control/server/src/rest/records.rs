//! `POST /keyward/v1/explain/records`: what the key tables of a role say of some keys, asked by their digests.
//! The keys themselves are never sent.
//!
//! `{"role": "<namespace>~<proxy>", "tables": {"<table>": ["<digest>"]}}` is answered with the records as the
//! workers of that role should hold them; a table that they should not hold is left out. Records have metadata
//! in them, so the answer is for who may read all Secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use keyward_api::{Attempt, Authorizer, Verb};
use keyward_filter_core::wire::{DIGEST_LEN, Digest};
use keyward_keys::KeyView;
use keyward_resource::{ApiStatus, kind};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::sync::failure;

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/explain/records";

/// What is published of keys.
pub(crate) type Keys = watch::Receiver<KeyView>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    role: String,
    tables: BTreeMap<String, BTreeSet<String>>,
}

/// The answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    revision: String,
    /// By table and digest; a key that is not in a table is left out.
    tables: BTreeMap<String, BTreeMap<String, String>>,
}

/// Answers.
pub(super) async fn records(
    State(keys): State<Keys>,
    Extension(authorizer): Extension<Arc<dyn Authorizer>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let attempt = Attempt {
        verb: Verb::Get,
        kind: kind::by_name("Secret"),
        namespace: None,
        name: None,
        path: PATH,
        headers: &headers,
        peer: peer.map(|Extension(ConnectInfo(peer))| peer),
    };
    // Who may not ask is told nothing of how to.
    let answer = authorizer.authorize(&attempt).and_then(|_| answer(&keys.borrow(), &body));
    answer.map_or_else(failure, |answer| Json(answer).into_response())
}

fn answer(view: &KeyView, body: &[u8]) -> Result<Answer, ApiStatus> {
    // What was sent may be a key, so it is not repeated.
    let malformed = || {
        ApiStatus::bad_request(
            "the body must be {\"role\": \"...\", \"tables\": {\"...\": [\"...\"]}} with digests of 32 hexadecimal \
             digits: the first half of the SHA-256 of a key",
        )
    };
    let Question { role, tables } = serde_json::from_slice(body).map_err(|_| malformed())?;
    let wanted = view.wanted(&role);
    let mut answer = BTreeMap::new();
    for (name, digests) in tables {
        let digests = digests.into_iter().map(|digits| Some((digest(&digits)?, digits)));
        let digests: Vec<(Digest, String)> = digests.collect::<Option<_>>().ok_or_else(malformed)?;
        let is_wanted = wanted.is_some_and(|wanted| wanted.contains(&name));
        let Some(table) = view.table(&name).filter(|_| is_wanted) else { continue };
        let records =
            digests.into_iter().filter_map(|(digest, digits)| Some((digits, hex(table.get(&digest)?))));
        answer.insert(name, records.collect());
    }
    let revision = view.revision().to_string();
    Ok(Answer { kind: "KeyRecords", api_version: "keyward.io/v1", revision, tables: answer })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(digits: &str) -> Option<Digest> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != DIGEST_LEN || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut digest = Digest::default();
    for (to, [high, low]) in digest.iter_mut().zip(pairs) {
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use keyward_filter_core::key;
    use keyward_keys::{Change, KeyIndex};
    use keyward_resource::{Resource, admit, decode};
    use serde_json::{Value, json};

    use super::*;

    fn put(object: Value) -> Change {
        let kind = kind::by_type(
            object["apiVersion"].as_str().unwrap_or_default(),
            object["kind"].as_str().unwrap_or_default(),
        );
        let (kind, _) = kind.expect("a kind");
        let admitted = admit(kind, "default", None, object).expect("an object");
        match decode(kind, &admitted).expect("an object") {
            Resource::ApiKeySecret(secret) => Change::PutSecret(secret),
            Resource::AuthConfig(config) => Change::PutAuthConfig(config),
            other => panic!("{:?}", other.meta().object_ref()),
        }
    }

    fn view() -> KeyView {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
            "metadata": { "name": "ann", "labels": { "team": "a" } },
            "stringData": { "api-key": "a key" },
        });
        let config = json!({
            "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig", "metadata": { "name": "keys" },
            "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" } } }] },
        });
        let mut index = KeyIndex::new();
        index.apply(3, [put(secret), put(config)]);
        let tables = BTreeSet::from(["default/keys".to_owned()]);
        index.view(BTreeMap::from([("a~b".to_owned(), tables), ("a~c".to_owned(), BTreeSet::new())]))
    }

    fn ask(question: &Value) -> Result<Value, u16> {
        let answer = answer(&view(), question.to_string().as_bytes());
        answer.map(|answer| json!(answer)).map_err(|status| {
            assert!(!status.message.contains("a key,"), "{}", status.message);
            status.code
        })
    }

    #[test]
    fn records_are_given_of_the_tables_that_a_role_holds() {
        let (known, unknown) = (hex(&key::digest(b"a key")), hex(&key::digest(b"another")));
        let tables = json!({ "default/keys": [known, unknown], "default/others": [known] });
        let found = ask(&json!({ "role": "a~b", "tables": tables })).unwrap();
        assert_eq!(found["tables"], json!({ "default/keys": { known: hex(b"ann") } }));
        assert_eq!(found["revision"], "3");
        for role in ["a~c", "a~d"] {
            assert_eq!(ask(&json!({ "role": role, "tables": tables })).unwrap()["tables"], json!({}));
        }
        let nothing = ask(&json!({ "role": "a~b", "tables": { "default/keys": [] } })).unwrap();
        assert_eq!(nothing["tables"], json!({ "default/keys": {} }));
    }

    #[test]
    fn what_is_no_digest_is_refused_and_not_repeated() {
        for question in [
            json!({ "role": "a~b", "tables": { "default/keys": ["a key, whole"] } }),
            json!({ "role": "a~b", "tables": { "default/keys": ["ab"] } }),
            json!({ "role": "a~b" }),
            json!({ "role": "a~b", "tables": {}, "key": "a key, whole" }),
        ] {
            assert_eq!(ask(&question), Err(400), "{question}");
        }
    }
}
