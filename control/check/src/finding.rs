//! A problem that was found.

use keyward_resource::ObjectRef;
use serde::Serialize;

use crate::code::Code;

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What sort of problem.
    pub code: &'static Code,
    /// Whose it is.
    pub object: Option<Named>,
    /// What that leads to.
    pub reference: Option<Named>,
    /// The whole of it, for people.
    pub message: String,
}

/// An object, or a part of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The kind: `VirtualService`, `Deployment`, `Pod`.
    pub kind: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

// === impl Finding ===

impl Finding {
    pub(crate) fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self { code, object: None, reference: None, message: message.into() }
    }

    pub(crate) fn of(self, kind: &'static str, id: &ObjectRef) -> Self {
        Self { object: Some(Named::new(kind, id)), ..self }
    }

    pub(crate) fn leading_to(self, kind: &'static str, id: &ObjectRef) -> Self {
        Self { reference: Some(Named::new(kind, id)), ..self }
    }
}

// === impl Named ===

impl Named {
    pub(crate) fn new(kind: &'static str, id: &ObjectRef) -> Self {
        Self { kind, namespace: id.namespace.clone(), name: id.name.clone() }
    }
}
