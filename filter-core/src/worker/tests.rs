use super::*;
use crate::fake::{FakeHost, FakeRequest, FakeTable, drop_table};
use crate::link::LONGEST_DELAY_MS;
use crate::parking;

mod model;
mod usage;

const ROOT: u32 = 100;

/// A worker in a proxy, driven as the proxy would.
struct World {
    worker: Worker,
    host: FakeHost,
    configs: BTreeMap<u32, Rc<FilterConfig>>,
    next: u32,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            worker: Worker::new(1, "test"),
            host: FakeHost::default(),
            configs: BTreeMap::new(),
            next: 1,
        };
        world.configure(ROOT, 1);
        world
    }

    /// A world in which the stream is up and a table is held.
    fn with(table: &FakeTable) -> Self {
        let mut world = Self::new();
        world.tick(10);
        world.accept();
        world.deliver(table);
        world
    }

    fn configure(&mut self, root: u32, version: u64) {
        let json = format!(
            r#"{{"version": {version}, "role": "ns~gw", "controlCluster": "control",
                "identityHeader": "x-user-id", "waitForKeysMs": 5000,
                "policies": {{"ns/a": {{"steps": [{{"keyHeader": "api-key", "table": "t"}}]}},
                              "ns/b": {{"steps": [{{"keyHeader": "api-key", "table": "u"}}]}}}}}}"#
        );
        self.host.current = root;
        self.host.roots.insert(root, 0);
        let config = self.worker.on_configure(root, json.as_bytes(), &mut self.host).expect("a good one");
        self.configs.insert(root, config);
    }

    fn remove_root(&mut self, root: u32) {
        // The proxy resets the streams of a root that goes, and says nothing.
        self.host.streams.retain(|_, (owner, _)| *owner != root);
        self.host.roots.remove(&root);
        self.configs.remove(&root);
        self.worker.on_root_gone(root, &mut self.host);
    }

    fn tick_root(&mut self, root: u32) {
        self.host.current = root;
        self.worker.on_tick(root, &mut self.host);
        assert_eq!(self.host.current, root, "a tick ends in the context that it began in");
    }

    /// Lets time go by in ticks as fast as the worker asked for.
    fn tick(&mut self, milliseconds: u64) {
        let until = self.host.now + milliseconds;
        while self.host.now < until {
            let period = self.host.roots.values().copied().min().expect("a root that ticks");
            self.host.now = (self.host.now + u64::from(period.max(1))).min(until);
            for root in self.host.roots.keys().copied().collect::<Vec<_>>() {
                self.tick_root(root);
            }
        }
    }

    fn stream(&self) -> u32 {
        assert_eq!(self.host.streams.len(), 1, "one stream is open");
        self.host.streams.keys().copied().next().expect("one stream is open")
    }

    fn accept(&mut self) {
        let stream = self.stream();
        self.worker.on_stream_accepted(stream, &mut self.host);
    }

    fn message(&mut self, message: &[u8]) {
        let stream = self.stream();
        let (root, _) = self.host.streams[&stream];
        self.host.current = root;
        self.worker.on_message(stream, message, &mut self.host);
        assert_eq!(self.host.current, root, "a message ends in the context that it began in");
    }

    fn deliver(&mut self, table: &FakeTable) {
        for message in table.snapshot("t", 2) {
            self.message(&message);
        }
    }

    fn cut(&mut self) {
        let stream = self.stream();
        let (root, _) = self.host.streams.remove(&stream).expect("the stream");
        self.host.current = root;
        self.worker.on_close(stream, &mut self.host);
    }

    /// A request with a key arrives at a root. Gives the number of its context.
    fn request_at(&mut self, root: u32, route: &str, key: &str) -> u32 {
        let context = self.next;
        self.next += 1;
        self.host.requests.insert(context, FakeRequest::new(route, &[("api-key", key)]));
        self.host.current = context;
        self.worker.on_new_request(root, &mut self.host);
        // The proxy takes what is asked in a request's context for its root.
        self.host.roots.entry(context).or_insert(u32::MAX);
        let outcome = self.worker.on_request_headers(context, &self.configs[&root].clone(), &mut self.host);
        if let Some(period) = self.host.roots.remove(&context).filter(|period| *period != u32::MAX) {
            self.host.roots.insert(root, period);
        }
        if matches!(outcome, Outcome::Forward(_)) {
            self.host.requests.get_mut(&context).expect("the request").resumed = true;
        }
        context
    }

    fn request(&mut self, key: &str) -> u32 {
        self.request_at(ROOT, "ns/a|r", key)
    }

    fn fate(&self, context: u32) -> String {
        self.host.requests[&context].fate()
    }

    fn end_request(&mut self, context: u32) {
        self.host.requests.remove(&context);
        self.worker.on_request_gone(context, &mut self.host);
    }
}

