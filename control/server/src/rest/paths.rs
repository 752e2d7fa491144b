//! The paths beside the resource API. None is answered that `GET /` does not list.

use axum::Router;
use axum::routing::MethodRouter;

/// Routes, and where they are.
#[derive(Default)]
pub(super) struct Paths {
    router: Router,
    known: Vec<&'static str>,
}

// === impl Paths ===

impl Paths {
    /// The same with one more.
    pub(super) fn route(mut self, path: &'static str, methods: MethodRouter) -> Self {
        self.known.push(path);
        Self { router: self.router.route(path, methods), ..self }
    }

    /// Where they are.
    pub(super) fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// What answers there.
    pub(super) fn into_router(self) -> Router {
        self.router
    }
}
