//! Patches, server-side apply, conflicts.

use std::sync::Arc;

use futures::future::join_all;
use kube::Error;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;
use tokio::sync::Barrier;

use crate::kit::{Server, dynamic, port, upstream};

/// The code of a refusal.
fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> u16 {
    match result {
        Err(Error::Api(status)) => status.code,
        other => panic!("no refusal: {other:?}"),
    }
}

#[tokio::test]
async fn an_object_is_patched_in_every_way() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    upstreams.create(&PostParams::default(), &dynamic(upstream("a", 8000))).await.expect("created");
    let parameters = PatchParams::default();
    let merge = json!({ "metadata": { "labels": { "team": null, "stage": "test" } } });
    let patched = upstreams.patch("a", &parameters, &Patch::Merge(merge)).await.expect("a merge patch");
    assert_eq!(patched.metadata.labels, Some([("stage".to_owned(), "test".to_owned())].into()));
    let operations = json!([{ "op": "replace", "path": "/spec/static/hosts/0/port", "value": 9000 }]);
    let operations = Patch::<()>::Json(serde_json::from_value(operations).expect("operations"));
    let patched = upstreams.patch("a", &parameters, &operations).await.expect("a JSON patch");
    assert_eq!((port(&patched), patched.metadata.generation), (Some(9000), Some(2)));
    let strategic = Patch::Strategic(json!({ "spec": {} }));
    assert_eq!(code(upstreams.patch("a", &parameters, &strategic).await), 415);
    let label = Patch::Merge(json!({ "metadata": { "labels": { "x": "y" } } }));
    let dry = upstreams.patch("a", &parameters.clone().dry_run(), &label).await.expect("a dry run");
    assert!(dry.metadata.labels.is_some_and(|labels| labels.contains_key("x")));
    let read = upstreams.get("a").await.expect("read");
    assert!(read.metadata.labels.is_some_and(|labels| !labels.contains_key("x")));
    assert_eq!(code(upstreams.patch("b", &parameters, &Patch::Merge(json!({}))).await), 404);
}

#[tokio::test]
async fn what_one_applies_another_does_not_change_without_force() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    let apply = async |manager: &str, port: u16, force: bool| {
        let parameters = PatchParams { force, ..PatchParams::apply(manager) };
        upstreams.patch("a", &parameters, &Patch::Apply(upstream("a", port))).await
    };
    let created = apply("one", 8000, false).await.expect("applied");
    let again = apply("one", 8000, false).await.expect("applied again");
    assert_eq!(created.metadata.resource_version, again.metadata.resource_version);
    let refusal = apply("two", 9000, false).await.expect_err("a conflict");
    let Error::Api(status) = refusal else { panic!("{refusal:?}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    assert!(
        causes.iter().any(|cause| cause.field.contains("spec.static") && cause.message.contains("one")),
        "{causes:?}"
    );
    // The same value is no conflict: both own it then.
    apply("two", 8000, false).await.expect("shared");
    let forced = apply("two", 9000, true).await.expect("forced");
    assert_eq!(port(&forced), Some(9000));
    let managers: Vec<_> = forced
        .metadata
        .managed_fields
        .unwrap_or_default()
        .into_iter()
        .filter_map(|entry| entry.manager)
        .collect();
    assert!(managers.contains(&"two".to_owned()), "{managers:?}");
    assert_eq!(code(apply("one", 8000, false).await), 409);
}

#[tokio::test]
async fn what_is_not_applied_any_more_is_removed() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    let parameters = PatchParams::apply("one");
    upstreams.patch("a", &parameters, &Patch::Apply(upstream("a", 8000))).await.expect("applied");
    let mut without = upstream("a", 8000);
    without["metadata"] = json!({ "name": "a" });
    let applied = upstreams.patch("a", &parameters, &Patch::Apply(without)).await.expect("applied");
    assert_eq!(port(&applied), Some(8000));
    assert_eq!(applied.metadata.labels.unwrap_or_default().len(), 0);
}

#[tokio::test]
async fn an_older_version_replaces_and_deletes_nothing() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    let created =
        upstreams.create(&PostParams::default(), &dynamic(upstream("a", 8000))).await.expect("created");
    let mut newer = created.clone();
    newer.metadata.labels = None;
    let newer = upstreams.replace("a", &PostParams::default(), &newer).await.expect("replaced");
    assert_eq!(code(upstreams.replace("a", &PostParams::default(), &created).await), 409);
    let of = |object: &DynamicObject| DeleteParams {
        preconditions: Some(Preconditions {
            resource_version: object.metadata.resource_version.clone(),
            uid: None,
        }),
        ..DeleteParams::default()
    };
    assert_eq!(code(upstreams.delete("a", &of(&created)).await), 409);
    upstreams.delete("a", &of(&newer)).await.expect("deleted");
    assert_eq!(code(upstreams.get("a").await), 404);
}

/// Adds one to a number in an annotation, as often as somebody else was faster. Nobody writes before
/// all have read.
async fn count(upstreams: Api<DynamicObject>, all_have_read: Arc<Barrier>) -> usize {
    for conflicts in 0..10_000 {
        let mut object = upstreams.get("a").await.expect("read");
        if conflicts == 0 {
            all_have_read.wait().await;
        }
        let annotations = object.metadata.annotations.get_or_insert_default();
        let number: u32 = annotations.get("count").map_or(0, |text| text.parse().expect("a number"));
        annotations.insert("count".to_owned(), (number + 1).to_string());
        match upstreams.replace("a", &PostParams::default(), &object).await {
            Ok(_) => return conflicts,
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("never the first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_who_write_at_once_nothing_is_lost() {
    const WRITERS: usize = 100;
    let server = Server::start().await;
    let upstreams = server.upstreams();
    upstreams.create(&PostParams::default(), &dynamic(upstream("a", 8000))).await.expect("created");
    let all_have_read = Arc::new(Barrier::new(WRITERS));
    let writers = (0..WRITERS).map(|_| tokio::spawn(count(upstreams.clone(), Arc::clone(&all_have_read))));
    let conflicts: usize =
        join_all(writers).await.into_iter().map(|done| done.expect("a writer that is done")).sum();
    let read = upstreams.get("a").await.expect("read");
    let counted = read.metadata.annotations.and_then(|mut all| all.remove("count"));
    assert_eq!(counted, Some(WRITERS.to_string()), "after {conflicts} conflicts");
    assert!(conflicts >= WRITERS - 1, "only {conflicts} wrote what was no longer current");
}
