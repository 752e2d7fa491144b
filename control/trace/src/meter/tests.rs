use std::convert::Infallible;

use http::HeaderValue;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use tower::service_fn;

use super::*;

type Plain = UnsyncBoxBody<Bytes, Infallible>;

fn plain(text: &'static str) -> Plain {
    Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync()
}

fn with_trailers(status: &'static str) -> Plain {
    let trailers = HeaderMap::from_iter([(
        http::HeaderName::from_static(GRPC_STATUS),
        HeaderValue::from_static(status),
    )]);
    let frames = [Ok(Frame::data(Bytes::from_static(b"four"))), Ok(Frame::trailers(trailers))];
    StreamBody::new(futures::stream::iter(frames)).boxed_unsync()
}

fn name(request: &Request<Plain>) -> Method {
    Method { side: "grpc", name: request.uri().path().to_owned().into() }
}

/// Calls a service that reads its body and answers; gives the answer's body back.
async fn ask(calls: &Calls, status: u16, body: Plain) -> Plain {
    let body = Arc::new(Mutex::new(Some(body)));
    let service = service_fn(move |request: Request<Plain>| {
        let body = body.lock().unwrap().take().expect("one call");
        async move {
            request.into_body().collect().await?;
            let mut answer = Response::new(body);
            *answer.status_mut() = http::StatusCode::from_u16(status).expect("a status");
            Ok::<_, Infallible>(answer)
        }
    });
    let mut service = Meter::new(calls.clone(), name, |body| body.boxed_unsync()).layer(service);
    let request = Request::builder().uri("/a/b").body(plain("question")).expect("a request");
    service.call(request).await.expect("an answer").into_body()
}

#[tokio::test]
async fn a_call_lasts_as_long_as_its_answer() {
    let calls = Calls::default();
    let body = ask(&calls, 200, plain("an answer")).await;
    let counts = calls.counts().pop().expect("the method");
    assert_eq!((&*counts.method.name, counts.begun, counts.running), ("/a/b", 1, 1));
    assert_eq!((counts.received, counts.sent), (8, 0));
    body.collect().await.expect("a body");
    let counts = calls.counts().pop().expect("the method");
    assert_eq!((counts.running, counts.failed, counts.sent), (0, 0, 9));
}

#[tokio::test]
async fn failures_are_told_by_codes_and_by_trailers() {
    for (status, body, failed) in [
        (200, plain(""), 0),
        (404, plain(""), 1),
        (500, plain(""), 1),
        (200, with_trailers("0"), 0),
        (200, with_trailers("13"), 1),
    ] {
        let calls = Calls::default();
        drop(ask(&calls, status, body).await.collect().await.expect("a body"));
        assert_eq!(calls.counts()[0].failed, failed, "{status}");
    }
}

#[tokio::test]
async fn a_stream_that_somebody_leaves_has_ended_and_not_failed() {
    let calls = Calls::default();
    drop(ask(&calls, 200, with_trailers("0")).await);
    assert_eq!((calls.counts()[0].running, calls.counts()[0].failed), (0, 0));
}
