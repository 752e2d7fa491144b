//! What is wrong with an object, field by field.

use std::fmt;

/// One thing that is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Where: `spec.virtualHost.routes[1].matchers[0].prefix`.
    pub path: String,
    /// What kind of mistake it is.
    pub reason: FieldErrorReason,
    /// What is wrong, the bad value (never of a Secret) and what is allowed.
    pub message: String,
}

/// The kinds of mistake, named as the causes of a Kubernetes `Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorReason {
    /// `FieldValueRequired`
    Required,
    /// `FieldValueInvalid`
    Invalid,
    /// `FieldValueNotSupported`: a value, or a field of the original product that is not served.
    NotSupported,
    /// `FieldValueDuplicate`
    Duplicate,
    /// `FieldValueTypeInvalid`: also malformed JSON or YAML.
    TypeInvalid,
}

/// All mistakes in one sentence, for a status or a log line.
#[must_use]
pub fn summary(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

// === impl FieldError ===

impl FieldError {
    /// A mistake from its three parts.
    pub fn new(path: impl Into<String>, reason: FieldErrorReason, message: impl Into<String>) -> Self {
        Self { path: path.into(), reason, message: message.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

// === impl FieldErrorReason ===

impl FieldErrorReason {
    /// The reason as Kubernetes spells it in `details.causes[].reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}
