//! What clients ask for on their way and what no kind of ours is.
//!
//! `kubectl describe` asks for events and `kubectl cluster-info` for services: there are none. `kubectl
//! apply` asks for definitions of further kinds when it meets one that discovery does not know: there are
//! none either, and only then it says so and applies the rest. `kubectl auth` asks who somebody is and what
//! they may do: the authorizer says so.

use std::net::SocketAddr;

use axum::http::{Method, StatusCode};
use keyward_resource::{ApiStatus, KINDS, Kind};
use serde_json::{Value, json};

use crate::access::{Attempt, Authorizer, Identity, Verb};
use crate::dispatch::{Answer, Lookup};
use crate::reply::{not_allowed, success};
use crate::request;

/// Everything that can be done with objects.
const VERBS: [Verb; 8] = [
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
    Verb::DeleteCollection,
];

/// Somebody who asks.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// Decides what they may do.
    pub(crate) authorizer: &'a dyn Authorizer,
    /// Who they are.
    pub(crate) identity: &'a Identity,
    /// Where they come from.
    pub(crate) peer: Option<SocketAddr>,
}

/// Answers if it is one of these.
pub(crate) fn answer(
    caller: Caller<'_>,
    method: &Method,
    lookup: &Lookup<'_>,
    body: &[u8],
) -> Option<Answer> {
    let segments: Vec<&str> = lookup.path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["api", "v1", "events"] | ["api", "v1", "namespaces", _, "events"] => {
            Some(nothing(method, lookup, "v1", "EventList"))
        }
        ["api", "v1", "services"] | ["api", "v1", "namespaces", _, "services"] => {
            Some(nothing(method, lookup, "v1", "ServiceList"))
        }
        ["apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions"] => {
            Some(nothing(method, lookup, "apiextensions.k8s.io/v1", "CustomResourceDefinitionList"))
        }
        ["apis", "authentication.k8s.io", "v1", "selfsubjectreviews"] => {
            Some(reviewed(method, lookup, body, |_| caller.who()))
        }
        ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"] => {
            Some(reviewed(method, lookup, body, |review| caller.access(lookup, &review["spec"])))
        }
        ["apis", "authorization.k8s.io", "v1", "selfsubjectrulesreviews"] => {
            Some(reviewed(method, lookup, body, |review| Ok(caller.rules(lookup, &review["spec"]))))
        }
        _ => None,
    }
}

/// An empty list. It cannot be followed: nothing ever comes.
fn nothing(method: &Method, lookup: &Lookup<'_>, api_version: &str, kind: &str) -> Answer {
    let watch =
        lookup.query.unwrap_or_default().split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
    if watch || !matches!(*method, Method::GET | Method::HEAD) {
        return Ok(not_allowed("GET, HEAD"));
    }
    let list = json!({ "kind": kind, "apiVersion": api_version, "metadata": { "resourceVersion": "" }, "items": [] });
    Ok(success(StatusCode::OK, &list, &[]))
}

/// A review is sent, and comes back with a status.
fn reviewed(
    method: &Method,
    lookup: &Lookup<'_>,
    body: &[u8],
    status: impl FnOnce(&Value) -> Result<Value, ApiStatus>,
) -> Answer {
    if *method != Method::POST {
        return Ok(not_allowed("POST"));
    }
    let mut review = request::body(lookup.headers, body)?;
    if !review.is_object() {
        return Err(ApiStatus::bad_request("the body of the request must be a review"));
    }
    review["status"] = status(&review)?;
    Ok(success(StatusCode::CREATED, &review, &[]))
}

/// The verbs that are meant; none that there is when it is none of ours.
fn verbs(name: &str) -> Vec<Verb> {
    VERBS.into_iter().filter(|verb| name == "*" || verb.as_str() == name).collect()
}

