use keyward_filter_core::wire::{Drop, SnapshotBegin};

use super::*;
use crate::fixtures::{delete_config, foreign, put, put_config, wanted};
use crate::index::KeyIndex;

const ONE: &str = "a/one";
const TWO: &str = "a/two";

/// An index with two tables, of which `a/one` is changed.
struct Keys {
    index: KeyIndex,
    revision: u64,
}

// === impl Keys ===

impl Keys {
    fn new() -> Self {
        let mut index = KeyIndex::new();
        let one = [put("a/ann", "team=x", 1), put_config(ONE, "team=x", &[])];
        index.apply(1, one.into_iter().chain([put("a/bob", "team=y", 2), put_config(TWO, "team=y", &[])]));
        Self { index, revision: 1 }
    }

    /// Changes `a/one`.
    fn change(&mut self) -> KeyView {
        self.revision += 1;
        let key = u8::try_from(self.revision).expect("few changes");
        self.index.apply(self.revision, [put("a/ann", "team=x", key)]);
        self.view()
    }

    fn view(&self) -> KeyView {
        self.view_for(&[("front", &[ONE]), ("back", &[ONE, TWO])])
    }

    fn view_for(&self, roles: &[(&str, &[&str])]) -> KeyView {
        self.index.view(wanted(roles))
    }
}

/// A registry, and how the time goes.
#[derive(Default)]
struct Registry {
    workers: Workers,
    now: Duration,
}

// === impl Registry ===

impl Registry {
    fn publish(&mut self, view: &KeyView) {
        self.workers.on_keys(view.clone(), self.now);
    }

    fn join(&mut self, role: &str, held: &[(&str, Version)]) -> Connection {
        self.join_as(role, "w", held)
    }

    fn join_as(&mut self, role: &str, name: &str, held: &[(&str, Version)]) -> Connection {
        let connection = self.workers.connect();
        self.say(connection, &subscribed(role, name, held));
        connection
    }

    fn say(&mut self, connection: Connection, event: &SessionEvent) {
        self.workers.on_event(connection, event, self.now);
    }

    /// A worker refuses a change, and keeps what it holds.
    fn refuse(&mut self, connection: Connection, table: &str, reason: &str) {
        let worker = self.workers.iter().find(|(it, _)| *it == connection).map(|(_, worker)| worker);
        let held = worker.and_then(|worker| worker.held.get(table));
        let holds = held.map(|held| Holds { version: held.version, less: held.less });
        self.refuse_with(connection, table, reason, holds);
    }

    fn refuse_with(&mut self, connection: Connection, table: &str, reason: &str, holds: Option<Holds>) {
        let (table, reason) = (table.to_owned(), reason.to_owned());
        self.say(connection, &SessionEvent::Nacked { table, reason, holds });
    }

    fn leave(&mut self, connection: Connection) {
        self.workers.disconnect(connection, self.now);
    }

    /// Who lacks which table as it was at a revision, or later.
    fn lacks(&self, revision: u64) -> Vec<String> {
        let standings: Vec<_> = self.workers.standings(self.now).collect();
        let lacks = |standing: &Standing<'_>| {
            let lacking = standing.missing.iter().filter(|missing| missing.complete_to < revision);
            lacking.map(|missing| format!("{} {}", standing.worker.node, missing.table)).collect::<Vec<_>>()
        };
        let lacking: Vec<_> = standings.iter().map(lacks).collect();
        let confirmed = self.workers.confirmed(Goal { revision, policies: false }, self.now);
        assert_eq!(confirmed.workers, lacking.len());
        assert_eq!(confirmed.confirmed, lacking.iter().filter(|tables| tables.is_empty()).count());
        lacking.concat()
    }

    fn by_all(&self, revision: u64) -> bool {
        self.workers.confirmed(Goal { revision, policies: false }, self.now).by_all()
    }

    fn worker(&self, connection: Connection) -> Worker {
        let found = self.workers.iter().find(|(it, _)| *it == connection).map(|(_, worker)| worker);
        found.expect("the worker is known").clone()
    }
}

fn subscribed(role: &str, worker: &str, held: &[(&str, Version)]) -> SessionEvent {
    SessionEvent::Subscribed {
        node: format!("node-{role}"),
        role: role.to_owned(),
        worker: worker.to_owned(),
        build: "b".to_owned(),
        config_version: 3,
        held: held.iter().map(|(table, version)| (String::from(*table), whole(*version))).collect(),
    }
}

