//! The REST API as a client sees it.

use std::net::SocketAddr;

use anyhow::{Context as _, bail, ensure};
use keyward_resource::{Kind, kind};
use serde_json::Value;

use super::http1::{Connection, Response};
use crate::headers::Headers;

/// The REST API at an address. Each call has its own connection, so that a restart of the server
/// in between is not seen.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    address: SocketAddr,
}

fn text<'a>(object: &'a Value, pointer: &str) -> anyhow::Result<&'a str> {
    object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("the object has no {pointer}"))
}

fn collection(kind: &Kind, namespace: &str) -> String {
    let group_version = kind.group_version;
    let root = if group_version.group.is_empty() {
        "api".to_owned()
    } else {
        format!("apis/{}", group_version.group)
    };
    format!("/{root}/{}/namespaces/{namespace}/{}", group_version.version, kind.plural)
}

fn checked(response: Response, what: &str) -> anyhow::Result<Value> {
    let body = String::from_utf8_lossy(&response.body).into_owned();
    ensure!((200..300).contains(&response.status), "{what}: {} {body}", response.status);
    serde_json::from_str(&body).with_context(|| format!("{what}: {body}"))
}

// === impl Rest ===

impl Rest {
    /// The API at an address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// One request, whatever its answer.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Response> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let headers = Headers::new()
            .with("host", "localhost")
            .with("content-type", "application/json")
            .with("content-length", body.len().to_string());
        Connection::open(self.address)
            .and_then(|mut open| open.request_with_body(method, path, &headers, body.as_bytes()))
            .with_context(|| format!("{method} {path}"))
    }

    /// Creates an object; answers with it as stored.
    ///
    /// # Errors
    ///
    /// When it is refused, or no answer comes: then it may or may not be stored.
    pub fn create(&self, object: &Value) -> anyhow::Result<Value> {
        let path = self.collection_of(object)?;
        checked(self.call("POST", &path, Some(object))?, "create")
    }

    /// Creates an object, or replaces the one of its name.
    ///
    /// # Errors
    ///
    /// When it is refused, or no answer comes.
    pub fn apply(&self, object: &Value) -> anyhow::Result<Value> {
        let path = self.collection_of(object)?;
        let response = self.call("POST", &path, Some(object))?;
        if response.status != 409 {
            return checked(response, "create");
        }
        let path = format!("{path}/{}", text(object, "/metadata/name")?);
        checked(self.call("PUT", &path, Some(object))?, "replace")
    }

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<Value> {
        let path = self.path(kind, namespace, name)?;
        checked(self.call("GET", &path, None)?, "get")
    }

    /// The names of all objects of a kind in a namespace.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    pub fn names(&self, kind: &str, namespace: &str) -> anyhow::Result<Vec<String>> {
        let kind = kind::by_name(kind).context("unknown kind")?;
        let list = checked(self.call("GET", &collection(kind, namespace), None)?, "list")?;
        let items = list["items"].as_array().context("no items")?;
        items.iter().map(|item| Ok(text(item, "/metadata/name")?.to_owned())).collect()
    }

    /// Deletes an object.
    ///
    /// # Errors
    ///
    /// When there is none, or no answer comes.
    pub fn delete(&self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<()> {
        let path = self.path(kind, namespace, name)?;
        checked(self.call("DELETE", &path, None)?, "delete").map(|_| ())
    }

    /// State and reason of an object.
    ///
    /// # Errors
    ///
    /// When there is no such object.
    pub fn status(&self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<(String, String)> {
        let object = self.get(kind, namespace, name)?;
        Ok((text(&object, "/status/state")?.to_owned(), text(&object, "/status/reason")?.to_owned()))
    }

    /// Whether the server has translated what its store holds.
    ///
    /// # Errors
    ///
    /// When it has not, or does not answer.
    pub fn ready(&self) -> anyhow::Result<()> {
        let response = self.call("GET", "/readyz", None)?;
        if response.status != 200 {
            bail!("/readyz: {}", response.status);
        }
        Ok(())
    }

    fn path(&self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<String> {
        let kind = kind::by_name(kind).context("unknown kind")?;
        Ok(format!("{}/{name}", collection(kind, namespace)))
    }

    fn collection_of(&self, object: &Value) -> anyhow::Result<String> {
        let (kind, asked) = kind::by_type(text(object, "/apiVersion")?, text(object, "/kind")?)
            .context("an object of an unknown kind")?;
        let namespace = text(object, "/metadata/namespace")?;
        let root = if asked.group.is_empty() { "api".to_owned() } else { format!("apis/{}", asked.group) };
        Ok(format!("/{root}/{}/namespaces/{namespace}/{}", asked.version, kind.plural))
    }
}
