//! Counts the calls of an HTTP service, gRPC or not.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Buf as _;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tower::{Layer, Service};

use crate::calls::{Call, Calls, Method};

#[cfg(test)]
mod tests;

/// In the head or the trailers of what gRPC answers.
const GRPC_STATUS: &str = "grpc-status";

/// Puts a counter around a service. A service whose bodies are `B`.
pub struct Meter<B> {
    calls: Calls,
    name: fn(&Request<B>) -> Method,
    wrap: fn(MeteredBody<B>) -> B,
}

/// A service that is counted.
pub struct Metered<S, B> {
    inner: S,
    meter: Meter<B>,
}

/// A body that is counted.
#[derive(Debug)]
pub struct MeteredBody<B> {
    inner: B,
    // Held by both bodies of a call: the last one gone is its end.
    call: Arc<Mutex<Call>>,
    direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}

/// Whether gRPC says that something went wrong; not, when it says nothing.
fn is_failure(headers: &HeaderMap) -> bool {
    headers.get(GRPC_STATUS).is_some_and(|status| status.as_bytes() != b"0")
}

// === impl Meter ===

impl<B> Meter<B> {
    /// Counts in `calls`, by what `name` says of a request; `wrap` makes an ordinary body of one that is
    /// counted.
    #[must_use]
    pub fn new(calls: Calls, name: fn(&Request<B>) -> Method, wrap: fn(MeteredBody<B>) -> B) -> Self {
        Self { calls, name, wrap }
    }
}

impl<B> Clone for Meter<B> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone(), name: self.name, wrap: self.wrap }
    }
}

impl<S, B> Layer<S> for Meter<B> {
    type Service = Metered<S, B>;

    fn layer(&self, inner: S) -> Self::Service {
        Metered { inner, meter: self.clone() }
    }
}

// === impl Metered ===

impl<S: Clone, B> Clone for Metered<S, B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), meter: self.meter.clone() }
    }
}

impl<S, B> Service<Request<B>> for Metered<S, B>
where
    S: Service<Request<B>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let call = Arc::new(Mutex::new(self.meter.calls.begin((self.meter.name)(&request))));
        let wrap = self.meter.wrap;
        let request = request
            .map(|inner| wrap(MeteredBody { inner, call: Arc::clone(&call), direction: Direction::In }));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            let failed = answer.status().is_client_error()
                || answer.status().is_server_error()
                || is_failure(answer.headers());
            if failed {
                call.lock().unwrap_or_else(PoisonError::into_inner).fail();
            }
            Ok(answer.map(|inner| wrap(MeteredBody { inner, call, direction: Direction::Out })))
        })
    }
}

// === impl MeteredBody ===

impl<B> Body for MeteredBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(data) = frame.data_ref() {
                let bytes = data.remaining() as u64;
                match self.direction {
                    Direction::In => call.received(bytes),
                    Direction::Out => call.sent(bytes),
                }
            }
            if self.direction == Direction::Out && frame.trailers_ref().is_some_and(is_failure) {
                call.fail();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