fn acked(view: &KeyView, table: &str) -> SessionEvent {
    SessionEvent::Acked { table: table.to_owned(), version: version(view, table) }
}

fn whole(version: Version) -> Holds {
    Holds { version, less: None }
}

fn version(view: &KeyView, table: &str) -> Version {
    view.table(table).expect("the table exists").version()
}

fn dropped(table: &str) -> ServerMessage {
    ServerMessage { kind: Some(server_message::Kind::Drop(Drop { table: table.to_owned() })) }
}

#[test]
fn a_stream_is_a_worker_from_its_subscription_on() {
    let view = Keys::new().view();
    let mut registry = Registry::default();
    registry.publish(&view);
    let (first, second) = (registry.workers.connect(), registry.workers.connect());
    assert_ne!(first, second);
    assert!(registry.by_all(1));
    registry.say(first, &acked(&view, ONE));
    assert_eq!(registry.workers.iter().count(), 0);

    registry.say(first, &subscribed("front", "w", &[(ONE, foreign())]));
    let expected = Worker {
        node: "node-front".to_owned(),
        role: "front".to_owned(),
        worker: "w".to_owned(),
        build: "b".to_owned(),
        config_version: 3,
        held: BTreeMap::from([(
            ONE.to_owned(),
            Held { version: foreign(), less: None, acknowledged: false },
        )]),
        refused: BTreeMap::new(),
        acknowledged_at: None,
        away_since: None,
    };
    assert_eq!(registry.workers.iter().collect::<Vec<_>>(), [(first, &expected)]);
    assert_eq!(registry.lacks(1), ["node-front a/one"]);

    registry.now = Duration::from_secs(7);
    registry.say(first, &SessionEvent::ConfigApplied { version: 4 });
    registry.say(first, &acked(&view, ONE));
    let worker = registry.worker(first);
    assert_eq!((worker.config_version, worker.acknowledged_at), (4, Some(registry.now)));
    registry.leave(second);
    assert_eq!(registry.workers.iter().count(), 1);

    // Who opens another stream has acknowledged what it has acknowledged.
    registry.now = Duration::from_secs(8);
    let third = registry.workers.connect();
    registry.say(third, &subscribed("front", "w", &[(ONE, foreign())]));
    assert_eq!(registry.worker(third).acknowledged_at, Some(Duration::from_secs(7)));
}

#[test]
fn a_worker_between_two_streams_counts_with_what_it_had() {
    let mut keys = Keys::new();
    let mut registry = Registry::default();
    let first = keys.view();
    registry.publish(&first);
    let stream = registry.join("front", &[]);
    registry.say(stream, &acked(&first, ONE));
    registry.leave(stream);
    assert!(registry.by_all(1), "what it had is what is wanted");

    registry.publish(&keys.change());
    assert_eq!(registry.lacks(2), ["node-front a/one"]);
    registry.now = GRACE;
    assert!(!registry.by_all(2), "it may still come back, and serves meanwhile");

    let back = registry.join("front", &[(ONE, version(&first, ONE))]);
    assert_eq!(registry.workers.iter().count(), 1, "it is the same worker");
    assert_eq!(registry.lacks(2), ["node-front a/one"]);
    registry.say(back, &acked(&keys.view(), ONE));
    assert!(registry.by_all(2));
}

#[test]
fn a_worker_that_is_gone_does_not_block_for_ever() {
    let mut keys = Keys::new();
    let mut registry = Registry::default();
    registry.publish(&keys.view());
    let stream = registry.join("front", &[]);
    registry.leave(stream);
    registry.publish(&keys.change());
    registry.now = GRACE;
    assert!(!registry.by_all(2));
    registry.now += Duration::from_millis(1);
    assert!(registry.by_all(2));
    assert_eq!(registry.workers.standings(registry.now).count(), 0);
    // Its place is free at the next occasion, so that those who come and go do not pile up.
    registry.join_as("back", "other", &[]);
    assert_eq!(registry.workers.iter().count(), 1);
}

