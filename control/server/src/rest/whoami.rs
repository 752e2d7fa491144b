//! `POST /keyward/v1/whoami`: whose a key is, asked by its SHA-256. The key itself is never sent.
//!
//! The answer is for who may read the Secrets that hold the key: what others would learn of it is theirs.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use keyward_api::{Attempt, Authorizer, Verb};
use keyward_filter_core::life::{Lapse, Life};
use keyward_keys::Holder;
use keyward_resource::{ApiStatus, kind};
use serde::{Deserialize, Serialize};

use super::Reports;
use super::sync::failure;

/// Where it is.
pub(super) const PATH: &str = "/keyward/v1/whoami";
/// How many digits of a digest name a key.
const ID_LEN: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    sha256: String,
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    api_version: &'static str,
    holders: Vec<Held>,
}

/// A Secret that holds the key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Held {
    identity: String,
    namespace: String,
    key_id: String,
    /// It is the key before a rotation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    previous: bool,
    /// By the clock of this server; proxies have their own.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// The `AuthConfig`s whose requests it lets pass while it is valid.
    accepted_by: Vec<String>,
}

/// Answers.
pub(super) async fn whoami(
    State(published): State<Reports>,
    Extension(authorizer): Extension<Arc<dyn Authorizer>>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let peer = peer.map(|Extension(ConnectInfo(peer))| peer);
    let may_read = |namespace: Option<&str>, name: Option<&str>| {
        let attempt = Attempt {
            verb: Verb::Get,
            kind: kind::by_name("Secret"),
            namespace,
            name,
            path: PATH,
            headers: &headers,
            peer,
        };
        authorizer.authorize(&attempt).map(drop)
    };
    let everywhere = may_read(None, None);
    let answer = Question::read(&body).and_then(|(sha256, key_id)| {
        let index = Arc::clone(&published.borrow().index);
        let mut holders = index.read().unwrap_or_else(PoisonError::into_inner).holders(&sha256);
        // Somebody who may read some Secrets is told of those; who may read none is told nothing.
        if let Err(refusal) = everywhere {
            holders.retain(|Holder { id, .. }| may_read(Some(&id.namespace), Some(&id.name)).is_ok());
            if holders.is_empty() {
                return Err(refusal);
            }
        }
        let now = Timestamp::now();
        let holders = holders.into_iter().map(|holder| held(holder, &key_id, now)).collect();
        Ok(Answer { kind: "WhoAmI", api_version: "keyward.io/v1", holders })
    });
    answer.map_or_else(failure, |answer| Json(answer).into_response())
}

fn held(holder: Holder, key_id: &str, now: Timestamp) -> Held {
    let Life { not_before, expires_at, .. } = holder.life;
    let time = |milliseconds: u64| {
        let time = Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()?;
        Some(format!("{time:.0}"))
    };
    Held {
        identity: holder.id.name,
        namespace: holder.id.namespace,
        key_id: key_id.to_owned(),
        previous: holder.is_previous,
        state: match holder.life.check(|| u64::try_from(now.as_millisecond()).ok()) {
            Ok(()) => "active",
            Err(Lapse::Disabled) => "disabled",
            Err(Lapse::Expired) => "expired",
            Err(Lapse::NotYetValid) => "notYetValid",
        },
        not_before: not_before.and_then(time),
        expires: expires_at.and_then(time),
        accepted_by: holder.accepted_by.iter().map(ToString::to_string).collect(),
    }
}

// === impl Question ===

impl Question {
    /// The digest, and the digits that name the key. A mistake is told without what was sent, which may be
    /// a key.
    fn read(body: &[u8]) -> Result<([u8; 32], String), ApiStatus> {
        let malformed = || {
            ApiStatus::bad_request(
                "the body must be {\"sha256\": \"...\"} with the SHA-256 of the key in 64 hexadecimal digits",
            )
        };
        let question: Self = serde_json::from_slice(body).map_err(|_| malformed())?;
        let digits = question.sha256.to_ascii_lowercase();
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let mut sha256 = [0; 32];
        if pairs.len() != sha256.len() || !rest.is_empty() {
            return Err(malformed());
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (to, [high, low]) in sha256.iter_mut().zip(pairs) {
            *to = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low).ok_or_else(malformed)?;
        }
        Ok((sha256, digits.chars().take(ID_LEN).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_digest_and_a_mistake_repeats_nothing_of_it() {
        let digest = "EA77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185";
        let read = |text: &str| Question::read(text.as_bytes());
        let (sha256, key_id) = read(&format!("{{\"sha256\": \"{digest}\"}}")).unwrap();
        assert_eq!((sha256[0], sha256[31], key_id.as_str()), (0xea, 0x85, "ea77193c"));
        for body in [
            "",
            "secret-one",
            "{\"sha256\": \"secret-one\"}",
            "{\"key\": \"secret-one\"}",
            &format!("{{\"sha256\": \"{}\"}}", &digest[1..]),
            &format!("{{\"sha256\": \"{}\"}}", digest.replace('E', "g")),
            &format!("{{\"sha256\": \"{digest}\", \"key\": \"secret-one\"}}"),
        ] {
            let refused = read(body).unwrap_err();
            assert!(refused.code == 400 && !refused.message.contains("secret"), "{body}");
        }
    }
}
