//! The `Status` object of Kubernetes: how the REST API answers when there is no object to answer
//! with. Users and their tools know these reasons and sentences.

use serde::Serialize;

use crate::error::{FieldError, FieldErrorReason};
use crate::kind::{GroupVersion, Kind};

/// A Kubernetes `Status`. Serialize it as the body, with [`code`](Self::code) as HTTP status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiStatus {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta,
    status: Outcome,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Box<Details>>,
    /// The HTTP status.
    pub code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ListMeta {
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    continue_token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Outcome {
    Success,
    Failure,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

/// One thing that is wrong, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// What kind of mistake it is: `FieldValueInvalid`, `FieldManagerConflict`.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
    /// In which field, if it is about one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

// === impl ApiStatus ===

impl ApiStatus {
    /// The same in other words: the message, and those of its causes.
    #[must_use]
    pub fn reworded(mut self, words: impl Fn(&str) -> String) -> Self {
        self.message = words(&self.message);
        for cause in self.details.iter_mut().flat_map(|details| &mut details.causes) {
            cause.message = words(&cause.message);
        }
        self
    }

    /// 404: there is no such object.
    #[must_use]
    pub fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.qualified_plural());
        Self::failure(404, "NotFound", message).about(Details::of(kind, kind.plural, name))
    }

    /// 404: there is nothing at this path.
    #[must_use]
    pub fn no_such_path() -> Self {
        Self::failure(404, "NotFound", "the server could not find the requested resource".to_owned())
    }

    /// 409: the object exists already.
    #[must_use]
    pub fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.qualified_plural());
        Self::failure(409, "AlreadyExists", message).about(Details::of(kind, kind.plural, name))
    }

    /// 409: the object is not what the request took it for.
    #[must_use]
    pub fn conflict(kind: &Kind, name: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: the object has been modified; please apply your \
             changes to the latest version and try again",
            kind.qualified_plural()
        );
        Self::failure(409, "Conflict", message).about(Details::of(kind, kind.plural, name))
    }

    /// 409: the object is not what the request took it for, for another reason than a later version.
    #[must_use]
    pub fn conflict_because(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified_plural());
        Self::failure(409, "Conflict", message).about(Details::of(kind, kind.plural, name))
    }

    /// 409: other managers own fields that were to be applied with another value.
    #[must_use]
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::failure(409, "Conflict", message).about(Details { causes, ..Details::default() })
    }

    /// 422: the object has mistakes.
    #[must_use]
    pub fn invalid(kind: &Kind, name: &str, errors: &[FieldError]) -> Self {
        let mut list: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let all = if list.len() == 1 { list.remove(0) } else { format!("[{}]", list.join(", ")) };
        let group = kind.group_version.group;
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{}{dot}{group} {name:?} is invalid: {all}", kind.name);
        let causes = errors.iter().map(Cause::from).collect();
        let details = Details { causes, ..Details::of(kind, kind.name, name) };
        Self::failure(422, "Invalid", message).about(details)
    }

    /// 403: the change is well in itself, and does not go together with the other objects. As Kubernetes
    /// answers for whoever else has a say; of a 422, clients show the causes and not what they are due to.
    #[must_use]
    pub fn refused(kind: &Kind, name: &str, reasons: &[String]) -> Self {
        let message = format!(
            "{} {name:?} is refused, as the Settings demand (spec.gateway.validation): {}",
            kind.qualified_plural(),
            reasons.join("; ")
        );
        let cause = |reason: &String| Cause {
            reason: FieldErrorReason::Invalid.as_str(),
            message: reason.clone(),
            field: String::new(),
        };
        let causes = reasons.iter().map(cause).collect();
        let details = Details { causes, ..Details::of(kind, kind.plural, name) };
        Self::failure(403, "Forbidden", message).about(details)
    }

    /// 400: the request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message.into())
    }

    /// 400: the body is malformed.
    #[must_use]
    pub fn malformed(error: &FieldError) -> Self {
        let details = Details { causes: vec![Cause::from(error)], ..Details::default() };
        Self::failure(400, "BadRequest", error.to_string()).about(details)
    }

    /// 401: it is not clear who asks.
    #[must_use]
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::failure(401, "Unauthorized", message.into())
    }

    /// 403: whoever asks may not do that with this object, or with these objects when there is no name.
    #[must_use]
    pub fn denied(kind: &Kind, name: &str, why: &str) -> Self {
        let object = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        let message = format!("{}{object} is forbidden: {why}", kind.qualified_plural());
        Self::failure(403, "Forbidden", message).about(Details::of(kind, kind.plural, name))
    }

    /// 403: not from there, or not by this name.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::failure(403, "Forbidden", message.into())
    }

    /// 403: not with this object.
    #[must_use]
    pub fn forbidden_object(kind: &Kind, name: &str, why: &str, cause: Option<Cause>) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", kind.qualified_plural());
        let causes = cause.into_iter().collect();
        let details = Details { causes, ..Details::of(kind, kind.plural, name) };
        Self::failure(403, "Forbidden", message).about(details)
    }

    /// 405: not this method on this path.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::failure(405, "MethodNotAllowed", message.to_owned())
    }

    /// 405: objects of this kind are written by the server alone.
    #[must_use]
    pub fn written_by_server(kind: &Kind) -> Self {
        let message = format!(
            "{} are written by the control server alone and can only be read: change the objects that they \
             are made of, and they follow",
            kind.qualified_plural()
        );
        Self::failure(405, "MethodNotAllowed", message).about(Details::of(kind, kind.plural, ""))
    }

    /// 405: what there is to say of an object is said by the server alone.
    #[must_use]
    pub fn status_is_read_only(kind: &Kind, name: &str) -> Self {
        let message = format!(
            "the status of {} {name:?} is what the control server says of it, and can only be read: change \
             the object, and it follows",
            kind.qualified_plural()
        );
        Self::failure(405, "MethodNotAllowed", message).about(Details::of(kind, kind.plural, name))
    }

    /// 410: the revision to go on from is gone; list again.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message.into())
    }

    /// 410: the list cannot go on as it began; the token goes on with what there is now.
    #[must_use]
    pub fn expired_list(message: impl Into<String>, continue_token: String) -> Self {
        Self { metadata: ListMeta { continue_token }, ..Self::expired(message) }
    }

    /// 504: the version asked for is not there yet.
    #[must_use]
    pub fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause = Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let details = Details { causes: vec![cause], retry_after_seconds: Some(1), ..Details::default() };
        Self::failure(504, "Timeout", format!("Timeout: {message}")).about(details)
    }

    /// 504: what was waited for did not come.
    #[must_use]
    pub fn timeout(message: &str, causes: Vec<Cause>) -> Self {
        let details = Details { causes, retry_after_seconds: Some(1), ..Details::default() };
        Self::failure(504, "Timeout", format!("Timeout: {message}")).about(details)
    }

    /// 406: the client accepts none of the forms that there are.
    #[must_use]
    pub fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::failure(406, "NotAcceptable", message.to_owned())
    }

    /// 413: the body is longer than the limit.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        let message = format!("the body of the request is too large: limit is {limit} bytes");
        Self::failure(413, "RequestEntityTooLarge", message)
    }

    /// 415: the body is neither JSON nor YAML.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json, application/yaml";
        Self::failure(415, "UnsupportedMediaType", message.to_owned())
    }

    /// 415: a patch of a type that is not served, or not for this kind.
    #[must_use]
    pub fn unsupported_patch_type(strategic: bool) -> Self {
        let more = if strategic { ", application/strategic-merge-patch+json" } else { "" };
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json{more}, application/apply-patch+yaml"
        );
        Self::failure(415, "UnsupportedMediaType", message)
    }

    /// 422: a patch that cannot be carried out on the object.
    #[must_use]
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::failure(422, "Invalid", message.into())
    }

    /// 500: something failed inside. The message is for outsiders.
    #[must_use]
    pub fn internal(message: &str) -> Self {
        Self::failure(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// 503: not now; the client should come back.
    #[must_use]
    pub fn unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let details = Details { retry_after_seconds: Some(retry_after_seconds), ..Details::default() };
        Self::failure(503, "ServiceUnavailable", message.into()).about(details)
    }

    /// 200: the object is deleted.
    #[must_use]
    pub fn deleted(kind: &Kind, name: &str, uid: &str) -> Self {
        let details = Details { uid: uid.to_owned(), ..Details::of(kind, kind.plural, name) };
        let status = Self { status: Outcome::Success, ..Self::failure(200, "", String::new()) };
        status.about(details)
    }

    /// The same, to whoever asked for the kind in this group, which may be an alias of its own.
    #[must_use]
    pub fn as_asked(mut self, kind: &Kind, asked: GroupVersion) -> Self {
        let own = kind.group_version.group;
        let Some(details) = self.details.as_mut().filter(|details| details.group == own) else { return self };
        if asked.group != own {
            details.group = asked.group;
            for name in [kind.plural, kind.name] {
                let (ours, theirs) = (format!("{name}.{own}"), format!("{name}.{}", asked.group));
                self.message = self.message.replacen(&ours, &theirs, 1);
            }
        }
        self
    }

    /// What is wrong, mistake by mistake, if that is known.
    #[must_use]
    pub fn causes(&self) -> &[Cause] {
        self.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default()
    }

    /// How long the client should wait before it asks again, in seconds.
    #[must_use]
    pub fn retry_after(&self) -> Option<u32> {
        self.details.as_ref()?.retry_after_seconds
    }

    fn failure(code: u16, reason: &'static str, message: String) -> Self {
        Self {
            kind: "Status",
            api_version: "v1",
            metadata: ListMeta { continue_token: String::new() },
            status: Outcome::Failure,
            message,
            reason,
            details: None,
            code,
        }
    }

    fn about(self, details: Details) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }
}

// === impl Details ===

impl Details {
    /// Kubernetes names the plural here, but the kind itself where an object is invalid.
    fn of(kind: &Kind, named: &'static str, name: &str) -> Self {
        Self { name: name.to_owned(), group: kind.group_version.group, kind: named, ..Self::default() }
    }
}

// === impl Cause ===

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self { reason: error.reason.as_str(), message: error.message.clone(), field: error.path.clone() }
    }
}

#[cfg(test)]
mod tests;
