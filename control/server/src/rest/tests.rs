//! The port as a client sees it. What the resource API does is tested in its own crate.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use keyward_api::{AuditLog, Everybody, Origin, Writer};
use keyward_resource::{ObjectKey, Reports};
use keyward_store::{MemoryStore, Revision};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{HostGuard, router};
use crate::published::Published;

const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/team/upstreams";

struct Server {
    base: String,
    client: Client,
    published: watch::Sender<Arc<Published>>,
}

impl Server {
    async fn start() -> Self {
        let (published, reports) = watch::channel(Arc::new(Published::default()));
        let store = Arc::new(MemoryStore::new());
        let writer = Writer::new(store, Arc::new(AuditLog), "keyward-system", Origin::SYSTEM);
        writer.prepare().await.expect("the store is readable");
        let router = router(writer, Arc::new(Everybody), reports, "keyward-system", HostGuard::Loopback);
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base: format!("http://{address}"), client: Client::new(), published }
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = self.client.get(format!("{}{path}", self.base));
        let response = request.send().await.expect("the server answers");
        (response.status(), response.text().await.expect("a whole body"))
    }

    async fn create(&self, name: &str) -> Value {
        let upstream = json!({
            "metadata": { "name": name },
            "spec": { "static": { "hosts": [{ "addr": "example.com", "port": 80 }] } },
        });
        let request = self.client.post(format!("{}{UPSTREAMS}", self.base)).json(&upstream);
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), StatusCode::CREATED);
        response.json().await.expect("JSON")
    }

    async fn read(&self, name: &str) -> Value {
        serde_json::from_str(&self.get(&format!("{UPSTREAMS}/{name}")).await.1).expect("JSON")
    }
}

#[tokio::test]
async fn a_status_shows_what_was_published_for_this_version_and_nothing_older() {
    let server = Server::start().await;
    let created = server.create("a").await;
    assert_eq!(created["status"]["state"], "Pending");
    let version: u64 =
        created["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a number");
    let mut reports = Reports::default();
    for name in ["a", "b"] {
        reports.warn(ObjectKey::new("Upstream", "team", name), "looks odd");
    }
    let published = Published { revision: Some(Revision(version)), reports, ..Published::default() };
    server.published.send_replace(Arc::new(published));
    let status = &server.read("a").await["status"];
    assert_eq!((&status["state"], &status["reason"]), (&json!("Warning"), &json!("looks odd")));
    assert_eq!(status["statuses"]["keyward-system"]["reportedBy"], "keyward");
    assert_eq!(server.create("b").await["status"]["state"], "Pending");
}

#[tokio::test]
async fn the_port_says_whether_the_server_is_well_and_ready() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await, (StatusCode::OK, "ok\n".to_owned()));
    assert_eq!(server.get("/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
    let published = Published { revision: Some(Revision(0)), ..Published::default() };
    server.published.send_replace(Arc::new(published));
    assert_eq!(server.get("/readyz").await.0, StatusCode::OK);
    assert_eq!(server.get("/api/v1/namespaces/default").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_reach_the_port() {
    let server = Server::start().await;
    for path in [UPSTREAMS, "/healthz", "/nothing"] {
        let request = server.client.get(format!("{}{path}", server.base)).header("host", "rebound.example");
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{path}");
    }
}
