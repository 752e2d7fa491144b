//! What a server that comes back says to workers that held something before.

use keyward_filter_core::wire::{
    ClientMessage, Subscribe, TableVersion, Version, client_message, server_message,
};
use keyward_keys::Session;

use super::*;

/// What the server says first to a worker that comes with this version of a table.
fn first_words(view: &KeyView, role: &str, table: &str, held: Version) -> Option<server_message::Kind> {
    let held = TableVersion { table: table.to_owned(), version: Some(held), content: None };
    let subscribe = Subscribe { role: role.to_owned(), held: vec![held], ..Subscribe::default() };
    let mut session = Session::new();
    let message = ClientMessage { kind: Some(client_message::Kind::Subscribe(subscribe)) };
    session.on_message(message).expect("a subscription");
    session.next(view).and_then(|message| message.kind)
}

#[tokio::test]
async fn a_server_that_comes_back_sends_what_was_missed_and_not_everything() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut world = World::over(store.clone()).await;
    let auth = json!({ "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "x" } } }] } });
    world.create("AuthConfig", "team", "keys", auth).await.expect("an AuthConfig");
    let mut secured = site("a.test");
    secured["spec"]["virtualHost"]["options"] =
        json!({ "extauth": { "configRef": { "name": "keys", "namespace": "team" } } });
    world.create("VirtualService", "team", "site", secured).await.expect("a site");
    let spec = json!({ "watchNamespaces": ["team"] });
    world.create("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
    for number in 0..100 {
        let secret = key_secret(&format!("key-number-{number}"));
        world.create("Secret", "team", &format!("n{number}"), secret).await.expect("a Secret");
    }
    world.create("Secret", "other", "n", key_secret("key-of-another")).await.expect("a Secret");
    world.keys("team/keys", 100).await;
    let held = world.keys.borrow().table("team/keys").expect("the table").version();
    drop(world);

    let mut world = World::over(store.clone()).await;
    world.keys("team/keys", 100).await;
    world.delete("Secret", "team", "n7").await.expect("a deletion");
    world.delete("Secret", "other", "n").await.expect("a deletion");
    drop(world);
    // Nobody who knew the worker is there any more.
    let mut world = World::over(store.clone()).await;
    world.keys("team/keys", 99).await;
    let role = "keyward-system~gateway-proxy";
    let words = first_words(&world.keys.borrow(), role, "team/keys", held);
    let Some(server_message::Kind::Delta(delta)) = words else { panic!("no delta: {words:?}") };
    assert_eq!((delta.from, delta.removals.len(), delta.upserts.len()), (Some(held), 16, 0));

    // What the store has forgotten is nothing that anybody can be told.
    drop(world);
    store.compact(store.revision().await.expect("a revision")).await.expect("compacted");
    let mut world = World::over(store.clone()).await;
    world.keys("team/keys", 99).await;
    let words = first_words(&world.keys.borrow(), role, "team/keys", held);
    assert!(matches!(words, Some(server_message::Kind::Begin(_))), "{words:?}");
}
