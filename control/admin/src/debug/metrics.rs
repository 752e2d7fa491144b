//! `/metrics`: counts, for Prometheus, in either of its two formats.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;

use crate::envelope;
use crate::index::Endpoint;
use crate::query::Pretty;

pub(super) const ENDPOINTS: [Endpoint; 1] = [Endpoint {
    method: "GET",
    path: "/metrics",
    about: "metrics in the text format of Prometheus, or as OpenMetrics for those who accept that",
}];

const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Where the metrics are.
pub trait Metrics: Send + Sync + 'static {
    /// All of them, in the text format of OpenMetrics.
    ///
    /// # Errors
    ///
    /// When they cannot be written out.
    fn text(&self) -> Result<String, String>;
}

pub(super) fn router(metrics: &Arc<dyn Metrics>) -> Router {
    Router::new().route("/metrics", get(show)).with_state(Arc::clone(metrics))
}

async fn show(State(metrics): State<Arc<dyn Metrics>>, headers: HeaderMap, _: Pretty) -> Response {
    let open = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok()).any(accepts_open);
    match metrics.text() {
        Ok(text) => {
            let (text, form) = if open { (text, OPEN_METRICS) } else { (plain(&text), PLAIN) };
            let mut response = Response::new(Body::from(text));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form));
            response
        }
        Err(why) => envelope::failed(StatusCode::INTERNAL_SERVER_ERROR, &why, false),
    }
}

fn accepts_open(accept: &str) -> bool {
    let refused = |part: &str| part.split(';').any(|part| part.replace(' ', "") == "q=0");
    accept.split(',').any(|part| part.trim().starts_with(OPEN_METRICS_TYPE) && !refused(part))
}

/// OpenMetrics in the older format, which everybody reads: there a counter is described under the name of its
/// only line, and what comes at the end is nothing but a comment.
fn plain(open: &str) -> String {
    let mut counters: BTreeSet<&str> = BTreeSet::new();
    for line in open.lines() {
        let name = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter"));
        counters.extend(name);
    }
    let mut text = String::with_capacity(open.len());
    for line in open.lines().filter(|line| *line != "# EOF") {
        let described =
            ["# HELP ", "# TYPE "].into_iter().find_map(|start| Some((start, line.strip_prefix(start)?)));
        match described.and_then(|(start, rest)| Some((start, rest.split_once(' ')?))) {
            Some((start, (name, rest))) if counters.contains(name) => {
                text.extend([start, name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_described_under_the_name_that_it_has() {
        let open = "# HELP a_b How often.\n# TYPE a_b counter\na_b_total{x=\"# TYPE\"} 3\n# HELP g Now.\n\
                    # TYPE g gauge\ng 1\n# HELP h_seconds Time.\n# TYPE h_seconds histogram\n\
                    h_seconds_count 0\n# EOF\n";
        let expected = "# HELP a_b_total How often.\n# TYPE a_b_total counter\na_b_total{x=\"# TYPE\"} 3\n\
                        # HELP g Now.\n# TYPE g gauge\ng 1\n# HELP h_seconds Time.\n\
                        # TYPE h_seconds histogram\nh_seconds_count 0\n";
        assert_eq!(plain(open), expected);
    }

    #[test]
    fn who_accepts_open_metrics_gets_it() {
        for (accept, expected) in [
            ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5", true),
            ("text/plain, application/openmetrics-text; q=0.2", true),
            ("text/plain;version=0.0.4", false),
            ("application/openmetrics-text;q=0, */*", false),
            ("*/*", false),
        ] {
            assert_eq!(accepts_open(accept), expected, "{accept}");
        }
    }
}
