//! Make before break: a client that follows a server never holds a route to a cluster that it lacks.

use crate::testing::{Delta, Sotw, Told, snapshot};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Debug)]
enum Action {
    /// The clusters that exist from now on; the route configuration uses them all.
    /// They may come to the session by themselves or with the next request.
    Publish(BTreeSet<u8>, bool),
    Answer,
    Reconnect,
    GraceOver,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => (prop::collection::btree_set(0..6u8, 0..4), any::<bool>()).prop_map(|(c, told)| Action::Publish(c, told)),
        8 => Just(Action::Answer),
        1 => Just(Action::Reconnect),
        1 => Just(Action::GraceOver),
    ];
    prop::collection::vec(action, 1..80)
}

/// A world in which listener `l` and route `r` use exactly the clusters that exist.
fn world(clusters: &BTreeSet<u8>) -> [String; 3] {
    let all: Vec<_> = clusters.iter().map(|n| format!("c{n}")).collect();
    let entries: Vec<_> = all.iter().map(|name| format!("{name}=1")).collect();
    let used = if all.is_empty() { "none".to_owned() } else { all.join(",") };
    [format!("CDS {}", entries.join(" ")), format!("LDS l={used}"), format!("RDS r={used}")]
}

#[derive(Default)]
struct Client {
    /// Type to name to content.
    held: BTreeMap<String, BTreeMap<String, String>>,
}

impl Client {
    fn apply(&mut self, response: &impl Told, replaces: bool) {
        let held = self.held.entry(response.short()).or_default();
        if replaces {
            held.clear();
        }
        for word in response.told().split_whitespace() {
            match word.split_once('=') {
                Some((name, content)) => held.insert(name.to_owned(), content.to_owned()),
                None => held.remove(word.trim_start_matches('-')),
            };
        }
        self.check();
    }

    fn check(&self) {
        let clusters = self.held.get("CDS").cloned().unwrap_or_default();
        for kind in ["LDS", "RDS"] {
            for used in self.held.get(kind).into_iter().flat_map(BTreeMap::values) {
                for cluster in used.split(',').filter(|cluster| *cluster != "none") {
                    assert!(clusters.contains_key(cluster), "{kind} uses {cluster}, which the client lacks");
                }
            }
        }
    }

    fn held(&self, kind: &str) -> Vec<String> {
        let held = self.held.get(kind).into_iter().flatten();
        held.map(|(name, content)| format!("{name}={content}")).collect()
    }
}

const SUBSCRIPTIONS: [(&str, &[&str]); 3] = [("CDS", &[]), ("LDS", &[]), ("RDS", &["r"])];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn delta(actions in actions()) {
        let start = BTreeSet::from([0]);
        let mut delta = Delta::new(&world(&start).each_ref().map(String::as_str));
        let mut client = Client::default();
        let mut inbox = VecDeque::new();
        for (kind, names) in SUBSCRIPTIONS {
            inbox.extend(delta.subscribe(kind, names));
        }
        let mut last = start;
        let end = [Action::GraceOver].into_iter().chain(std::iter::repeat_n(Action::Answer, 50));
        for action in actions.into_iter().chain(end) {
            match action {
                Action::Publish(clusters, told) => {
                    let lines = world(&clusters);
                    let lines = lines.each_ref().map(String::as_str);
                    if told {
                        inbox.extend(delta.publish(&lines));
                    } else {
                        delta.snapshot = Some(snapshot(&lines));
                    }
                    last = clusters;
                }
                Action::Answer => {
                    if let Some(response) = inbox.pop_front() {
                        client.apply(&response, false);
                        inbox.extend(delta.ack(&response));
                    }
                }
                Action::Reconnect => {
                    delta.reconnect();
                    inbox.clear();
                    for (kind, names) in SUBSCRIPTIONS {
                        let held = client.held(kind);
                        let held: Vec<_> = held.iter().map(String::as_str).collect();
                        inbox.extend(delta.resume(kind, names, &held));
                    }
                }
                Action::GraceOver => inbox.extend(delta.grace_over()),
            }
        }
        prop_assert!(inbox.is_empty());
        prop_assert_eq!(client.held("CDS").len(), last.len());
    }

    #[test]
    fn sotw(actions in actions()) {
        let start = BTreeSet::from([0]);
        let mut sotw = Sotw::new(&world(&start).each_ref().map(String::as_str));
        let mut client = Client::default();
        let mut inbox = VecDeque::new();
        for (kind, names) in SUBSCRIPTIONS {
            inbox.extend(sotw.subscribe(kind, names));
        }
        let mut last = start;
        let end = [Action::GraceOver].into_iter().chain(std::iter::repeat_n(Action::Answer, 50));
        for action in actions.into_iter().chain(end) {
            match action {
                Action::Publish(clusters, told) => {
                    let lines = world(&clusters);
                    let lines = lines.each_ref().map(String::as_str);
                    if told {
                        inbox.extend(sotw.publish(&lines));
                    } else {
                        sotw.snapshot = Some(snapshot(&lines));
                    }
                    last = clusters;
                }
                Action::Answer => {
                    if let Some(response) = inbox.pop_front() {
                        client.apply(&response, matches!(&*response.short(), "CDS" | "LDS"));
                        inbox.extend(sotw.ack(&response));
                    }
                }
                Action::Reconnect => {
                    sotw.reconnect();
                    inbox.clear();
                    for (kind, names) in SUBSCRIPTIONS {
                        inbox.extend(sotw.subscribe(kind, names));
                    }
                }
                Action::GraceOver => inbox.extend(sotw.grace_over()),
            }
        }
        prop_assert!(inbox.is_empty());
        prop_assert_eq!(client.held("CDS").len(), last.len());
    }
}
