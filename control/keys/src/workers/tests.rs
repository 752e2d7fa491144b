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

fn subscribed(role: &str, held: &[(&str, Version)]) -> SessionEvent {
    SessionEvent::Subscribed {
        node: format!("node-{role}"),
        role: role.to_owned(),
        worker: "w".to_owned(),
        build: "b".to_owned(),
        config_version: 3,
        held: held.iter().map(|(table, version)| (String::from(*table), *version)).collect(),
    }
}

fn acked(view: &KeyView, table: &str) -> SessionEvent {
    SessionEvent::Acked { table: table.to_owned(), version: version(view, table) }
}

fn nacked(table: &str, reason: &str) -> SessionEvent {
    SessionEvent::Nacked { table: table.to_owned(), reason: reason.to_owned() }
}

fn version(view: &KeyView, table: &str) -> Version {
    view.table(table).expect("the table exists").version()
}

fn dropped(table: &str) -> ServerMessage {
    ServerMessage { kind: Some(server_message::Kind::Drop(Drop { table: table.to_owned() })) }
}

fn join(workers: &mut Workers, role: &str, held: &[(&str, Version)]) -> Connection {
    let connection = workers.connect();
    workers.on_event(connection, &subscribed(role, held));
    connection
}

/// The node and the table of each lag; that there is one or none is what `is_synced` says too.
fn lag(workers: &Workers, target: &KeyView, now: &KeyView) -> Vec<String> {
    let lags = workers.lag(target, now);
    assert_eq!(workers.is_synced(target, now), lags.is_empty());
    lags.iter().map(|lag| format!("{} {}", lag.node, lag.table)).collect()
}

fn worker(workers: &Workers, connection: Connection) -> Worker {
    let found = workers.iter().find(|(it, _)| *it == connection).map(|(_, worker)| worker);
    found.expect("the worker is known").clone()
}

#[test]
fn a_stream_is_a_worker_from_its_subscription_to_its_end() {
    let view = Keys::new().view();
    let mut workers = Workers::default();
    let (first, second) = (workers.connect(), workers.connect());
    assert_ne!(first, second);
    assert!(workers.is_synced(&view, &view));
    workers.on_event(first, &acked(&view, ONE));
    assert_eq!(workers.iter().count(), 0);

    workers.on_event(first, &subscribed("front", &[(ONE, foreign())]));
    let expected = Worker {
        node: "node-front".to_owned(),
        role: "front".to_owned(),
        worker: "w".to_owned(),
        build: "b".to_owned(),
        config_version: 3,
        held: BTreeMap::from([(ONE.to_owned(), Held { version: foreign(), acknowledged: false })]),
        refused: BTreeMap::new(),
    };
    assert_eq!(workers.iter().collect::<Vec<_>>(), [(first, &expected)]);
    assert_eq!(lag(&workers, &view, &view), ["node-front a/one"]);

    workers.on_event(first, &SessionEvent::ConfigApplied { version: 4 });
    assert_eq!(worker(&workers, first).config_version, 4);
    workers.disconnect(second);
    assert_eq!(workers.iter().count(), 1);
    workers.disconnect(first);
    assert_eq!(workers.iter().count(), 0);
    assert!(workers.is_synced(&view, &view));
    let third = workers.connect();
    assert!(third != first && third != second);
}

#[test]
fn in_sync_is_every_table_of_every_worker() {
    let view = Keys::new().view();
    let mut workers = Workers::default();
    let front = join(&mut workers, "front", &[]);
    let back = join(&mut workers, "back", &[]);
    assert_eq!(lag(&workers, &view, &view), ["node-front a/one", "node-back a/one", "node-back a/two"]);
    workers.on_event(front, &acked(&view, ONE));
    workers.on_event(back, &acked(&view, TWO));
    assert_eq!(lag(&workers, &view, &view), ["node-back a/one"]);
    workers.on_event(back, &acked(&view, ONE));
    assert_eq!(lag(&workers, &view, &view), [""; 0]);
    join(&mut workers, "stranger", &[]);
    assert_eq!(lag(&workers, &view, &view), [""; 0]);
}

#[test]
fn a_lag_says_who_holds_what_instead_of_what_and_why() {
    let mut keys = Keys::new();
    let first = keys.view();
    let mut workers = Workers::default();
    let front = join(&mut workers, "front", &[]);
    workers.on_event(front, &acked(&first, ONE));
    let second = keys.change();
    workers.on_event(front, &nacked(ONE, "no room"));
    let expected = Lag {
        connection: front,
        node: "node-front".to_owned(),
        worker: "w".to_owned(),
        table: ONE.to_owned(),
        held: Some(version(&first, ONE)),
        wanted: version(&second, ONE),
        refused: Some(Refusal { reason: "no room".to_owned(), times: 1 }),
    };
    assert_eq!(workers.lag(&second, &second), [expected]);
}