#[test]
fn a_worker_that_moves_to_another_stream_is_one() {
    let keys = Keys::new();
    let view = keys.view();
    let mut registry = Registry::default();
    registry.publish(&view);
    let old = registry.join("front", &[]);
    let foreign = registry.join_as("front", "v", &[(ONE, version(&view, ONE))]);
    let new = registry.join("front", &[(ONE, version(&view, ONE))]);
    let connections = |registry: &Registry| registry.workers.iter().map(|(it, _)| it).collect::<Vec<_>>();
    assert_eq!(connections(&registry), [foreign, new]);
    assert!(registry.by_all(1), "what it held when it moved counts");
    // What was on its way on the old one is of no account.
    registry.refuse(old, ONE, "late");
    registry.leave(old);
    assert_eq!(connections(&registry), [foreign, new]);
    assert_eq!(registry.worker(new).refused, BTreeMap::new());
}

#[test]
fn a_server_that_has_just_started_waits_for_those_who_come_back() {
    let view = Keys::new().view();
    let now = Duration::from_secs(1);
    let mut registry = Registry { workers: Workers::starting(now), now };
    registry.publish(&view);
    assert!(!registry.by_all(1), "who was there before may not be back yet");
    registry.now += GRACE;
    assert!(registry.by_all(1));
    assert!(!registry.by_all(2), "that is not published yet");
    registry.workers.on_reached(2);
    assert!(registry.by_all(2), "it had nothing to do with keys");
}

#[test]
fn confirmed_is_every_table_of_every_worker() {
    let view = Keys::new().view();
    let mut registry = Registry::default();
    registry.publish(&view);
    let front = registry.join("front", &[]);
    let back = registry.join("back", &[]);
    assert_eq!(registry.lacks(1), ["node-front a/one", "node-back a/one", "node-back a/two"]);
    registry.say(front, &acked(&view, ONE));
    registry.say(back, &acked(&view, TWO));
    assert_eq!(registry.lacks(1), ["node-back a/one"]);
    registry.say(back, &acked(&view, ONE));
    assert!(registry.by_all(1));
    registry.join("stranger", &[]);
    assert!(registry.by_all(1));
}

#[test]
fn a_revocation_is_not_confirmed_by_who_still_holds_a_table_that_it_did_not_reach() {
    let mut keys = Keys::new();
    let before = keys.view();
    let mut registry = Registry::default();
    registry.publish(&before);
    let front = registry.join("front", &[]);
    registry.say(front, &acked(&before, ONE));
    assert!(registry.by_all(1));
    // The policy goes, and with it a key; a route may still ask for the policy's table.
    keys.index.apply(2, [delete_config(ONE)]);
    keys.index.apply(3, [crate::fixtures::delete("a/ann")]);
    let retired = keys.view_for(&[("front", &[ONE])]).with_retired(&before);
    registry.publish(&retired);
    assert_eq!(registry.lacks(3), ["node-front a/one"]);
    assert!(registry.by_all(1), "what was there before is");
    let again = keys.view_for(&[("front", &[ONE])]).with_retired(&retired);
    registry.publish(&again);
    assert_eq!(registry.lacks(3), ["node-front a/one"], "however often it is kept");
    registry.publish(&keys.view_for(&[("front", &[])]).with_retired(&again));
    assert!(registry.by_all(3), "no route can ask for it any more");
}

#[test]
fn policies_count_where_they_are_asked_for() {
    let mut registry = Registry::default();
    registry.publish(&Keys::new().view_for(&[]));
    let front = registry.join("front", &[]);
    let goal = Goal { revision: 1, policies: true };
    assert!(!registry.workers.confirmed(goal, registry.now).is_known, "they are not told yet");
    registry.workers.on_configs(1, BTreeMap::from([("front".to_owned(), 4)]));
    assert!(!registry.workers.confirmed(goal, registry.now).is_known, "no proxy has accepted its routes");
    registry.workers.on_routes(1);
    let confirmed = registry.workers.confirmed(goal, registry.now);
    assert_eq!(confirmed, Confirmed { workers: 1, confirmed: 0, is_known: true });
    let wanted = registry.workers.standings(registry.now).next().and_then(|standing| standing.config_wanted);
    assert_eq!(wanted, Some(4));
    assert!(registry.by_all(1), "the keys are there");
    registry.say(front, &SessionEvent::ConfigApplied { version: 4 });
    assert!(registry.workers.confirmed(goal, registry.now).by_all());
}

