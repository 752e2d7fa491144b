//! Sends ended spans to a collector, in the protocol of OpenTelemetry (OTLP).
//!
//! The environment says where and how, by OpenTelemetry's own variables. Nothing waits for the collector:
//! spans that find no room in the queue are lost, a batch that cannot be sent is dropped, and the log says
//! once that it is so, and once that it is over.

mod http;

#[cfg(test)]
mod tests;

use std::time::Duration;

use anyhow::{Context as _, bail};
use keyward_trace::Span;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter as Otlp, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Ended;

/// Where spans go; the second one names the endpoint for all signals.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// How they are sent.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
/// The name of the service unless somebody says otherwise.
const USUAL_NAME: &str = "keyward";

/// So many spans are sent at once.
const MAX_BATCH: usize = 512;
/// A span waits no longer than this for others.
const GATHER: Duration = Duration::from_secs(1);
/// A collector that takes longer is down. What it may take is said by `OTEL_EXPORTER_OTLP_TIMEOUT`, up to this.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is left when the server stops goes out within this, or not at all.
const FAREWELL: Duration = Duration::from_secs(3);

/// Takes ended spans to a collector.
#[derive(Debug)]
pub(crate) struct Exporter {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The task that does it.
struct Sender {
    otlp: Otlp,
    ended: mpsc::Receiver<Ended>,
    scope: InstrumentationScope,
    is_down: bool,
}

/// Whether spans are to be sent anywhere. `variable` reads the environment.
pub(super) fn is_wanted(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).is_some_and(|is| is.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return false;
    }
    ENDPOINTS.iter().any(|name| variable(name).is_some_and(|url| !url.trim().is_empty()))
}

/// Whether it goes over gRPC; else it is HTTP with protobuf, as the specification has it.
fn is_grpc(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<bool> {
    let said = PROTOCOLS.iter().find_map(|name| Some((*name, variable(name).filter(|it| !it.is_empty())?)));
    match said {
        None => Ok(false),
        Some((_, protocol)) if protocol == "grpc" => Ok(true),
        Some((_, protocol)) if protocol == "http/protobuf" => Ok(false),
        Some((name, protocol)) => {
            bail!("{name} is {protocol:?}\nhint: traces are exported by grpc or by http/protobuf")
        }
    }
}

fn resource() -> Resource {
    let resource =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let names = std::env::var(RESOURCE).unwrap_or_default().contains("service.name=");
    if names || std::env::var_os(SERVICE_NAME).is_some_and(|name| !name.is_empty()) {
        return resource.build();
    }
    resource.with_service_name(USUAL_NAME).build()
}

fn exported((span, took): &Ended, scope: &InstrumentationScope) -> SpanData {
    let Span { name, trace, id, parent, start, fields } = &**span;
    let context = SpanContext::new(
        TraceId::from(*trace),
        SpanId::from(*id),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    SpanData {
        span_context: context,
        parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: false,
        span_kind: if *name == super::rest::NAME { SpanKind::Server } else { SpanKind::Internal },
        name: (*name).into(),
        start_time: *start,
        end_time: *start + *took,
        attributes: fields.values().iter().map(|(name, value)| KeyValue::new(*name, value.clone())).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if fields.failed() { Status::error("") } else { Status::Unset },
        instrumentation_scope: scope.clone(),
    }
}

// === impl Exporter ===

impl Exporter {
    /// Starts to send what has ended.
    ///
    /// # Errors
    ///
    /// When what the environment says does not fit together.
    pub(super) fn new(ended: mpsc::Receiver<Ended>) -> anyhow::Result<Self> {
        let wrong = "traces cannot be exported\nhint: check the variables OTEL_EXPORTER_OTLP_..., or unset \
                     OTEL_EXPORTER_OTLP_ENDPOINT";
        let mut otlp = match is_grpc(|name| std::env::var(name).ok())? {
            true => Otlp::builder().with_tonic().build().context(wrong)?,
            false => {
                Otlp::builder().with_http().with_http_client(http::Client::new()?).build().context(wrong)?
            }
        };
        otlp.set_resource(&resource());
        let scope = InstrumentationScope::builder("keyward").with_version(env!("CARGO_PKG_VERSION")).build();
        let stop = CancellationToken::new();
        let sender = Sender { otlp, ended, scope, is_down: false };
        tracing::info!("traces are exported");
        Ok(Self { task: tokio::spawn(sender.run(stop.clone())), stop })
    }

    /// Sends what is left, and ends.
    pub(crate) async fn finish(self) {
        self.stop.cancel();
        if timeout(FAREWELL, self.task).await.is_err() {
            tracing::warn!("the last traces are lost: the collector does not take them in time");
        }
    }
}

// === impl Sender ===

impl Sender {
    async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            let first = tokio::select! {
                biased;
                first = self.ended.recv() => first,
                () = stop.cancelled() => None,
            };
            let Some(first) = first else { return };
            batch.push(first);
            let until = Instant::now() + GATHER;
            while batch.len() < MAX_BATCH {
                let next = tokio::select! {
                    biased;
                    next = timeout_at(until, self.ended.recv()) => next,
                    // What is there is taken before that.
                    () = stop.cancelled() => break,
                };
                let Ok(Some(next)) = next else { break };
                batch.push(next);
            }
            self.send(&batch).await;
            batch.clear();
        }
    }

    async fn send(&mut self, batch: &[Ended]) {
        let spans = batch.iter().map(|ended| exported(ended, &self.scope)).collect();
        let problem = match timeout(PATIENCE, self.otlp.export(spans)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it does not answer".to_owned()),
        };
        let was_down = std::mem::replace(&mut self.is_down, problem.is_some());
        match problem {
            None if was_down => tracing::info!("traces are exported again"),
            Some(why) if !was_down => {
                tracing::warn!("traces cannot be exported, and are dropped until they can be: {why}");
            }
            _ => {}
        }
    }
}
