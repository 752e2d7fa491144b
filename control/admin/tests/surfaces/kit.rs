//! What the ports show here is made up.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use keyward_admin::debug::{
    Change, Debug, Form, Levels, Logging, Metrics, Observed, ProfileFailure, Profiles, Runtime, Task,
    TaskReport, TaskState, Tasks, Worker,
};
use keyward_admin::snapshots::{Snapshot, Snapshots};
use keyward_admin::{Failure, Gate, Need, Refusal, Shown, Who, debug, dev, snapshots};
use keyward_trace::{Method, SPANS, SpanLayer, is_ours};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer, Registry, registry};

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lets those look who say so in a header, and those operate who say that.
pub(crate) struct Words;

pub(crate) struct Sample;

pub(crate) struct Levelled(Mutex<Levels>);

pub(crate) struct Port {
    pub(crate) base: String,
    pub(crate) client: Client,
}

impl Gate for Words {
    fn admit(&self, need: Need, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, Refusal> {
        assert!(peer.is_some_and(|peer| peer.ip().is_loopback()), "the gate is told who asks: {peer:?}");
        let word = headers.get("x-word").and_then(|word| word.to_str().ok()).unwrap_or("operate");
        match (need, word) {
            (_, "operate") | (Need::Look, "look") => Ok(Who(word.to_owned())),
            (_, "look") => {
                Err(Refusal { code: StatusCode::FORBIDDEN, message: "the role admin is needed".to_owned() })
            }
            _ => Err(Refusal { code: StatusCode::UNAUTHORIZED, message: "who are you".to_owned() }),
        }
    }
}

impl Snapshots for Sample {
    fn take(&self, which: Snapshot) -> BoxFuture<'_, Result<Shown, Failure>> {
        Box::pin(ready(match which {
            Snapshot::Proxies => Err(Failure::Unavailable("nothing is translated yet".to_owned())),
            Snapshot::Keys => Err(Failure::Internal("it is broken".to_owned())),
            which => Ok(Shown { status: "revision 7".to_owned(), data: json!(format!("{which:?}")) }),
        }))
    }

    fn roles(&self) -> Vec<String> {
        vec!["a~one".to_owned(), "b~two".to_owned()]
    }

    fn xds_of(&self, role: &str) -> Result<Shown, Failure> {
        match role {
            "a~one" => Ok(Shown { status: "version 1".to_owned(), data: json!(["one"]) }),
            _ => Err(Failure::NotFound(format!("there is no role {role:?}"))),
        }
    }
}

impl Logging for Levelled {
    fn levels(&self) -> Levels {
        self.0.lock().unwrap().clone()
    }

    fn change(&self, change: &Change, who: &str) -> Result<Levels, String> {
        assert_eq!(who, "operate");
        let mut levels = self.0.lock().unwrap();
        if let Some(level) = change.level {
            levels.level = level.as_str().to_owned();
        }
        for (target, level) in &change.targets {
            match level {
                Some(level) => levels.targets.insert(target.clone(), level.as_str().to_owned()),
                None => levels.targets.remove(target),
            };
        }
        Ok(levels.clone())
    }
}

impl Profiles for Sample {
    fn cpu(&self, seconds: u64, frequency: u32, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(ready(match seconds {
            59 => Err(ProfileFailure::Busy("another one is being taken".to_owned(), 7)),
            _ => Ok(format!("{seconds} {frequency} {form:?}").into()),
        }))
    }

    fn heap(&self, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>> {
        Box::pin(ready(match form {
            Form::Pprof => Ok(Bytes::from_static(b"heap")),
            Form::Folded => Err(ProfileFailure::Unavailable("nothing is sampled".to_owned())),
        }))
    }
}

impl Tasks for Sample {
    fn tasks(&self) -> TaskReport {
        let worker = Worker { busy_milliseconds: 12, parks: 3 };
        let task = Task {
            name: "control loop".to_owned(),
            state: TaskState::Waiting,
            since: "2026-11-21T00:00:00Z".to_owned(),
            polls: 7,
            busy_milliseconds: 5,
            idle_milliseconds: 9,
        };
        TaskReport {
            runtime: Runtime { alive_tasks: 4, global_queue_depth: 0, workers: vec![worker] },
            tasks: vec![task],
        }
    }
}

impl Metrics for Sample {
    fn text(&self) -> Result<String, String> {
        Ok("# EOF\n".to_owned())
    }
}

/// A span of each sort, and a call.
fn observed() -> Observed {
    let observed = Observed::default();
    let layer = SpanLayer::new(observed.recent.clone());
    let subscriber = registry().with(Layer::<Registry>::with_filter(layer, filter_fn(is_ours)));
    tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!(target: SPANS, "store.write", kind = "<b>&Secret</b>").in_scope(|| {});
        tracing::info_span!(target: SPANS, "translate", failed = true).in_scope(|| {});
    });
    drop(observed.calls.begin(Method { side: "grpc", name: "a.B/C".into() }));
    observed
}

pub(crate) fn debug_port(with_snapshots: bool) -> Router {
    let levels = Levels { level: "info".to_owned(), targets: Default::default() };
    let sample: Arc<dyn Snapshots> = Arc::new(Sample);
    let debug = Debug {
        logging: Arc::new(Levelled(Mutex::new(levels))),
        metrics: Arc::new(Sample),
        profiles: Arc::new(Sample),
        tasks: Arc::new(Sample),
        observed: observed(),
        snapshots: with_snapshots.then_some(sample),
    };
    let gate: Arc<dyn Gate> = Arc::new(Words);
    debug::router(&debug, &gate)
}

pub(crate) fn snapshots_port() -> Router {
    let (sample, gate): (Arc<dyn Snapshots>, Arc<dyn Gate>) = (Arc::new(Sample), Arc::new(Words));
    snapshots::router(&sample, &gate)
}

pub(crate) fn dev_port() -> Router {
    let (sample, gate): (Arc<dyn Snapshots>, Arc<dyn Gate>) = (Arc::new(Sample), Arc::new(Words));
    dev::router(&sample, &gate, "http://127.0.0.1:9095/")
}

// === impl Port ===

impl Port {
    pub(crate) async fn open(router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { base, client: Client::builder().timeout(PATIENCE).build().unwrap() }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, word: &str, body: &str) -> Response {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base)).header("x-word", word);
        request.body(body.to_owned()).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        Self::read(self.send("GET", path, "operate", "").await).await
    }

    pub(crate) async fn put(&self, path: &str, body: &str) -> (u16, Value) {
        Self::read(self.send("PUT", path, "operate", body).await).await
    }

    pub(crate) async fn read(response: Response) -> (u16, Value) {
        let code = response.status().as_u16();
        let text = response.text().await.unwrap();
        (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}
