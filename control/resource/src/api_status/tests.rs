use serde_json::{Value, json};

use super::*;
use crate::error::FieldErrorReason;
use crate::kind;

fn body(status: &ApiStatus) -> Value {
    serde_json::to_value(status).expect("a status is JSON")
}

fn of(name: &str) -> &'static Kind {
    kind::by_name(name).expect("the kind exists")
}

#[test]
fn a_missing_object_is_named_as_kubectl_prints_it() {
    assert_eq!(
        body(&ApiStatus::not_found(of("VirtualService"), "x")),
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "virtualservices.gateway.keyward.io \"x\" not found",
            "reason": "NotFound",
            "details": { "name": "x", "group": "gateway.keyward.io", "kind": "virtualservices" },
            "code": 404,
        })
    );
    assert_eq!(ApiStatus::not_found(of("Secret"), "x").message, "secrets \"x\" not found");
}

#[test]
fn whoever_asks_in_another_group_is_answered_in_it() {
    let service = of("VirtualService");
    let (_, alias) = kind::by_path("gateway.solo.io", "v1", "virtualservices").expect("an alias");
    let missing = body(&ApiStatus::not_found(service, "x").as_asked(service, alias));
    assert_eq!(missing["message"], "virtualservices.gateway.solo.io \"x\" not found");
    assert_eq!(missing["details"]["group"], "gateway.solo.io");
    let error = FieldError::new("spec.a", FieldErrorReason::Required, "Required value: a");
    let invalid = body(&ApiStatus::invalid(service, "x", &[error]).as_asked(service, alias));
    assert_eq!(
        invalid["message"],
        "VirtualService.gateway.solo.io \"x\" is invalid: spec.a: Required value: a"
    );
    let own = ApiStatus::not_found(service, "x");
    assert_eq!(own.clone().as_asked(service, service.group_version), own);
}

#[test]
fn every_mistake_is_a_cause() {
    let one = FieldError::new("spec.a", FieldErrorReason::Required, "Required value: a");
    let two = FieldError::new("spec.b", FieldErrorReason::NotSupported, "is not supported");
    let status = ApiStatus::invalid(of("Upstream"), "u", &[one.clone(), two]);
    assert_eq!(
        body(&status),
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Upstream.service.keyward.io \"u\" is invalid: \
                        [spec.a: Required value: a, spec.b: is not supported]",
            "reason": "Invalid",
            "details": {
                "name": "u",
                "group": "service.keyward.io",
                "kind": "Upstream",
                "causes": [
                    { "reason": "FieldValueRequired", "message": "Required value: a", "field": "spec.a" },
                    { "reason": "FieldValueNotSupported", "message": "is not supported", "field": "spec.b" },
                ],
            },
            "code": 422,
        })
    );
    let alone = ApiStatus::invalid(of("Secret"), "s", &[one]);
    assert_eq!(alone.message, "Secret \"s\" is invalid: spec.a: Required value: a");
}

#[test]
fn a_deletion_succeeds() {
    assert_eq!(
        body(&ApiStatus::deleted(of("Gateway"), "g", "u-1")),
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": { "name": "g", "group": "gateway.keyward.io", "kind": "gateways", "uid": "u-1" },
            "code": 200,
        })
    );
}

#[test]
fn codes_and_reasons_go_together() {
    let kind = of("AuthConfig");
    let malformed = FieldError::new("", FieldErrorReason::TypeInvalid, "malformed JSON");
    for (status, code, reason) in [
        (ApiStatus::no_such_path(), 404, "NotFound"),
        (ApiStatus::already_exists(kind, "a"), 409, "AlreadyExists"),
        (ApiStatus::conflict(kind, "a"), 409, "Conflict"),
        (ApiStatus::bad_request("no"), 400, "BadRequest"),
        (ApiStatus::malformed(&malformed), 400, "BadRequest"),
        (ApiStatus::method_not_allowed(), 405, "MethodNotAllowed"),
        (ApiStatus::expired("too old resource version"), 410, "Expired"),
        (ApiStatus::too_large(10), 413, "RequestEntityTooLarge"),
        (ApiStatus::unsupported_media_type(), 415, "UnsupportedMediaType"),
        (ApiStatus::internal("no"), 500, "InternalError"),
        (ApiStatus::unavailable("not yet", 1), 503, "ServiceUnavailable"),
    ] {
        assert_eq!((status.code, status.reason), (code, reason));
        assert!(!status.message.is_empty(), "{reason}");
    }
    assert_eq!(body(&ApiStatus::unavailable("not yet", 7))["details"]["retryAfterSeconds"], json!(7));
}
