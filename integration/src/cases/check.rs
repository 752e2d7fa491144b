//! Comparing what came with what was expected.

use anyhow::{bail, ensure};

use super::model::Expect;
use crate::headers::Headers;

/// What the text of `www-authenticate` is in every 401.
pub(crate) const CHALLENGE: &str = "API key is missing or invalid";

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status that the client got.
    pub status: u16,
    /// The headers that the client got.
    pub headers: Headers,
    /// The body that the client got.
    pub body: Vec<u8>,
    /// The headers that the upstream got, if the request reached it.
    pub forwarded: Option<Headers>,
}

// === impl Answer ===

impl Answer {
    /// Compares the answer with what a case expects.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, expect: &Expect) -> anyhow::Result<()> {
        ensure!(self.status == expect.status(), "status {}, expected {}", self.status, expect.status());
        if self.status == 401 {
            self.check_unauthorized()?;
        }
        let forwarded = expect.forwarded()?;
        match &self.forwarded {
            Some(headers) => {
                ensure!(self.status == 200, "{} was answered, but the upstream got the request", self.status);
                check_values("the upstream got", headers, &forwarded)?;
            }
            None if self.status == 200 => bail!("200, but the upstream did not get the request"),
            None => ensure!(forwarded.is_empty(), "the request did not reach the upstream"),
        }
        check_values("the client got", &self.headers, &expect.reply()?)?;
        let leaked = self.headers.all("x-user-id");
        ensure!(leaked.is_empty(), "the client got the identity of the upstream's response: {leaked:?}");
        Ok(())
    }

    /// The 401 of the contract: exactly this challenge, length zero, no body.
    fn check_unauthorized(&self) -> anyhow::Result<()> {
        let challenge = vec![CHALLENGE.as_bytes().to_vec()];
        let expected =
            [("www-authenticate".to_owned(), challenge), ("content-length".to_owned(), vec![b"0".to_vec()])];
        check_values("the client got with 401", &self.headers, &expected)?;
        ensure!(self.body.is_empty(), "a 401 with the body {:?}", self.body.escape_ascii().to_string());
        Ok(())
    }
}

fn check_values(who: &str, headers: &Headers, expected: &[(String, Vec<Vec<u8>>)]) -> anyhow::Result<()> {
    for (name, values) in expected {
        let found = headers.all(name);
        ensure!(
            found == *values,
            "{who} {name}: {:?}, expected {:?}",
            found.iter().map(|value| value.escape_ascii().to_string()).collect::<Vec<_>>(),
            values.iter().map(|value| value.escape_ascii().to_string()).collect::<Vec<_>>(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(yaml: &str) -> Expect {
        serde_saphyr::from_str(yaml).unwrap()
    }

    fn unauthorized() -> Answer {
        let headers = Headers::new().with("www-authenticate", CHALLENGE).with("content-length", "0");
        Answer { status: 401, headers, body: Vec::new(), forwarded: None }
    }

    fn passed(headers: Headers) -> Answer {
        Answer { status: 200, headers: Headers::new(), body: Vec::new(), forwarded: Some(headers) }
    }

    #[test]
    fn a_401_has_to_be_the_one_of_the_contract() {
        let right = unauthorized();
        right.check(&expect("status: 401")).unwrap();
        let mut challenged_twice = right.clone();
        challenged_twice.headers.add("www-authenticate", "Basic");
        let mut bare = right.clone();
        bare.headers.remove("www-authenticate");
        let reached = Answer { forwarded: Some(Headers::new()), ..right.clone() };
        let with_body = Answer { body: b"no".to_vec(), ..right.clone() };
        for wrong in [challenged_twice, bare, reached, with_body] {
            assert!(wrong.check(&expect("status: 401")).is_err(), "{wrong:?}");
        }
        assert!(right.check(&expect("status: 403")).is_err());
    }

    #[test]
    fn an_identity_has_to_be_there_once_and_right() {
        let alice = Headers::new().with("x-user-id", "alice");
        passed(alice.clone()).check(&expect("as: alice")).unwrap();
        let wrong = [
            Headers::new(),
            alice.clone().with("X-User-Id", "root"),
            Headers::new().with("x-user-id", "bob"),
        ];
        for headers in wrong {
            assert!(passed(headers.clone()).check(&expect("as: alice")).is_err(), "{headers:?}");
        }
        let kept = alice.with("api-key", "k");
        assert!(passed(kept.clone()).check(&expect("{as: alice, forwarded: {api-key: []}}")).is_err());
        passed(kept).check(&expect(r"{as: alice, forwarded: {api-key: ['\x6b']}}")).unwrap();
        assert!(unauthorized().check(&expect("{status: 401, forwarded: {x: []}}")).is_err());
    }

    #[test]
    fn no_client_may_get_an_identity_whatever_the_case_says() {
        let mut answer = passed(Headers::new().with("x-user-id", "alice"));
        answer.headers.add("X-User-ID", "alice");
        assert!(answer.check(&expect("as: alice")).is_err());
    }
}