#[test]
fn a_standing_says_who_holds_what_instead_of_what_since_when_and_why() {
    let mut keys = Keys::new();
    let first = keys.view();
    let mut registry = Registry::default();
    registry.publish(&first);
    let front = registry.join("front", &[]);
    registry.say(front, &acked(&first, ONE));
    registry.now = Duration::from_secs(3);
    let second = keys.change();
    registry.publish(&second);
    registry.now = Duration::from_secs(5);
    let third = keys.change();
    registry.publish(&third);
    registry.refuse(front, ONE, "no room");
    let refusal = Refusal { reason: "no room".to_owned(), times: 1 };
    let worker = registry.worker(front);
    let expected = Standing {
        connection: front,
        worker: &worker,
        revision: 1,
        missing: vec![Missing {
            table: ONE,
            held: Some(version(&first, ONE)),
            is_less: false,
            wanted: version(&third, ONE),
            complete_to: 1,
            retired: false,
            refused: Some(&refusal),
        }],
        config_wanted: None,
        behind_since: Some(Duration::from_secs(3)),
    };
    assert_eq!(registry.workers.standings(registry.now).collect::<Vec<_>>(), [expected]);
    registry.say(front, &acked(&third, ONE));
    let standing = registry.workers.standings(registry.now).next().expect("it is there");
    assert_eq!((standing.revision, standing.behind_since), (3, None));
}

#[test]
fn what_is_acknowledged_later_counts_for_what_was_wanted_before() {
    let mut keys = Keys::new();
    let first = keys.view();
    let (second, third) = (keys.change(), keys.change());
    let mut registry = Registry::default();
    registry.publish(&third);
    let front = registry.join("front", &[]);
    registry.say(front, &acked(&first, ONE));
    assert_eq!(registry.lacks(2), ["node-front a/one"]);
    registry.say(front, &acked(&second, ONE));
    assert_eq!((registry.lacks(2).len(), registry.lacks(3).len()), (0, 1));
    registry.say(front, &acked(&third, ONE));
    assert!(registry.by_all(3));
}

#[test]
fn what_a_worker_brings_along_counts_as_far_as_its_content_is_known() {
    let mut keys = Keys::new();
    let first = keys.view();
    let second = keys.change();
    let third = keys.change();
    let mut registry = Registry::default();
    registry.publish(&third);
    let later = Version { revision: 99, ..foreign() };
    for (held, complete_to) in
        [(version(&first, ONE), 1), (version(&second, ONE), 2), (foreign(), 0), (later, 0)]
    {
        let front = registry.join("front", &[(ONE, held)]);
        let standing = registry.workers.standings(registry.now).next().expect("it is there");
        assert_eq!(standing.revision, complete_to);
        registry.leave(front);
    }
    // Nothing is sent to a worker that holds the present, so it has nothing to acknowledge.
    registry.join("front", &[(ONE, version(&third, ONE))]);
    assert!(registry.by_all(3));
}

#[test]
fn who_lacks_a_batch_lacks_the_first_change_of_it() {
    let mut keys = Keys::new();
    let first = keys.view();
    let mut registry = Registry::default();
    let front = registry.join("front", &[]);
    registry.say(front, &acked(&first, ONE));
    // Revisions 2 to 4 in one, of which the key's is 2 and the others are of nobody's keys.
    keys.index.apply(4, [put("a/ann", "team=x", 7)]);
    registry.publish(&keys.view());
    assert_eq!(registry.lacks(2), ["node-front a/one"]);
    registry.say(front, &acked(&keys.view(), ONE));
    assert!(registry.by_all(4));
    // Nothing happened up to 6, and that is known.
    keys.index.pass(6);
    keys.index.apply(8, [put("a/ann", "team=x", 8)]);
    registry.publish(&keys.view());
    assert_eq!((registry.lacks(6).len(), registry.lacks(7).len()), (0, 1));
}

