//! Who may use the ports: asked of whoever knows.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::envelope;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It looks at what is no secret: counts, levels, lists of endpoints.
    Look,
    /// It looks at everything that the server holds, or changes how the server works.
    Operate,
}

/// Why somebody may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 401 or 403; 500 when it cannot be found out.
    pub code: StatusCode,
    /// What is missing.
    pub message: String,
}

/// Who was let through, as in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who(pub String);

/// Decides who may.
pub trait Gate: Send + Sync + 'static {
    /// Lets somebody through, or says why not.
    ///
    /// # Errors
    ///
    /// When they may not, or when that remains unclear.
    fn admit(&self, need: Need, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, Refusal>;
}

/// A gate, and what reading needs. Whatever is no reading is operating.
#[derive(Clone)]
pub(crate) struct Guard {
    gate: Arc<dyn Gate>,
    reading: Need,
}

/// The middleware.
pub(crate) async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let need = if reads { guard.reading } else { Need::Operate };
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    match guard.gate.admit(need, request.headers(), peer) {
        Ok(who) => {
            request.extensions_mut().insert(who);
            next.run(request).await
        }
        Err(Refusal { code, message }) => envelope::failed(code, &message, false),
    }
}

// === impl Guard ===

impl Guard {
    pub(crate) fn new(gate: &Arc<dyn Gate>, reading: Need) -> Self {
        Self { gate: Arc::clone(gate), reading }
    }
}
