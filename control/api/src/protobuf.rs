//! Protobuf bodies: `kubectl` from 1.32 on sends the kinds that it knows itself in no other form.
//!
//! ```text
//! "k8s\0" · Unknown{ apiVersion, kind, raw } ─▶ message of the kind ─▶ the JSON that it stands for
//! ```
//!
//! Answers are JSON: every client that sends protobuf takes both. The messages are those of the public
//! `k8s.io` packages, as far as there is a use for their fields here.

mod messages;

use jiff::Timestamp;
use keyward_resource::ApiStatus;
use prost::Message;
use serde_json::{Map, Value, json};

use self::messages::{
    AccessReview, DeleteOptions, Namespace, ObjectMeta, Review, RulesReview, Secret, Time, Unknown,
};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Reads a body.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiStatus> {
    let malformed = || ApiStatus::bad_request("the body of the request is no protobuf of Kubernetes");
    let envelope = body.strip_prefix(MAGIC).ok_or_else(malformed)?;
    let envelope = Unknown::decode(envelope).map_err(|_| malformed())?;
    let meta = envelope.type_meta.unwrap_or_default();
    let raw = envelope.raw.as_slice();
    let value = match meta.kind.as_str() {
        "Secret" => Secret::decode(raw).map(secret),
        "Namespace" => Namespace::decode(raw).map(namespace),
        "DeleteOptions" => DeleteOptions::decode(raw).map(delete_options),
        "SelfSubjectAccessReview" => AccessReview::decode(raw).map(access_review),
        "SelfSubjectRulesReview" => RulesReview::decode(raw).map(rules_review),
        "SelfSubjectReview" => {
            Review::decode(raw).map(|review| json!({ "metadata": review.metadata.map(metadata) }))
        }
        kind => {
            let message = format!("{kind} is not read from protobuf: send application/json");
            return Err(ApiStatus::bad_request(message));
        }
    };
    let mut value = value.map_err(|_| malformed())?;
    value["apiVersion"] = meta.api_version.into();
    value["kind"] = meta.kind.into();
    Ok(value)
}

/// An object of the fields that say something: in protobuf, what is missing looks like what is empty.
fn fields<const N: usize>(all: [(&str, Value); N]) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    let all = all.into_iter().filter(|(_, value)| says(value));
    all.map(|(name, value)| (name.to_owned(), value)).collect::<Map<String, Value>>().into()
}

fn time(time: Time) -> Value {
    Timestamp::from_second(time.seconds).map_or(Value::Null, |time| time.to_string().into())
}

fn metadata(meta: ObjectMeta) -> Value {
    let owners: Vec<Value> = meta
        .owner_references
        .into_iter()
        .map(|owner| {
            fields([
                ("apiVersion", owner.api_version.into()),
                ("kind", owner.kind.into()),
                ("name", owner.name.into()),
                ("uid", owner.uid.into()),
                ("controller", owner.controller.into()),
                ("blockOwnerDeletion", owner.block_owner_deletion.into()),
            ])
        })
        .collect();
    fields([
        ("name", meta.name.into()),
        ("generateName", meta.generate_name.into()),
        ("namespace", meta.namespace.into()),
        ("uid", meta.uid.into()),
        ("resourceVersion", meta.resource_version.into()),
        ("generation", Some(meta.generation).filter(|generation| *generation != 0).into()),
        ("creationTimestamp", meta.creation_timestamp.map(time).into()),
        ("deletionTimestamp", meta.deletion_timestamp.map(time).into()),
        ("labels", json!(meta.labels)),
        ("annotations", json!(meta.annotations)),
        ("ownerReferences", owners.into()),
        ("finalizers", meta.finalizers.into()),
    ])
}

fn secret(secret: Secret) -> Value {
    use base64::Engine as _;
    let data: Map<String, Value> = secret
        .data
        .into_iter()
        .map(|(key, bytes)| (key, base64::engine::general_purpose::STANDARD.encode(bytes).into()))
        .collect();
    fields([
        ("metadata", secret.metadata.map(metadata).into()),
        ("type", secret.r#type.into()),
        ("data", data.into()),
        ("stringData", json!(secret.string_data)),
        ("immutable", secret.immutable.into()),
    ])
}

fn namespace(namespace: Namespace) -> Value {
    let finalizers = namespace.spec.unwrap_or_default().finalizers;
    fields([
        ("metadata", namespace.metadata.map(metadata).into()),
        ("spec", fields([("finalizers", finalizers.into())])),
    ])
}

fn delete_options(options: DeleteOptions) -> Value {
    let preconditions = options.preconditions.map(|conditions| {
        fields([("uid", conditions.uid.into()), ("resourceVersion", conditions.resource_version.into())])
    });
    fields([
        ("gracePeriodSeconds", options.grace_period_seconds.into()),
        ("preconditions", preconditions.into()),
        ("orphanDependents", options.orphan_dependents.into()),
        ("propagationPolicy", options.propagation_policy.into()),
        ("dryRun", options.dry_run.into()),
    ])
}

fn access_review(review: AccessReview) -> Value {
    let spec = review.spec.unwrap_or_default();
    let resource = spec.resource_attributes.map(|about| {
        json!({
            "namespace": about.namespace,
            "verb": about.verb,
            "group": about.group,
            "version": about.version,
            "resource": about.resource,
            "subresource": about.subresource,
            "name": about.name,
        })
    });
    let path = spec.non_resource_attributes.map(|about| json!({ "path": about.path, "verb": about.verb }));
    let spec = fields([("resourceAttributes", resource.into()), ("nonResourceAttributes", path.into())]);
    json!({ "metadata": review.metadata.map(metadata), "spec": spec })
}

fn rules_review(review: RulesReview) -> Value {
    let namespace = review.spec.unwrap_or_default().namespace;
    json!({ "metadata": review.metadata.map(metadata), "spec": { "namespace": namespace } })
}

#[cfg(test)]
mod tests;
