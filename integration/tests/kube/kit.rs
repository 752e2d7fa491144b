//! A server in this process, and clients to it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use keyward_api::{AuditLog, Everybody, Origin, Statuses, Stored, Writer};
use keyward_resource::Kind;
use keyward_store::{Key, MemoryStore, Revision, Store};
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The API over a store of its own, on a port of its own.
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) store: Arc<dyn Store>,
}

/// Nothing is translated here, so nothing is said of any object.
struct NoStatuses;

impl Statuses for NoStatuses {
    fn status(&self, _: &'static Kind, _: &Key, _: Revision, _: &Stored) -> Option<Value> {
        None
    }
}

/// An Upstream with a label, without a namespace of its own.
pub(crate) fn upstream(name: &str, port: u16) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": name, "labels": { "team": "pets" } },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": port }] } },
    })
}

/// The port of an Upstream.
pub(crate) fn port(object: &DynamicObject) -> Option<u64> {
    object.data.pointer("/spec/static/hosts/0/port")?.as_u64()
}

/// An object as the client has it.
pub(crate) fn dynamic(value: Value) -> DynamicObject {
    serde_json::from_value(value).expect("an object")
}

// === impl Server ===

impl Server {
    pub(crate) async fn start() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let writer = Writer::new(store.clone(), Arc::new(AuditLog), "keyward-system", Origin::SYSTEM);
        writer.prepare().await.expect("the default namespaces");
        let api = keyward_api::Api::new(writer, Arc::new(NoStatuses), Arc::new(Everybody));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        tokio::spawn(async move { axum::serve(listener, api.router()).await });
        let config = Config::new(format!("http://{address}").parse().expect("a URL"));
        Self { client: Client::try_from(config).expect("a client"), store }
    }

    /// A kind in the namespace `default`.
    pub(crate) fn of(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::default_namespaced_with(self.client.clone(), &resource)
    }

    /// The Upstreams in the namespace `default`.
    pub(crate) fn upstreams(&self) -> Api<DynamicObject> {
        self.of("service.keyward.io", "v1", "Upstream")
    }
}
