//! Tests of the courtesies.

use axum::body::to_bytes;
use axum::http::HeaderMap;

use super::*;

/// Lets everybody read what is no Secret.
struct Reader;

impl Authorizer for Reader {
    fn authorize(&self, attempt: &Attempt<'_>) -> Result<Identity, ApiStatus> {
        let secret = attempt.kind.is_some_and(|kind| kind.name == "Secret");
        if secret || !matches!(attempt.verb, Verb::Get | Verb::List | Verb::Watch) {
            return Err(ApiStatus::forbidden("a reader only reads"));
        }
        Ok(Identity::internal("reader"))
    }
}

async fn ask(method: Method, path: &str, query: Option<&str>, body: &Value) -> Option<(u16, Value)> {
    let identity = Identity::internal("reader");
    let caller = Caller { authorizer: &Reader, identity: &identity, peer: None };
    let headers = HeaderMap::new();
    let lookup = Lookup { path, query, headers: &headers, beside: &[] };
    match answer(caller, &method, &lookup, body.to_string().as_bytes())? {
        Ok(response) => {
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("a whole body");
            Some((status, serde_json::from_slice(&bytes).expect("JSON")))
        }
        Err(refusal) => Some((refusal.code, Value::Null)),
    }
}

async fn may(attributes: Value) -> Value {
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({ "kind": "SelfSubjectAccessReview", "spec": attributes });
    let (status, answer) = ask(Method::POST, path, None, &review).await.expect("it is answered");
    assert_eq!(status, 201);
    assert_eq!(answer["kind"], "SelfSubjectAccessReview");
    answer["status"]["allowed"].clone()
}

#[tokio::test]
async fn somebody_learns_what_they_may_do() {
    let on = |verb: &str, group: &str, resource: &str| json!({ "resourceAttributes": { "verb": verb, "group": group, "resource": resource, "namespace": "a" } });
    let virtual_services = "virtualservices";
    assert_eq!(may(on("get", "gateway.keyward.io", virtual_services)).await, true);
    assert_eq!(may(on("get", "gateway.solo.io", virtual_services)).await, true);
    assert_eq!(may(on("get", "service.keyward.io", virtual_services)).await, false);
    assert_eq!(may(on("update", "gateway.keyward.io", virtual_services)).await, false);
    assert_eq!(may(on("*", "gateway.keyward.io", virtual_services)).await, false);
    assert_eq!(may(on("get", "", "secrets")).await, false);
    assert_eq!(may(on("get", "*", "*")).await, false);
    assert_eq!(may(on("get", "service.keyward.io", "proxies")).await, true);
    assert_eq!(may(on("*", "service.keyward.io", "proxies")).await, true);
    assert_eq!(may(on("create", "service.keyward.io", "proxies")).await, false);
    assert_eq!(may(on("escalate", "gateway.keyward.io", virtual_services)).await, false);
    assert_eq!(may(json!({ "nonResourceAttributes": { "verb": "get", "path": "/version" } })).await, true);
    assert_eq!(may(json!({ "nonResourceAttributes": { "verb": "put", "path": "/version" } })).await, false);
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(ask(Method::POST, path, None, &json!({ "spec": {} })).await, Some((400, Value::Null)));
}

#[tokio::test]
async fn somebody_learns_everything_that_they_may_do() {
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (_, answer) = ask(Method::POST, path, None, &json!({ "spec": { "namespace": "a" } }))
        .await
        .expect("it is answered");
    let rules = answer["status"]["resourceRules"].as_array().expect("rules");
    assert!(rules.iter().all(|rule| rule["verbs"] == json!(["get", "list", "watch"])), "{rules:?}");
    assert!(rules.iter().any(|rule| rule["resources"] == json!(["upstreams"])), "{rules:?}");
    assert!(rules.iter().all(|rule| rule["resources"] != json!(["secrets"])), "{rules:?}");
}

#[tokio::test]
async fn somebody_learns_who_they_are() {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (status, answer) =
        ask(Method::POST, path, None, &json!({ "kind": "SelfSubjectReview" })).await.expect("it is answered");
    assert_eq!((status, &answer["status"]["userInfo"]["username"]), (201, &json!("reader")));
    let (status, _) = ask(Method::GET, path, None, &Value::Null).await.expect("it is answered");
    assert_eq!(status, 405);
}

#[tokio::test]
async fn there_are_no_events_no_services_and_no_further_kinds() {
    for (path, kind) in [
        ("/api/v1/events", "EventList"),
        ("/api/v1/namespaces/a/events", "EventList"),
        ("/api/v1/namespaces/a/services", "ServiceList"),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "CustomResourceDefinitionList"),
    ] {
        let (status, list) = ask(Method::GET, path, None, &Value::Null).await.expect("it is answered");
        assert_eq!((status, &list["kind"], &list["items"]), (200, &json!(kind), &json!([])), "{path}");
        let (status, _) =
            ask(Method::GET, path, Some("watch=true"), &Value::Null).await.expect("it is answered");
        assert_eq!(status, 405, "{path}");
        let (status, _) = ask(Method::POST, path, None, &Value::Null).await.expect("it is answered");
        assert_eq!(status, 405, "{path}");
    }
    for path in ["/api/v1/pods", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a"] {
        assert_eq!(ask(Method::GET, path, None, &Value::Null).await, None);
    }
}
