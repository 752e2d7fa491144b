//! The little of the REST resource API that the demonstration needs.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{Method, StatusCode};
use serde_json::Value;

/// A client of one control server.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    client: reqwest::Client,
    url: String,
}

/// The path of a collection and the name of an object in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) collection: String,
    pub(super) name: String,
}

/// A client for loopback: never through a proxy, and no answer takes longer than `limit`.
pub(super) fn client(limit: Duration) -> anyhow::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().timeout(limit).build().context("cannot make an HTTP client")
}

// === impl Rest ===

impl Rest {
    pub(super) fn new(url: String) -> anyhow::Result<Self> {
        Ok(Self { client: client(Duration::from_secs(10))?, url })
    }

    /// Does the control server serve?
    pub(super) async fn is_ready(&self) -> bool {
        let answer = self.client.get(format!("{}/readyz", self.url)).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    pub(super) async fn get(&self, address: &Address) -> anyhow::Result<Option<Value>> {
        let path = format!("{}/{}", address.collection, address.name);
        self.send(Method::GET, &path, None).await
    }

    pub(super) async fn create(&self, address: &Address, object: &Value) -> anyhow::Result<Value> {
        let made = self.send(Method::POST, &address.collection, Some(object)).await?;
        made.with_context(|| format!("the control server does not know {}", address.collection))
    }

    pub(super) async fn replace(&self, address: &Address, object: &Value) -> anyhow::Result<Value> {
        let path = format!("{}/{}", address.collection, address.name);
        let made = self.send(Method::PUT, &path, Some(object)).await?;
        made.with_context(|| format!("{path} vanished while it was replaced"))
    }

    /// The object in the answer; none on 404.
    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Option<Value>> {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.with_context(|| format!("{method} {path} failed"))?;
        let status = answer.status();
        let bytes = answer.bytes().await.with_context(|| format!("{method} {path} was answered in part"))?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if !status.is_success() {
            let message = value.get("message").and_then(Value::as_str).unwrap_or("no message");
            bail!("{method} {path} was answered with {status}: {message}");
        }
        Ok(Some(value))
    }
}
