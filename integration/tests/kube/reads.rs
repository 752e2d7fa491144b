//! Discovery, lists and reads.

use k8s_openapi::api::core::v1::{Namespace, Secret};
use keyward_resource::KINDS;
use kube::api::{Api, ListParams, PostParams};
use kube::core::Selector;
use kube::discovery::{Discovery, Scope, verbs};

use crate::kit::{Server, dynamic, upstream};

#[tokio::test]
async fn discovery_finds_every_kind_in_both_forms() {
    let server = Server::start().await;
    let plain = Discovery::new(server.client.clone()).run().await.expect("discovery");
    let aggregated =
        Discovery::new(server.client.clone()).run_aggregated().await.expect("aggregated discovery");
    for discovery in [plain, aggregated] {
        for kind in KINDS {
            for place in kind.group_versions() {
                let group = discovery.get(place.group).unwrap_or_else(|| panic!("no group {}", place.group));
                let found = group.recommended_kind(kind.name);
                let (resource, capabilities) = found.unwrap_or_else(|| panic!("no {} in {place}", kind.name));
                assert_eq!(
                    (resource.plural.as_str(), resource.version.as_str()),
                    (kind.plural, place.version)
                );
                let scope = if kind.is_namespaced() { Scope::Namespaced } else { Scope::Cluster };
                assert_eq!(capabilities.scope, scope, "{place} {}", kind.name);
                let read_only = kind.is_written_by_server();
                for verb in [verbs::CREATE, verbs::PATCH, verbs::UPDATE, verbs::DELETE] {
                    assert_eq!(
                        capabilities.supports_operation(verb),
                        !read_only,
                        "{place} {} {verb}",
                        kind.name
                    );
                }
                for verb in [verbs::GET, verbs::LIST, verbs::WATCH] {
                    assert!(capabilities.supports_operation(verb), "{place} {} {verb}", kind.name);
                }
                let has_status = kind.fields.field("status").is_some() && !read_only;
                let found = capabilities.subresources.iter().any(|(part, _)| part.plural.ends_with("status"));
                assert_eq!(found, has_status, "{place} {}", kind.name);
            }
        }
    }
}

#[tokio::test]
async fn the_version_can_be_read() {
    let server = Server::start().await;
    let version = server.client.apiserver_version().await.expect("a version");
    assert_eq!(version.major, "1");
    assert!(version.git_version.contains("keyward"), "{version:?}");
}

#[tokio::test]
async fn a_list_in_pages_is_the_list() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    for number in 0..7 {
        let object = dynamic(upstream(&format!("u{number}"), 8000 + number));
        upstreams.create(&PostParams::default(), &object).await.expect("created");
    }
    let whole = upstreams.list(&ListParams::default()).await.expect("a list");
    let mut pages = Vec::new();
    let mut parameters = ListParams::default().limit(3);
    for _ in 0..10 {
        let page = upstreams.list(&parameters).await.expect("a page");
        assert_eq!(page.metadata.resource_version, whole.metadata.resource_version);
        pages.push(page.items.len());
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    assert_eq!((pages, whole.items.len()), (vec![3, 3, 1], 7));
}

#[tokio::test]
async fn lists_are_selected_by_labels_and_fields() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    for (name, team) in [("a", "pets"), ("b", "cats"), ("c", "pets")] {
        let mut object = dynamic(upstream(name, 8000));
        object.metadata.labels = Some([("team".to_owned(), team.to_owned())].into());
        upstreams.create(&PostParams::default(), &object).await.expect("created");
    }
    let names = async |parameters: ListParams| {
        let list = upstreams.list(&parameters).await.expect("a list");
        list.items.into_iter().filter_map(|item| item.metadata.name).collect::<Vec<_>>()
    };
    let pets: Selector = [("team", "pets")].into_iter().collect();
    assert_eq!(names(ListParams::default().labels_from(&pets)).await, ["a", "c"]);
    assert_eq!(names(ListParams::default().labels("team notin (pets)")).await, ["b"]);
    assert_eq!(names(ListParams::default().fields("metadata.name=b")).await, ["b"]);
    let metadata =
        upstreams.list_metadata(&ListParams::default().labels_from(&pets)).await.expect("metadata");
    assert_eq!(metadata.items.len(), 2);
    let error = upstreams.list(&ListParams::default().fields("spec.port=1")).await.expect_err("a refusal");
    assert!(matches!(error, kube::Error::Api(status) if status.code == 400));
}

#[tokio::test]
async fn typed_kinds_of_kubernetes_fit() {
    let server = Server::start().await;
    let namespaces: Api<Namespace> = Api::all(server.client.clone());
    let found = namespaces.get("default").await.expect("the default namespace");
    assert_eq!(found.status.and_then(|status| status.phase).as_deref(), Some("Active"));
    let secrets: Api<Secret> = Api::default_namespaced(server.client.clone());
    let mut secret = Secret { type_: Some("extauth.keyward.io/apikey".to_owned()), ..Secret::default() };
    secret.metadata.name = Some("one".to_owned());
    secret.string_data = Some([("api-key".to_owned(), "n-o-t".to_owned())].into());
    let created = secrets.create(&PostParams::default(), &secret).await.expect("created");
    assert!(created.string_data.is_none());
    let read = secrets.get("one").await.expect("read");
    let key = read.data.and_then(|mut data| data.remove("api-key")).expect("a key");
    assert_eq!(key.0, b"n-o-t");
    assert!(secrets.get_opt("two").await.expect("an answer").is_none());
}
