//! `/zpages`: what the server did lately, as spans in latency buckets (tracez) and as counts of calls (rpcz).

use std::fmt::Write as _;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use keyward_trace::{BUCKETS, Calls, Counts, Latencies, Recent, Sample, Summary, Which, bucket_name};
use serde_json::{Value, json};

use crate::envelope::{Failure, Shown, answer, failed};
use crate::index::Endpoint;
use crate::page::{self, Escaped, Shape};
use crate::query::{Parameters, one_of};

pub(super) const ENDPOINTS: [Endpoint; 2] = [
    Endpoint {
        method: "GET",
        path: "/zpages/tracez",
        about: "recent spans in latency buckets, and those that failed (?name= and ?which= show some, \
                ?format=json)",
    },
    Endpoint {
        method: "GET",
        path: "/zpages/rpcz",
        about: "calls on the gRPC and REST ports: how many, how long, how many bytes (?format=json)",
    },
];

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The spans.
    pub recent: Recent,
    /// The calls.
    pub calls: Calls,
}

/// What is asked about spans.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    name: Option<&'a str>,
    which: Which,
    shape: Shape,
    pretty: bool,
}

pub(super) fn router(observed: &Observed) -> Router {
    Router::new()
        .route("/zpages/tracez", get(tracez))
        .route("/zpages/rpcz", get(rpcz))
        .with_state(observed.clone())
}

async fn tracez(State(Observed { recent, .. }): State<Observed>, headers: HeaderMap, uri: Uri) -> Response {
    let asked = match asked(&uri, &headers) {
        Ok(asked) => asked,
        Err(why) => return failed(StatusCode::BAD_REQUEST, &why, false),
    };
    let Some(name) = asked.name else {
        let summaries = recent.summaries();
        return match asked.shape {
            Shape::Json => answer(Ok(shown(&summaries)), asked.pretty),
            _ => page::html("Recent spans", &summary_page(&summaries)),
        };
    };
    match (recent.samples(name, asked.which), asked.shape) {
        (Some(samples), Shape::Json) => {
            let data = samples.iter().map(sample).collect();
            answer(Ok(Shown { status: format!("{} spans", samples.len()), data }), asked.pretty)
        }
        (Some(samples), _) => page::html(&format!("Spans: {name}"), &samples_page(&samples)),
        (None, _) => {
            let why = "there was no span of this name; without ?name= all names are listed".to_owned();
            answer(Err(Failure::NotFound(why)), asked.pretty)
        }
    }
}

async fn rpcz(State(Observed { calls, .. }): State<Observed>, headers: HeaderMap, uri: Uri) -> Response {
    let parameters = Parameters::of(&uri, &["format", "pretty"]);
    match parameters.and_then(|it| Ok((shape(&it, &headers)?, it.pretty()?))) {
        Ok((Shape::Json, pretty)) => {
            let counts = calls.counts();
            let data = counts.iter().map(count).collect();
            answer(Ok(Shown { status: format!("{} methods", counts.len()), data }), pretty)
        }
        Ok(_) => page::html("Calls", &calls_page(&calls.counts())),
        Err(why) => failed(StatusCode::BAD_REQUEST, &why, false),
    }
}

/// Browsers get a page, everybody else JSON, unless they say otherwise.
fn shape(parameters: &Parameters<'_>, headers: &HeaderMap) -> Result<Shape, String> {
    let (json, html) = (("json", Shape::Json), ("html", Shape::Html));
    one_of(parameters, "format", &if page::wants_html(headers) { [html, json] } else { [json, html] })
}

fn asked<'a>(uri: &'a Uri, headers: &HeaderMap) -> Result<Asked<'a>, String> {
    let parameters = Parameters::of(uri, &["name", "which", "format", "pretty"])?;
    let words = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];
    let buckets = words.iter().enumerate().map(|(bucket, word)| (*word, Which::Bucket(bucket)));
    let all: Vec<_> =
        [("running", Which::Running), ("failed", Which::Failed)].into_iter().chain(buckets).collect();
    Ok(Asked {
        name: parameters.get("name"),
        which: one_of(&parameters, "which", &all)?,
        shape: shape(&parameters, headers)?,
        pretty: parameters.pretty()?,
    })
}

