//! The probe against a gateway of our own that keeps the rules of the quickstart, or does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::{Outcome, until_right, wait};
use crate::stack::quickstart::Quickstart;

const LIMIT: Duration = Duration::from_secs(30);

/// Starts a gateway that answers wrongly `wrong` times and then as `honest` says.
async fn gateway(wrong: usize, honest: bool) -> String {
    let quickstart = Quickstart::new(1).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let answer = move |request: Request| {
        let early = count.fetch_add(1, Ordering::Relaxed) < wrong;
        let response = respond(&request, &quickstart.key, early, honest);
        async move { response }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

fn respond(request: &Request, key: &str, early: bool, honest: bool) -> Response {
    let sent = request.headers().get("api-key").is_some_and(|sent| sent == key);
    match (request.uri().path(), sent) {
        _ if early => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        ("/public", _) => r#"{"headers": []}"#.into_response(),
        (_, true) => r#"{"headers": [["host", "h"], ["x-user-id", "alice"]]}"#.into_response(),
        // A gateway that lets everybody through must never pass for right.
        (_, false) if !honest => r#"{"headers": []}"#.into_response(),
        (_, false) => StatusCode::UNAUTHORIZED.into_response(),
    }
}

#[tokio::test]
async fn waits_for_the_right_answers() {
    let url = gateway(5, true).await;
    let quickstart = Quickstart::new(1).unwrap();
    let outcome = timeout(LIMIT, until_right(&url, &quickstart, false)).await.unwrap().unwrap();
    assert_eq!(outcome, Outcome::Right);
}

#[tokio::test]
async fn a_gateway_that_lets_everybody_through_is_an_error() {
    let url = gateway(0, false).await;
    let quickstart = Quickstart::new(1).unwrap();
    let error = wait(&url, &quickstart, false, Duration::from_millis(300)).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the gateway does not answer right after 300ms: a request without a key should get 401, and got 200"
    );
}

#[tokio::test]
async fn with_changed_objects_any_answer_will_do_but_silence_will_not() {
    let quickstart = Quickstart::new(1).unwrap();
    let patience = Duration::from_millis(300);
    let url = gateway(0, false).await;
    assert_eq!(wait(&url, &quickstart, true, patience).await.unwrap(), Outcome::Other);

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = wait(&format!("http://{silent}"), &quickstart, true, patience).await.unwrap_err().to_string();
    assert!(error.ends_with("a request without a key should get 401, and got no answer"), "{error}");
}