#[test]
fn nobody_waits_for_a_table_that_is_gone_or_not_wanted_any_more() {
    let mut keys = Keys::new();
    let mut registry = Registry::default();
    registry.publish(&keys.view());
    registry.join("back", &[]);
    assert_eq!(registry.lacks(1), ["node-back a/one", "node-back a/two"]);
    registry.publish(&keys.view_for(&[("back", &[TWO])]));
    assert_eq!(registry.lacks(1), ["node-back a/two"]);
    registry.publish(&keys.view_for(&[]));
    assert!(registry.by_all(1));
    keys.index.apply(2, [delete_config(TWO)]);
    registry.publish(&keys.view());
    assert_eq!(registry.lacks(2), ["node-back a/one"]);
}

#[test]
fn refusals_are_counted_until_the_table_is_taken() {
    let view = Keys::new().view();
    let mut registry = Registry::default();
    registry.publish(&view);
    let back = registry.join("back", &[]);
    for (times, reason) in [(1, "first"), (2, "second")] {
        registry.refuse(back, ONE, reason);
        let refusal = Refusal { reason: reason.to_owned(), times };
        assert_eq!(registry.worker(back).refused, BTreeMap::from([(ONE.to_owned(), refusal)]));
    }
    registry.say(back, &acked(&view, TWO));
    assert_eq!(registry.worker(back).refused.len(), 1);
    registry.say(back, &acked(&view, ONE));
    assert_eq!(registry.worker(back).refused, BTreeMap::new());
    registry.refuse(back, ONE, "again");
    assert_eq!(registry.worker(back).refused[ONE].times, 1);
    assert!(registry.by_all(1), "it keeps what it has");
}

#[test]
fn a_worker_that_holds_less_than_its_version_lacks_that_until_it_is_whole() {
    let mut keys = Keys::new();
    let first = keys.view();
    let mut registry = Registry::default();
    registry.publish(&first);
    let front = registry.join("front", &[]);
    registry.say(front, &acked(&first, ONE));
    let second = keys.change();
    registry.publish(&second);
    let less = Holds { less: Some(7), ..whole(version(&first, ONE)) };
    registry.refuse_with(front, ONE, "no room", Some(less));
    assert_eq!(registry.lacks(2), ["node-front a/one"]);
    assert!(registry.by_all(1), "what was confirmed was so");
    // The table is as it was again, but the worker is not.
    keys.index.apply(3, [put("a/ann", "team=x", 1)]);
    registry.publish(&keys.view());
    assert_eq!(registry.lacks(3), ["node-front a/one"]);
    assert!(registry.workers.standings(registry.now).all(|it| it.missing.iter().all(|it| it.is_less)));
    // What it says when it comes back proves nothing of any revision.
    registry.leave(front);
    let held = vec![(ONE.to_owned(), less)];
    let SessionEvent::Subscribed { node, role, worker, build, config_version, .. } =
        subscribed("front", "w", &[])
    else {
        panic!("it subscribes")
    };
    let back = registry.workers.connect();
    registry.say(back, &SessionEvent::Subscribed { node, role, worker, build, config_version, held });
    assert_eq!(registry.lacks(1), ["node-front a/one"]);
    let took = SessionEvent::TookAway { table: ONE.to_owned(), holds: less };
    registry.say(back, &took);
    assert_eq!(registry.lacks(3), ["node-front a/one"]);
    registry.say(back, &acked(&keys.view(), ONE));
    assert!(registry.by_all(3));
    // One that could not even forget holds nothing.
    registry.refuse_with(back, ONE, "no memory", None);
    assert_eq!(registry.lacks(1), ["node-front a/one"]);
}

#[test]
fn a_table_that_was_dropped_is_not_held() {
    let view = Keys::new().view();
    let mut registry = Registry::default();
    registry.publish(&view);
    let back = registry.join("back", &[(TWO, version(&view, TWO))]);
    registry.say(back, &acked(&view, ONE));
    registry.refuse(back, ONE, "why");
    let begin = SnapshotBegin { table: TWO.to_owned(), entries: 1 };
    registry.workers.on_sent(back, &ServerMessage { kind: Some(server_message::Kind::Begin(begin)) });
    assert!(registry.by_all(1), "it serves what it holds while it loads");
    registry.workers.on_sent(back, &dropped(ONE));
    assert_eq!(registry.lacks(1), ["node-back a/one"]);
    assert_eq!(registry.worker(back).refused, BTreeMap::new());
    let another = registry.workers.connect();
    registry.workers.on_sent(another, &dropped(TWO));
    assert_eq!(registry.lacks(1), ["node-back a/one"]);
}
