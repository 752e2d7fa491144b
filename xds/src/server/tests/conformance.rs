//! What any xDS server must do, as scenarios over a real connection.
//!
//! The list follows the public conformance scenarios for xDS (subscribing, unsubscribing,
//! incremental), each for every type to which it applies.

use super::client::{Client, DeltaClient, Server, SotwClient};
use crate::{cache::Cache, server::AdsService, testing::snapshot};
use std::collections::BTreeMap;

const FULL: [&str; 2] = ["CDS", "LDS"];
const NAMED: [&str; 2] = ["RDS", "EDS"];
const ALL: [&str; 4] = ["CDS", "LDS", "RDS", "EDS"];

/// A server with one client, and what it serves.
struct Scene<C> {
    cache: Cache,
    server: Server,
    client: C,
    world: BTreeMap<(String, String), String>,
    /// How many times the silence was listened to.
    rounds: usize,
}

// === impl Scene ===

impl<C: Client> Scene<C> {
    /// Starts with `a`, `b`, `c` of each type at version 1.
    async fn new(types: &[&str]) -> Self {
        let cache = Cache::new();
        let server = Server::start(&AdsService::new(cache.clone(), |_| String::new())).await;
        let client = C::open(&server, "client", "").await;
        let mut scene = Self { cache, server, client, world: BTreeMap::new(), rounds: 0 };
        for short in types {
            for name in ["a", "b", "c"] {
                scene.world.insert(((*short).to_owned(), name.to_owned()), "1".to_owned());
            }
        }
        scene.publish();
        scene
    }

    /// Publishes the world, and with it the type by which silence is told: it comes last of all types.
    fn publish(&self) {
        let lines: Vec<_> =
            self.world.iter().map(|((short, name), content)| format!("{short} {name}={content}")).collect();
        let silence: Vec<_> = (0..=self.rounds).map(|n| format!("VHDS quiet{n}={}", self.rounds)).collect();
        let lines: Vec<_> = lines.iter().chain(&silence).map(String::as_str).collect();
        self.cache.publish("", snapshot(&lines));
    }

    fn set(&mut self, short: &str, name: &str, content: &str) {
        self.world.insert((short.to_owned(), name.to_owned()), content.to_owned());
        self.publish();
    }

    fn remove(&mut self, short: &str, name: &str) {
        self.world.remove(&(short.to_owned(), name.to_owned()));
        self.publish();
    }

    async fn expect(&mut self, told: &str) {
        assert_eq!(self.client.receive().await, told);
    }

    /// Everything said so far has been answered in full: the next thing heard is what is asked for now.
    async fn expect_silence(&mut self) {
        let name = format!("quiet{}", self.rounds);
        self.client.subscribe("VHDS", &[&name]).await;
        self.expect(&format!("VHDS: {name}={}", self.rounds)).await;
        let before: Vec<_> = (0..=self.rounds).map(|n| format!("quiet{n}={}", self.rounds + 1)).collect();
        self.rounds += 1;
        self.publish();
        self.expect(&format!("VHDS: {}", before.join(" "))).await;
    }

    async fn end(mut self) {
        self.expect_silence().await;
        self.server.stop().await;
    }
}

async fn a_wildcard_gets_everything_in_one_response<C: Client>() {
    for short in FULL {
        let mut scene = Scene::<C>::new(&[short]).await;
        scene.client.subscribe(short, &[]).await;
        scene.expect(&format!("{short}: a=1 b=1 c=1")).await;
        scene.end().await;
    }
}

async fn names_get_what_they_name<C: Client>() {
    for short in FULL {
        let mut scene = Scene::<C>::new(&[short]).await;
        scene.client.subscribe(short, &["c", "a"]).await;
        scene.expect(&format!("{short}: a=1 c=1")).await;
        scene.end().await;
    }
    let mut scene = Scene::<C>::new(&["EDS"]).await;
    scene.client.subscribe("EDS", &["b", "a"]).await;
    scene.expect("EDS: a=1 b=1").await;
    scene.end().await;
    // Routes travel alone.
    let mut scene = Scene::<C>::new(&["RDS"]).await;
    scene.client.subscribe("RDS", &["b", "a"]).await;
    scene.expect("RDS: a=1").await;
    scene.expect("RDS: b=1").await;
    scene.end().await;
}

/// Subscribes to some names of one type and hears of them, in however many responses.
async fn settle<C: Client>(scene: &mut Scene<C>, short: &str, names: &[&str], expected: &[&str]) {
    scene.client.subscribe(short, names).await;
    if short == "RDS" {
        for entry in expected {
            scene.expect(&format!("RDS: {entry}")).await;
        }
    } else {
        scene.expect(&format!("{short}: {}", expected.join(" "))).await;
    }
}