/// The kinds that are meant.
fn kinds(group: &str, resource: &str) -> Vec<&'static Kind> {
    let served = |kind: &Kind| group == "*" || kind.group_versions().any(|place| place.group == group);
    let named = |kind: &Kind| resource == "*" || kind.plural == resource;
    KINDS.iter().copied().filter(|kind| served(kind) && named(kind)).collect()
}

fn text<'a>(attributes: &'a Value, key: &str) -> &'a str {
    attributes[key].as_str().unwrap_or_default()
}

// === impl Caller ===

impl Caller<'_> {
    fn who(&self) -> Result<Value, ApiStatus> {
        Ok(json!({ "userInfo": { "username": &*self.identity.name } }))
    }

    /// Whether they may do all that is asked about.
    fn access(&self, lookup: &Lookup<'_>, spec: &Value) -> Result<Value, ApiStatus> {
        let resource = &spec["resourceAttributes"];
        if !resource.is_object() {
            let path = spec["nonResourceAttributes"]["path"].as_str().ok_or_else(|| {
                ApiStatus::bad_request("spec.resourceAttributes: Required value: say what it is about")
            })?;
            let read = matches!(text(&spec["nonResourceAttributes"], "verb"), "get" | "head");
            let why = format!("{path} is read only");
            return Ok(json!({ "allowed": read, "reason": if read { String::new() } else { why } }));
        }
        let (verbs, kinds) =
            (verbs(text(resource, "verb")), kinds(text(resource, "group"), text(resource, "resource")));
        if verbs.is_empty() {
            return Ok(json!({ "allowed": false, "reason": "there is no such verb" }));
        }
        let Some(first) = kinds.first() else {
            return Ok(json!({ "allowed": false, "reason": "there is no such resource" }));
        };
        let place = (text(resource, "namespace"), text(resource, "name"));
        let mut refusal = Some(ApiStatus::written_by_server(first));
        for kind in kinds {
            // What nobody can do counts only where nothing else is asked about.
            for verb in verbs.iter().filter(|verb| verb.is_served(kind)) {
                if let Err(refusal) = self.may(lookup, *verb, kind, place) {
                    return Ok(json!({ "allowed": false, "reason": refusal.message }));
                }
                refusal = None;
            }
        }
        Ok(match refusal {
            None => json!({ "allowed": true }),
            Some(refusal) => json!({ "allowed": false, "reason": refusal.message }),
        })
    }

    /// Everything that they may do in a namespace.
    fn rules(&self, lookup: &Lookup<'_>, spec: &Value) -> Value {
        let namespace = text(spec, "namespace");
        let rules: Vec<Value> = KINDS
            .iter()
            .filter_map(|kind| {
                let allowed: Vec<&str> = VERBS
                    .iter()
                    .filter(|verb| {
                        verb.is_served(kind) && self.may(lookup, **verb, kind, (namespace, "")).is_ok()
                    })
                    .map(|verb| verb.as_str())
                    .collect();
                let groups: Vec<&str> = kind.group_versions().map(|place| place.group).collect();
                let rule = json!({ "apiGroups": groups, "resources": [kind.plural], "verbs": allowed });
                (!allowed.is_empty()).then_some(rule)
            })
            .collect();
        let documents = json!({ "verbs": ["get"], "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"] });
        json!({ "resourceRules": rules, "nonResourceRules": [documents], "incomplete": false })
    }

    fn may(
        &self,
        lookup: &Lookup<'_>,
        verb: Verb,
        kind: &'static Kind,
        (namespace, name): (&str, &str),
    ) -> Result<Identity, ApiStatus> {
        let given = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let namespace = given(namespace).filter(|_| kind.is_namespaced());
        let (headers, peer) = (lookup.headers, self.peer);
        self.authorizer.authorize(&Attempt {
            verb,
            kind: Some(kind),
            namespace,
            name: given(name),
            path: lookup.path,
            headers,
            peer,
        })
    }
}

#[cfg(test)]
mod tests;