#[test]
fn what_is_acknowledged_later_counts_for_what_was_wanted_before() {
    let mut keys = Keys::new();
    let first = keys.view();
    let (second, third) = (keys.change(), keys.change());
    let mut workers = Workers::default();
    let front = join(&mut workers, "front", &[]);
    workers.on_event(front, &acked(&first, ONE));
    assert_eq!(lag(&workers, &second, &third), ["node-front a/one"]);
    workers.on_event(front, &acked(&third, ONE));
    assert_eq!(lag(&workers, &second, &third), [""; 0]);
    assert_eq!(lag(&workers, &third, &third), [""; 0]);
}

#[test]
fn what_a_worker_brings_along_counts_only_where_it_is_what_is_wanted() {
    let mut keys = Keys::new();
    let first = keys.view();
    let second = keys.change();
    let mut workers = Workers::default();
    let later = Version { revision: 99, ..foreign() };
    for (held, lags) in [(version(&first, ONE), 1), (version(&second, ONE), 0), (foreign(), 1), (later, 1)] {
        let front = join(&mut workers, "front", &[(ONE, held)]);
        assert_eq!(lag(&workers, &second, &second).len(), lags);
        workers.disconnect(front);
    }
    // Nothing is sent to a worker that holds the present, so it has nothing to acknowledge.
    let third = keys.change();
    join(&mut workers, "front", &[(ONE, version(&third, ONE))]);
    assert_eq!(lag(&workers, &second, &third), [""; 0]);
}

#[test]
fn nobody_waits_for_a_table_that_is_gone_or_not_wanted_any_more() {
    let mut keys = Keys::new();
    let target = keys.view();
    let mut workers = Workers::default();
    join(&mut workers, "back", &[]);
    assert_eq!(lag(&workers, &target, &target), ["node-back a/one", "node-back a/two"]);
    let without_one = keys.view_for(&[("back", &[TWO])]);
    assert_eq!(lag(&workers, &target, &without_one), ["node-back a/two"]);
    assert_eq!(lag(&workers, &without_one, &target), ["node-back a/two"]);
    assert_eq!(lag(&workers, &target, &keys.view_for(&[])), [""; 0]);
    keys.index.apply(2, [delete_config(TWO)]);
    assert_eq!(lag(&workers, &target, &keys.view()), ["node-back a/one"]);
}

#[test]
fn refusals_are_counted_until_the_table_is_taken() {
    let view = Keys::new().view();
    let mut workers = Workers::default();
    let back = join(&mut workers, "back", &[]);
    for (times, reason) in [(1, "first"), (2, "second")] {
        workers.on_event(back, &nacked(ONE, reason));
        let refusal = Refusal { reason: reason.to_owned(), times };
        assert_eq!(worker(&workers, back).refused, BTreeMap::from([(ONE.to_owned(), refusal)]));
    }
    workers.on_event(back, &acked(&view, TWO));
    assert_eq!(worker(&workers, back).refused.len(), 1);
    workers.on_event(back, &acked(&view, ONE));
    assert_eq!(worker(&workers, back).refused, BTreeMap::new());
    workers.on_event(back, &nacked(ONE, "again"));
    assert_eq!(worker(&workers, back).refused[ONE].times, 1);
    assert_eq!(lag(&workers, &view, &view), [""; 0], "it keeps what it has");
}

#[test]
fn a_table_that_was_dropped_is_not_held() {
    let view = Keys::new().view();
    let mut workers = Workers::default();
    let back = join(&mut workers, "back", &[(TWO, version(&view, TWO))]);
    workers.on_event(back, &acked(&view, ONE));
    workers.on_event(back, &nacked(ONE, "why"));
    let begin = SnapshotBegin { table: TWO.to_owned(), entries: 1 };
    workers.on_sent(back, &ServerMessage { kind: Some(server_message::Kind::Begin(begin)) });
    assert_eq!(lag(&workers, &view, &view), [""; 0], "it serves what it holds while it loads");
    workers.on_sent(back, &dropped(ONE));
    assert_eq!(lag(&workers, &view, &view), ["node-back a/one"]);
    assert_eq!(worker(&workers, back).refused, BTreeMap::new());
    let another = workers.connect();
    workers.on_sent(another, &dropped(TWO));
    assert_eq!(lag(&workers, &view, &view), ["node-back a/one"]);
}