fn keys() -> FakeTable {
    FakeTable::new(5, &[("k1", "ann"), ("k2", "bob"), ("k3", "cat")])
}

#[test]
fn the_stream_is_opened_on_a_tick_and_not_while_configuring() {
    let mut world = World::new();
    assert_eq!(world.host.opened, 0);
    world.tick(10);
    let [ClientKind::Subscribe(subscribe)] = world.host.sent() else {
        panic!("a subscription and nothing else: {:?}", world.host.sent());
    };
    assert_eq!(subscribe.node_id, "node-1");
    assert_eq!(subscribe.role, "ns~gw");
    assert_eq!(subscribe.filter_build, "test");
    assert_eq!(subscribe.config_version, 1);
    assert_eq!(subscribe.worker.len(), 16);
    assert_eq!(subscribe.held, []);
}

#[test]
fn a_bad_configuration_changes_nothing() {
    let mut world = World::new();
    world.host.current = 200;
    let refused = world.worker.on_configure(200, b"{}", &mut world.host);
    assert!(refused.is_err());
    assert_eq!(world.worker.in_force, Some(ROOT));
    assert_eq!(world.host.metric(Metric::ConfigVersion), 1);
}

#[test]
fn every_change_is_acknowledged_and_shown() {
    let mut world = World::with(&keys());
    let next = FakeTable::new(6, &[("k1", "ann")]);
    world.message(&keys().delta("t", &next));
    world.message(&keys().delta("t", &next));
    let [ClientKind::Subscribe(_), ClientKind::Ack(first), ClientKind::Ack(second), ClientKind::Nack(nack)] =
        world.host.sent()
    else {
        panic!("an answer to each change: {:?}", world.host.sent());
    };
    let version = |ack: &crate::wire::Ack| ack.held.as_ref().and_then(|held| held.version);
    assert_eq!((version(first), version(second)), (Some(keys().version()), Some(next.version())));
    assert_eq!(nack.table, "t");
    for (metric, value) in [
        (Metric::Keys, 1),
        (Metric::TablesRevision, 6),
        (Metric::ChangesApplied, 2),
        (Metric::ChangesRefused, 1),
        (Metric::StreamsConnected, 1),
    ] {
        assert_eq!(world.host.metric(metric), value, "{metric:?}");
    }
    world.message(&drop_table("t"));
    assert_eq!(world.host.metric(Metric::Keys), 0);
}

#[test]
fn requests_wait_for_the_first_snapshot_and_are_decided_then() {
    let mut world = World::new();
    let (good, bad, none) = (world.request("k1"), world.request("nope"), world.request(""));
    let gone = world.request("k2");
    let forbidden = world.request_at(ROOT, "ns/none|r", "k1");
    assert_eq!(world.host.metric(Metric::Parked), 4);
    assert_eq!(world.fate(forbidden), "403");
    world.tick(1_000);
    for context in [good, bad, none] {
        assert_eq!(world.fate(context), "waits");
    }
    world.end_request(gone);
    world.accept();
    world.deliver(&keys());
    assert_eq!(world.fate(good), "forward as ann");
    assert_eq!(world.fate(bad), "401");
    assert_eq!(world.fate(none), "401");
    assert_eq!(world.host.metric(Metric::Parked), 0);
    // Nobody is answered a second time when the time is up.
    world.tick(10_000);
    assert_eq!(world.fate(good), "forward as ann");
    assert_eq!(world.host.metric(Metric::Unavailable), 0);
}

#[test]
fn a_request_waits_for_its_own_table() {
    let mut world = World::new();
    let other = world.request_at(ROOT, "ns/b|r", "k1");
    world.tick(50);
    world.deliver(&keys());
    assert_eq!(world.fate(other), "waits");
    world.tick(4_900);
    assert_eq!(world.fate(other), "waits");
    world.tick(101);
    assert_eq!(world.fate(other), "503");
}