async fn types_share_a_stream<C: Client>(change: impl Fn(&str) -> String) {
    for (one, two) in [("CDS", "LDS"), ("LDS", "CDS"), ("RDS", "EDS"), ("EDS", "RDS")] {
        let mut scene = Scene::<C>::new(&[one, two]).await;
        settle(&mut scene, one, &["b"], &["b=1"]).await;
        settle(&mut scene, two, &["b"], &["b=1"]).await;
        scene.set(one, "b", "2");
        scene.expect(&change(one)).await;
        scene.set(two, "b", "2");
        scene.expect(&change(two)).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn sotw_wildcard() {
    a_wildcard_gets_everything_in_one_response::<SotwClient>().await;
}

#[tokio::test]
async fn delta_wildcard() {
    a_wildcard_gets_everything_in_one_response::<DeltaClient>().await;
}

#[tokio::test]
async fn sotw_names() {
    names_get_what_they_name::<SotwClient>().await;
}

#[tokio::test]
async fn delta_names() {
    names_get_what_they_name::<DeltaClient>().await;
}

#[tokio::test]
async fn sotw_types_share_a_stream() {
    types_share_a_stream::<SotwClient>(|short| format!("{short}: b=2")).await;
}

#[tokio::test]
async fn delta_types_share_a_stream() {
    types_share_a_stream::<DeltaClient>(|short| format!("{short}: b=2")).await;
}

#[tokio::test]
async fn sotw_a_wildcard_hears_of_changes_and_additions_as_full_sets() {
    for short in FULL {
        let mut scene = Scene::<SotwClient>::new(&[short]).await;
        settle(&mut scene, short, &[], &["a=1", "b=1", "c=1"]).await;
        scene.set(short, "a", "2");
        scene.expect(&format!("{short}: a=2 b=1 c=1")).await;
        scene.set(short, "d", "1");
        scene.expect(&format!("{short}: a=2 b=1 c=1 d=1")).await;
        scene.remove(short, "b");
        scene.expect(&format!("{short}: a=2 c=1 d=1")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn sotw_names_hear_of_their_changes() {
    for short in ALL {
        let mut scene = Scene::<SotwClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "c"], &["a=1", "c=1"]).await;
        scene.set(short, "b", "2");
        scene.expect_silence().await;
        scene.set(short, "a", "2");
        let rest = if FULL.contains(&short) { " c=1" } else { "" };
        scene.expect(&format!("{short}: a=2{rest}")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn sotw_a_name_that_comes_to_exist_is_told() {
    for short in ALL {
        let mut scene = Scene::<SotwClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "z"], &["a=1"]).await;
        scene.expect_silence().await;
        scene.set(short, "z", "1");
        let rest = if FULL.contains(&short) { "a=1 " } else { "" };
        scene.expect(&format!("{short}: {rest}z=1")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn sotw_unsubscribed_names_are_not_told() {
    for short in ALL {
        let mut scene = Scene::<SotwClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "b", "c"], &["a=1", "b=1", "c=1"]).await;
        scene.client.unsubscribe(short, &["b", "c"]).await;
        scene.expect_silence().await;
        scene.set(short, "b", "2");
        scene.expect_silence().await;
        scene.set(short, "a", "2");
        scene.expect(&format!("{short}: a=2")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn sotw_without_any_name_left_nothing_is_told() {
    for short in ALL {
        let mut scene = Scene::<SotwClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "b"], &["a=1", "b=1"]).await;
        scene.client.unsubscribe(short, &["a", "b"]).await;
        scene.expect_silence().await;
        scene.set(short, "b", "2");
        scene.end().await;
    }
}

#[tokio::test]
async fn delta_subscriptions_add_up() {
    for short in ALL {
        let mut scene = Scene::<DeltaClient>::new(&[short]).await;
        settle(&mut scene, short, &["a"], &["a=1"]).await;
        settle(&mut scene, short, &["b"], &["b=1"]).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn delta_only_the_changed_one_is_told() {
    for short in ALL {
        let mut scene = Scene::<DeltaClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "b", "c"], &["a=1", "b=1", "c=1"]).await;
        scene.set(short, "a", "2");
        scene.expect(&format!("{short}: a=2")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn delta_a_name_that_does_not_exist_is_told_so_and_later_told() {
    for short in ALL {
        let mut scene = Scene::<DeltaClient>::new(&[short]).await;
        let expected: &[&str] = if NAMED[0] == short { &["a=1", "-z"] } else { &["a=1 -z"] };
        settle(&mut scene, short, &["a", "z"], expected).await;
        scene.set(short, "z", "1");
        scene.expect(&format!("{short}: z=1")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn delta_a_removal_is_told_and_so_is_the_return() {
    for short in ALL {
        let mut scene = Scene::<DeltaClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "b"], &["a=1", "b=1"]).await;
        scene.remove(short, "b");
        scene.expect(&format!("{short}: -b")).await;
        scene.set(short, "b", "2");
        scene.expect(&format!("{short}: b=2")).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn delta_unsubscribed_names_are_not_told() {
    for short in ALL {
        let mut scene = Scene::<DeltaClient>::new(&[short]).await;
        settle(&mut scene, short, &["a", "b"], &["a=1", "b=1"]).await;
        for name in ["b", "a"] {
            scene.client.unsubscribe(short, &[name]).await;
            scene.expect_silence().await;
            scene.set(short, name, "2");
            scene.expect_silence().await;
        }
        scene.end().await;
    }
}
