//! A stack as the plane that cases run on.

use std::time::Duration;

use serde_json::Value;

use super::launch::Stack;
use crate::cases::{Answer, On, Plane};
use crate::headers::Headers;

/// How long a change may take to be seen, with other tests on the machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// With two workers, and a worker chosen at random for each connection, one that is behind goes
/// unnoticed in one of a thousand such series.
const CERTAINTY: usize = 10;

impl Plane for Stack {
    fn kind(&self) -> On {
        On::Envoy
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn certainty(&self) -> usize {
        CERTAINTY
    }

    fn apply(&mut self, object: &Value) -> anyhow::Result<()> {
        self.rest().apply(object).map(|_| ())
    }

    fn delete(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.rest().delete(kind, namespace, name)
    }

    fn status(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<(String, String)> {
        self.rest().status(kind, namespace, name)
    }

    fn send(
        &mut self,
        host: &str,
        path: &str,
        headers: &Headers,
        upstream: &Headers,
    ) -> anyhow::Result<Answer> {
        let (response, arrived) = self.send_over(&mut self.connect()?, host, path, headers, upstream)?;
        Ok(Answer {
            status: response.status,
            headers: response.headers,
            body: response.body,
            forwarded: arrived.map(|arrived| {
                let mut headers = arrived.headers;
                // As the filter sees it, and as the plane in wasmtime has it.
                headers.add(":path", arrived.line.split(' ').nth(1).unwrap_or_default());
                headers
            }),
        })
    }
}
