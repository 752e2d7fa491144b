//! Keys of a file that other Secrets hold already: who held a key first has it, so whoever comes second would get
//! a Secret whose key is somebody else's.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use super::check::Checked;
use crate::client::ClientError;
use crate::key::Entry;
use crate::remote::Remote;
use crate::sheet::Mistake;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The rows whose keys others hold, by line.
    pub(super) mistakes: Vec<Mistake>,
    /// Not all Secrets could be looked at.
    pub(super) is_partial: bool,
}

fn is_forbidden(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { refusal, .. } if refusal.code == StatusCode::FORBIDDEN)
}

/// Looks through the Secrets that the caller may list: all of them, or else those of the namespaces of the file.
/// Those that the file itself overwrites do not count.
pub(super) async fn look(
    remote: &Remote,
    checked: &Checked,
    replaces: bool,
    now: Timestamp,
) -> Result<Shared, ClientError> {
    let mut shared = Shared::default();
    match remote.each_page(None, None, |page| shared.take(page, checked, replaces, now)).await {
        Err(error) if is_forbidden(&error) => shared = Shared { is_partial: true, ..Shared::default() },
        done => return done.map(|()| shared.sorted()),
    }
    for namespace in checked.namespaces() {
        match remote.each_page(Some(namespace), None, |page| shared.take(page, checked, replaces, now)).await
        {
            Err(error) if is_forbidden(&error) => {}
            done => done?,
        }
    }
    Ok(shared.sorted())
}

// === impl Shared ===

impl Shared {
    fn take(&mut self, page: &[Value], checked: &Checked, replaces: bool, now: Timestamp) {
        for secret in page.iter().filter_map(Entry::secret) {
            let place = (secret.meta.namespace, secret.meta.name);
            let is_over = |end: u64| i64::try_from(end).is_ok_and(|end| end <= now.as_millisecond());
            let previous = secret.previous.filter(|previous| !is_over(previous.expires_at));
            for key in secret.key.ok().into_iter().chain(previous.map(|previous| previous.key)) {
                let Some(row) = checked.keys.get(&key) else { continue };
                if row.place != place && !(replaces && checked.places.contains(&place)) {
                    let message = format!("Secret {}/{} holds the same key", place.0, place.1);
                    self.mistakes.push(Mistake::new(row.line, row.column, message));
                }
            }
        }
    }

    fn sorted(mut self) -> Self {
        self.mistakes.sort();
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::secret::api_key::import::check::check;
    use crate::sheet::{Form, Sheet};

    fn secret(name: &str, data: Value) -> Value {
        json!({ "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
                "metadata": { "namespace": "team", "name": name }, "data": data, "status": { "state": "Accepted" } })
    }

    #[test]
    fn keys_of_others_are_told_by_line_and_not_repeated() {
        let text = "name,api-key,previous-api-key,previous-expires-at\n\
                    ann,secret-1,,\nbob,secret-2,secret-3,2099-01-01T00:00:00Z\ncat,secret-4,,\n";
        let checked = check(&Sheet::new(text.as_bytes().to_vec(), Form::Csv), "team", false);
        assert_eq!(checked.mistakes, []);
        let previous = |end: &str| json!({ "api-key": "bmV3", "previous-api-key": "c2VjcmV0LTQ=", "previous-expires-at": end });
        let page = [
            // Its own row.
            secret("ann", json!({ "api-key": "c2VjcmV0LTE=" })),
            // Of another row, and a previous one of that.
            secret("cat", json!({ "api-key": "c2VjcmV0LTM=" })),
            secret("zoe", json!({ "api-key": "c2VjcmV0LTI=" })),
            // 2001 and 2099.
            secret("old", previous("MjAwMS0wMS0wMVQwMDowMDowMFo=")),
            secret("eve", previous("MjA5OS0wMS0wMVQwMDowMDowMFo=")),
        ];
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
        let told = |replaces: bool| {
            let mut shared = Shared::default();
            shared.take(&page, &checked, replaces, now);
            shared.sorted().mistakes.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let others = [
            "3: api-key: Secret team/zoe holds the same key",
            "3: previous-api-key: Secret team/cat holds the same key",
            "4: api-key: Secret team/eve holds the same key",
        ];
        assert_eq!(told(false), others);
        assert_eq!(told(true), [others[0], others[2]]);
    }
}
