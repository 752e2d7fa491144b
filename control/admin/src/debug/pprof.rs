//! `/debug/pprof`: where the server's time goes, and its memory, for `go tool pprof` and for flame graphs.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures::future::BoxFuture;

use crate::envelope;
use crate::index::Endpoint;
use crate::query::{Parameters, in_range, one_of};

pub(super) const ENDPOINTS: [Endpoint; 2] = [
    Endpoint {
        method: "GET",
        path: "/debug/pprof/profile",
        about: "where the CPU time goes, for ?seconds=10 at ?frequency=99 a second, as pprof or as \
                ?format=folded stacks",
    },
    Endpoint {
        method: "GET",
        path: "/debug/pprof/heap",
        about: "who holds the memory, as pprof or as ?format=folded stacks",
    },
];

/// How long a profile may be taken, in seconds: Prometheus and people give up after a minute.
const SECONDS: RangeInclusive<u64> = 1..=60;
/// How often a second: more would measure the profiler.
const FREQUENCY: RangeInclusive<u64> = 1..=1000;
const USUAL_SECONDS: u64 = 10;
/// Not in step with anything that ticks.
const USUAL_FREQUENCY: u64 = 99;

/// How a profile is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// pprof's own, compressed.
    Pprof,
    /// A line a stack.
    Folded,
}

/// Why there is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileFailure {
    /// Another one is being taken: try again after this many seconds.
    Busy(String, u64),
    /// This server cannot.
    Unavailable(String),
    /// It went wrong.
    Internal(String),
}

/// Takes profiles.
pub trait Profiles: Send + Sync + 'static {
    /// One of the CPU. Dropping the future stops it.
    fn cpu(&self, seconds: u64, frequency: u32, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>>;

    /// One of the memory.
    fn heap(&self, form: Form) -> BoxFuture<'_, Result<Bytes, ProfileFailure>>;
}

pub(super) fn router(profiles: &Arc<dyn Profiles>) -> Router {
    Router::new()
        .route("/debug/pprof/profile", get(cpu))
        .route("/debug/pprof/heap", get(heap))
        .with_state(Arc::clone(profiles))
}

async fn cpu(State(profiles): State<Arc<dyn Profiles>>, uri: Uri) -> Response {
    let asked = || -> Result<(u64, u32, Form), String> {
        let parameters = Parameters::of(&uri, &["seconds", "frequency", "format"])?;
        let seconds = in_range(&parameters, "seconds", SECONDS, USUAL_SECONDS)?;
        let frequency = in_range(&parameters, "frequency", FREQUENCY, USUAL_FREQUENCY)?;
        Ok((seconds, u32::try_from(frequency).unwrap_or(u32::MAX), form(&parameters)?))
    };
    match asked() {
        Ok((seconds, frequency, form)) => answer(profiles.cpu(seconds, frequency, form).await, form, "cpu"),
        Err(why) => envelope::failed(StatusCode::BAD_REQUEST, &why, false),
    }
}

async fn heap(State(profiles): State<Arc<dyn Profiles>>, uri: Uri) -> Response {
    match Parameters::of(&uri, &["format"]).and_then(|parameters| form(&parameters)) {
        Ok(form) => answer(profiles.heap(form).await, form, "heap"),
        Err(why) => envelope::failed(StatusCode::BAD_REQUEST, &why, false),
    }
}

fn form(parameters: &Parameters<'_>) -> Result<Form, String> {
    one_of(parameters, "format", &[("pprof", Form::Pprof), ("folded", Form::Folded)])
}

fn answer(profile: Result<Bytes, ProfileFailure>, form: Form, name: &str) -> Response {
    let bytes = match profile {
        Ok(bytes) => bytes,
        Err(ProfileFailure::Busy(why, seconds)) => {
            let mut response = envelope::failed(StatusCode::TOO_MANY_REQUESTS, &why, false);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            return response;
        }
        Err(ProfileFailure::Unavailable(why)) => {
            return envelope::failed(StatusCode::SERVICE_UNAVAILABLE, &why, false);
        }
        Err(ProfileFailure::Internal(why)) => {
            return envelope::failed(StatusCode::INTERNAL_SERVER_ERROR, &why, false);
        }
    };
    let (kind, ending) = match form {
        Form::Pprof => ("application/octet-stream", "pb.gz"),
        Form::Folded => ("text/plain; charset=utf-8", "folded"),
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if form == Form::Pprof
        && let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.{ending}\""))
    {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}