#[test]
fn waiting_ends_in_time() {
    let mut world = World::new();
    world.tick(3_000);
    let context = world.request("k1");
    world.tick(4_950);
    assert_eq!(world.fate(context), "waits");
    world.tick(100);
    assert_eq!(world.fate(context), "503");
    assert_eq!(world.host.metric(Metric::Unavailable), 1);
    assert_eq!(world.host.metric(Metric::Parked), 0);
}

#[test]
fn waiting_ends_even_when_the_stream_idles_and_the_wall_clock_jumps_back() {
    let mut world = World::with(&keys());
    world.tick(10_000);
    let context = world.request_at(ROOT, "ns/b|r", "k1");
    world.tick(1_000);
    world.host.now = 0;
    world.tick(4_100);
    assert_eq!(world.fate(context), "503");
}

#[test]
fn a_wall_clock_that_jumps_ahead_does_not_end_all_waiting() {
    let mut world = World::new();
    world.tick(1_000);
    let context = world.request("k1");
    world.host.now += 1_000_000_000;
    world.tick(50);
    assert_eq!(world.fate(context), "waits");
}

#[test]
fn more_than_so_many_requests_do_not_wait() {
    let mut world = World::new();
    for _ in 0..parking::CAPACITY {
        world.request("k1");
    }
    let surplus = world.request("k1");
    assert_eq!(world.fate(surplus), "503");
    world.end_request(1);
    let next = world.request("k1");
    assert_eq!(world.fate(next), "waits");
}

#[test]
fn keys_outlive_the_stream() {
    let mut world = World::with(&keys());
    world.cut();
    assert_eq!(world.host.metric(Metric::StreamsConnected), 0);
    let (good, bad) = (world.request("k1"), world.request("nope"));
    assert_eq!(world.fate(good), "forward as ann");
    assert_eq!(world.fate(bad), "401");
}

#[test]
fn a_stream_that_is_cut_comes_back_with_what_is_held() {
    let mut world = World::with(&keys());
    world.cut();
    world.tick(100);
    let [ClientKind::Subscribe(subscribe)] = world.host.sent() else { panic!("a subscription") };
    assert_eq!(subscribe.held[0].version, Some(keys().version()));
    world.accept();
    let next = FakeTable::new(6, &[("k1", "ann")]);
    world.message(&keys().delta("t", &next));
    let revoked = world.request("k2");
    assert_eq!(world.fate(revoked), "401");
}

#[test]
fn a_server_that_is_away_is_found_when_it_is_back() {
    let mut world = World::new();
    world.host.unreachable = true;
    world.tick(60_000);
    assert_eq!(world.host.opened, 0);
    world.host.unreachable = false;
    world.tick(LONGEST_DELAY_MS + 50);
    assert_eq!(world.host.opened, 1);
}

#[test]
fn a_stream_that_carries_garbage_is_replaced() {
    let mut world = World::with(&keys());
    world.message(&[0xff; 9]);
    assert!(world.host.streams.is_empty(), "the stream is cancelled");
    assert_eq!(world.host.metric(Metric::StreamsConnected), 0);
    world.tick(100);
    assert_eq!(world.host.opened, 2);
    let good = world.request("k1");
    assert_eq!(world.fate(good), "forward as ann");
}

#[test]
fn a_new_configuration_takes_the_stream_over_at_once_and_loses_no_key() {
    let mut world = World::with(&keys());
    world.configure(200, 2);
    assert_eq!(world.host.current, 200, "configuring ends in the context that it began in");
    assert_eq!(world.host.metric(Metric::ConfigVersion), 2);
    let good = world.request_at(200, "ns/a|r", "k1");
    assert_eq!(world.fate(good), "forward as ann");
    // No tick was needed, and at no time was there no stream.
    let [ClientKind::Subscribe(subscribe)] = world.host.sent() else { panic!("a subscription") };
    assert_eq!(subscribe.config_version, 2);
    assert_eq!(subscribe.held[0].version, Some(keys().version()));
    assert_eq!(world.host.cancelled_last, 0);
    world.accept();
    // What is revoked meanwhile is revoked.
    let next = FakeTable::new(6, &[("k1", "ann")]);
    world.message(&keys().delta("t", &next));
    let revoked = world.request_at(200, "ns/a|r", "k2");
    assert_eq!(world.fate(revoked), "401");
    assert_eq!(world.host.metric(Metric::StreamsConnected), 1);
    // The old root goes at last, and nobody notices.
    world.remove_root(ROOT);
    world.tick(5_000);
    assert_eq!(world.host.opened, 2);
    assert_eq!(world.host.metric(Metric::StreamsConnected), 1);
}

