//! Which version of Keyward answers.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

/// With every answer, so that a client can compare its version without asking for it.
const HEADER: HeaderName = HeaderName::from_static("keyward-version");

/// Says it to everybody who is known: strangers need not know what they deal with.
pub(super) async fn say(mut response: Response) -> Response {
    if response.status() != StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(HEADER, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    }
    response
}