fn latencies(latencies: &Latencies) -> Value {
    let named = latencies.iter().enumerate();
    named.map(|(bucket, count)| json!({ "bucket": bucket_name(bucket), "count": count })).collect()
}

fn shown(summaries: &[Summary]) -> Shown {
    let all = summaries.iter().map(|summary| {
        json!({ "name": summary.name, "running": summary.running, "failed": summary.failed,
                "latencies": latencies(&summary.latencies) })
    });
    Shown { status: format!("{} names", summaries.len()), data: all.collect() }
}

fn sample(Sample { span, took }: &Sample) -> Value {
    json!({
        "name": span.name,
        "trace": format!("{:032x}", span.trace),
        "span": format!("{:016x}", span.id),
        "parent": span.parent.map(|parent| format!("{parent:016x}")),
        "start": timestamp(span.start),
        "microseconds": took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        "failed": span.fields.failed(),
        "fields": span.fields.values(),
    })
}

fn count(counts: &Counts) -> Value {
    json!({
        "side": counts.method.side,
        "method": counts.method.name,
        "begun": counts.begun,
        "running": counts.running,
        "failed": counts.failed,
        "meanMicroseconds": mean(counts).as_micros(),
        "latencies": latencies(&counts.latencies),
        "receivedBytes": counts.received,
        "sentBytes": counts.sent,
    })
}

fn mean(counts: &Counts) -> Duration {
    let ended = u32::try_from(counts.latencies.iter().sum::<u64>()).unwrap_or(u32::MAX);
    counts.took.checked_div(ended).unwrap_or_default()
}

/// Microseconds since 1970 as RFC 3339.
fn timestamp(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.6}")).unwrap_or_default()
}

fn bucket_headings() -> String {
    (0..BUCKETS).map(|bucket| format!("<th>{}", Escaped(bucket_name(bucket)))).collect()
}

fn summary_page(summaries: &[Summary]) -> String {
    let mut html = format!("<table>\n<tr><th>Name<th>Running{}<th>Failed\n", bucket_headings());
    for Summary { name, running, latencies, failed } in summaries {
        let link = |which: &str, count: u64| match count {
            0 => "<td class=\"n\">0".to_owned(),
            count => {
                format!("<td class=\"n\"><a href=\"?name={}&amp;which={which}\">{count}</a>", Escaped(name))
            }
        };
        let buckets: String =
            latencies.iter().enumerate().map(|(bucket, count)| link(&bucket.to_string(), *count)).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            html,
            "<tr><td>{}{}{buckets}{}",
            Escaped(name),
            link("running", *running),
            link("failed", *failed)
        );
    }
    html.push_str("</table>\n");
    html
}

fn samples_page(samples: &[Sample]) -> String {
    let mut html =
        "<p><a href=\"tracez\">All names</a>\n<table>\n<tr><th>Start<th>Took<th>Fields<th>Trace\n".to_owned();
    for Sample { span, took } in samples {
        let took = took.map_or("under way".to_owned(), |took| format!("{took:.1?}"));
        let fields: Vec<String> =
            span.fields.values().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(
            html,
            "<tr><td>{}<td class=\"n\">{took}<td>{}<td>{:032x}",
            timestamp(span.start),
            Escaped(&fields.join(" ")),
            span.trace
        );
    }
    html.push_str("</table>\n");
    html
}

fn calls_page(counts: &[Counts]) -> String {
    let headings = "<th>Method<th>Begun<th>Running<th>Failed<th>Mean";
    let mut html = format!("<table>\n<tr><th>Side{headings}{}<th>Received<th>Sent\n", bucket_headings());
    for one in counts {
        let buckets: String = one.latencies.iter().map(|count| format!("<td class=\"n\">{count}")).collect();
        let _ = writeln!(
            html,
            "<tr><td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1?}{buckets}\
             <td class=\"n\">{}<td class=\"n\">{}",
            one.method.side,
            Escaped(&one.method.name),
            one.begun,
            one.running,
            one.failed,
            mean(one),
            one.received,
            one.sent
        );
    }
    html.push_str("</table>\n");
    html
}