#[test]
fn going_back_to_a_configuration_that_is_still_alive_puts_it_in_force_again() {
    let mut world = World::with(&keys());
    world.configure(200, 2);
    world.tick(10);
    world.request_at(ROOT, "ns/a|r", "k1");
    assert_eq!(world.host.metric(Metric::ConfigVersion), 1);
    world.tick(1_000);
    let [ClientKind::Subscribe(subscribe)] = world.host.sent() else { panic!("a subscription") };
    assert_eq!(subscribe.config_version, 1);
}

#[test]
fn a_root_that_goes_leaves_its_place_to_another() {
    let mut world = World::with(&keys());
    world.configure(200, 2);
    world.tick(10);
    world.accept();
    world.remove_root(200);
    assert_eq!(world.host.metric(Metric::StreamsConnected), 0);
    assert_eq!(world.host.metric(Metric::ConfigVersion), 1);
    world.tick(u64::from(BUSY_TICK_MS));
    let [ClientKind::Subscribe(subscribe)] = world.host.sent() else { panic!("a subscription") };
    assert_eq!((subscribe.config_version, subscribe.held.len()), (1, 1));
}

#[test]
fn requests_that_wait_are_decided_by_the_configuration_that_they_came_under() {
    let mut world = World::new();
    let context = world.request("k1");
    world.configure(200, 2);
    world.tick(10);
    world.deliver(&keys());
    assert_eq!(world.fate(context), "forward as ann");
}

#[test]
fn a_root_that_is_configured_again_says_so() {
    let mut world = World::with(&keys());
    world.configure(ROOT, 2);
    world.tick(10);
    let last = world.host.sent().last();
    assert_eq!(last, Some(&ClientKind::ConfigApplied(ConfigApplied { version: 2 })));
    let before = world.host.sent().len();
    world.tick(5_000);
    assert_eq!(world.host.sent().len(), before, "it says so once");
}

#[test]
fn messages_of_a_stream_that_was_given_up_are_not_heard() {
    let mut world = World::with(&keys());
    let old = world.stream();
    world.configure(200, 2);
    world.tick(10);
    world.worker.on_message(old, &drop_table("t"), &mut world.host);
    world.worker.on_close(old, &mut world.host);
    world.worker.on_stream_accepted(old, &mut world.host);
    assert_eq!(world.worker.replica().keys(), 3);
    assert_eq!(world.host.streams.len(), 1);
    assert_eq!(world.host.metric(Metric::StreamsConnected), 0);
}

#[test]
fn it_ticks_fast_while_there_is_something_to_wait_for_and_slowly_otherwise() {
    let mut world = World::new();
    assert_eq!(world.host.roots[&ROOT], FIRST_TICK_MS);
    world.host.unreachable = true;
    world.tick(10);
    assert_eq!(world.host.roots[&ROOT], BUSY_TICK_MS);
    world.host.unreachable = false;
    world.tick(200);
    assert_eq!(world.host.roots[&ROOT], IDLE_TICK_MS);
    let context = world.request("k1");
    assert_eq!(world.host.roots[&ROOT], BUSY_TICK_MS);
    world.end_request(context);
    world.tick(50);
    assert_eq!(world.host.roots[&ROOT], IDLE_TICK_MS);
    world.cut();
    assert_eq!(world.host.roots[&ROOT], BUSY_TICK_MS);
}

#[test]
fn nothing_in_the_log_tells_a_key() {
    let mut world = World::new();
    world.request("k1");
    world.tick(6_000);
    world.deliver(&keys());
    world.message(&keys().delta("t", &keys()));
    world.request("a-secret-that-is-wrong");
    world.message(&[0xff; 9]);
    let log = world.host.log.join("\n");
    assert!(log.contains("waited for keys in vain"), "{log}");
    assert!(!log.contains("k1") && !log.contains("secret"), "{log}");
}
