//! Several workers, each the real other end of its stream, while everything changes: whatever
//! happens on the way, they come to hold exactly what they should, and the server knows when.

use std::collections::BTreeSet;
use std::time::Duration;

use keyward_filter_core::replica::{Effect, Replica};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::fixtures::{CONFIGS, Entries, Objects, batch, tables};
use crate::index::LogLimits;
use crate::session::slot::MAX_REFUSALS;
use crate::workers::{Connection, GRACE, Goal, Workers};

const ROLES: [&str; 3] = ["front", "front", "back"];

/// What may happen. A worker is meant by its place.
#[derive(Debug, Clone)]
enum Action {
    /// Objects change.
    Change(Vec<Change>),
    /// A role wants other tables, or is not known any more.
    Want(&'static str, Option<BTreeSet<String>>),
    /// The server may send so many messages.
    Send(usize, u8),
    /// So many messages arrive at the worker.
    Deliver(usize, u8),
    /// So many messages arrive at the server.
    Answer(usize, u8),
    /// The stream breaks and the worker comes back with what it holds.
    Reconnect(usize),
    /// Another VM takes the place of the worker.
    Replace(usize),
    /// Somebody waits from now on until everybody holds what is there now.
    Await,
    /// Another server takes the place of this one: the log is gone, and perhaps the store was set
    /// back, so that revisions start again.
    Restart { set_back: bool },
    /// A message is damaged on its way to the worker.
    Damage(usize),
    /// The worker says that it refuses a table, for no reason that one could know.
    Refuse(usize, &'static str),
}

/// The rules of one run.
#[derive(Debug, Clone, Copy)]
struct Rules {
    log_limits: LogLimits,
    limits: Limits,
    /// Tables that are gone stay in the view while they are wanted.
    retire: bool,
    /// Nothing is damaged and nothing is refused for no reason.
    faithful: bool,
    /// Workers are of a build that knows nothing of aliases.
    old: bool,
}

#[derive(Debug)]
struct World {
    rules: Rules,
    objects: Objects,
    revision: u64,
    index: KeyIndex,
    wanted: Wanted,
    view: KeyView,
    target: Option<KeyView>,
    /// Every state of every table that was ever published.
    history: BTreeMap<String, Vec<(Version, Entries)>>,
    workers: Workers,
    peers: Vec<Peer>,
    now: Duration,
    /// How many VMs there have been.
    vms: usize,
}

#[derive(Debug)]
struct Peer {
    connection: Connection,
    line: Line,
    /// Tables of which a change waits for its answer.
    under_way: BTreeSet<String>,
    /// This server has heard of this VM.
    is_known: bool,
    /// It has answered what nobody asked. Its stream comes right all the same; but from its word
    /// on it cannot be told what it holds.
    lies: bool,
}

fn rules(faithful: bool) -> impl Strategy<Value = Rules> {
    let sizes = || prop_oneof![Just(1), 1..150_usize, Just(10_000)];
    (0..12_usize, 0..1_500_u64, sizes(), sizes(), any::<bool>(), any::<bool>()).prop_map(
        move |(changes, bytes, chunk_bytes, delta_bytes, retire, old)| Rules {
            log_limits: LogLimits { changes, bytes },
            limits: Limits { chunk_bytes, delta_bytes },
            retire,
            faithful,
            old,
        },
    )
}

/// An action of a world in which nothing is damaged on its way.
fn action() -> impl Strategy<Value = Action> {
    let worker = || 0..ROLES.len();
    prop_oneof![
        8 => batch().prop_map(Action::Change),
        3 => (select(&ROLES[1..]), option::weighted(0.9, tables()))
            .prop_map(|(role, tables)| Action::Want(role, tables)),
        12 => (worker(), 1..8_u8).prop_map(|(worker, times)| Action::Send(worker, times)),
        12 => (worker(), 1..8_u8).prop_map(|(worker, times)| Action::Deliver(worker, times)),
        12 => (worker(), 1..8_u8).prop_map(|(worker, times)| Action::Answer(worker, times)),
        2 => worker().prop_map(Action::Reconnect),
        1 => worker().prop_map(Action::Replace),
        2 => Just(Action::Await),
        1 => any::<bool>().prop_map(|set_back| Action::Restart { set_back }),
    ]
}

fn noisy_action() -> impl Strategy<Value = Action> {
    let worker = || 0..ROLES.len();
    prop_oneof![
        9 => action(),
        1 => worker().prop_map(Action::Damage),
        1 => (worker(), select(&CONFIGS[..])).prop_map(|(worker, table)| Action::Refuse(worker, table)),
    ]
}

// === impl World ===

impl World {
    fn new(rules: Rules) -> Self {
        let mut workers = Workers::starting(Duration::ZERO);
        let peers: Vec<_> =
            (0..).zip(ROLES).map(|(vm, role)| Peer::new(role, vm, rules, &mut workers)).collect();
        let mut world = Self {
            rules,
            objects: Objects::default(),
            revision: 0,
            index: KeyIndex::with_log_limits(rules.log_limits),
            wanted: Wanted::new(),
            view: KeyView::default(),
            target: None,
            history: BTreeMap::new(),
            workers,
            vms: peers.len(),
            peers,
            now: Duration::ZERO,
        };
        let all: BTreeSet<String> = CONFIGS.iter().map(|name| String::from(*name)).collect();
        world.wanted.extend(ROLES.iter().map(|role| (String::from(*role), all.clone())));
        world.publish();
        world
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Change(changes) => {
                self.revision += 1;
                changes.iter().cloned().for_each(|change| self.objects.apply(change));
                self.index.apply(self.revision, changes);
                self.publish();
            }
            Action::Want(role, tables) => {
                match tables {
                    Some(tables) => self.wanted.insert(role.to_owned(), tables),
                    None => self.wanted.remove(role),
                };
                self.publish();
            }
            Action::Send(worker, times) => {
                for _ in 0..times {
                    self.send(worker);
                }
            }
            Action::Deliver(worker, times) => {
                for _ in 0..times {
                    self.deliver(worker);
                }
            }
            Action::Answer(worker, times) => {
                for _ in 0..times {
                    self.answer(worker);
                }
            }
            Action::Reconnect(worker) => self.peers[worker].reconnect(&mut self.workers, self.now),
            Action::Replace(worker) => {
                let peer = &mut self.peers[worker];
                peer.line.replica = Replica::new();
                peer.line.worker = self.vms.to_string();
                self.vms += 1;
                peer.is_known = false;
                peer.reconnect(&mut self.workers, self.now);
            }
            Action::Await => self.target = Some(self.view.clone()),
            Action::Restart { set_back } => self.restart(set_back),
            Action::Damage(worker) => {
                if !self.peers[worker].line.to_worker.is_empty() {
                    self.peers[worker].line.damage();
                }
            }
            Action::Refuse(worker, table) => {
                self.peers[worker].lies = true;
                self.peers[worker].line.to_server.push_back(nack(table, "no reason"));
            }
        }
        self.check_proof();
    }

    fn publish(&mut self) {
        let view = self.index.view(self.wanted.clone());
        self.view = if self.rules.retire { view.with_retired(&self.view) } else { view };
        self.workers.on_keys(self.view.clone(), self.now);
        for (name, table) in self.view.tables() {
            let states = self.history.entry(name.to_owned()).or_default();
            if states.last().is_none_or(|(version, _)| *version != table.version()) {
                states.push((table.version(), entries(table)));
            }
        }
        for (name, entries) in self.objects.tables() {
            assert_eq!(self.history[&name].last().map(|(_, last)| last), Some(&entries));
        }
    }

    fn restart(&mut self, set_back: bool) {
        if set_back {
            self.revision = 1;
        }
        self.index = KeyIndex::with_log_limits(self.rules.log_limits);
        self.index.apply(self.revision, self.objects.all());
        self.view = KeyView::default();
        self.target = None;
        self.workers = Workers::starting(self.now);
        self.publish();
        for peer in &mut self.peers {
            peer.is_known = false;
            peer.reconnect(&mut self.workers, self.now);
        }
    }

    fn send(&mut self, worker: usize) -> Option<String> {
        use server_message::Kind;
        let peer = &mut self.peers[worker];
        let words = peer.line.send(&self.view)?;
        let message = peer.line.to_worker.back()?;
        self.workers.on_sent(peer.connection, message);
        let limits = self.rules.limits;
        match message.kind.as_ref()? {
            Kind::Begin(_) | Kind::UsageAck(_) => {}
            Kind::Chunk(chunk) => {
                assert!(chunk.entries.len() <= limits.chunk_bytes || words.ends_with(" 1"), "{words}");
            }
            Kind::End(SnapshotEnd { table, .. })
            | Kind::Delta(Delta { table, .. })
            | Kind::Alias(Alias { table, .. }) => {
                let also = match message.kind.as_ref() {
                    Some(Kind::Delta(delta)) => &delta.also[..],
                    _ => &[],
                };
                assert!(also.is_empty() || !self.rules.old);
                for table in also.iter().chain([table]) {
                    assert!(
                        peer.under_way.insert(table.clone()) || !self.rules.faithful,
                        "two changes under way: {words}"
                    );
                }
            }
            Kind::Drop(drop) => {
                assert!(
                    !peer.under_way.contains(&drop.table) || !self.rules.faithful,
                    "dropped with a change under way: {words}"
                );
            }
        }
        Some(words)
    }

    fn deliver(&mut self, worker: usize) -> bool {
        let line = &mut self.peers[worker].line;
        let Some(effect) = line.deliver() else { return false };
        match effect {
            Effect::Changed { .. } => {
                for name in self.history.keys() {
                    let Some(version) = line.replica.version(name) else { continue };
                    let content = line.content(name).expect("it is held");
                    let was = |(state, entries): &(Version, Entries)| {
                        state.checksum == version.checksum && *entries == content
                    };
                    assert!(
                        self.history[name].iter().any(was),
                        "{name} never was in this state: {version:?}"
                    );
                }
            }
            Effect::Refused { nack, .. } => assert!(!self.rules.faithful, "{nack:?}"),
            _ => {}
        }
        true
    }

    fn answer(&mut self, worker: usize) -> bool {
        let peer = &mut self.peers[worker];
        if peer.line.to_server.is_empty() {
            return false;
        }
        for event in peer.line.answer() {
            if let SessionEvent::Acked { table, .. } | SessionEvent::Nacked { table, .. } = &event {
                peer.under_way.remove(table);
            }
            if matches!(event, SessionEvent::Subscribed { .. }) {
                peer.is_known = true;
                peer.lies = false;
            }
            self.workers.on_event(peer.connection, &event, self.now);
        }
        true
    }

    /// Goes on until nobody has anything more to say. What the server said meanwhile.
    fn settle(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        for worker in 0..self.peers.len() {
            loop {
                let words = self.send(worker);
                let more = words.is_some();
                sent.extend(words);
                if !(self.deliver(worker) | self.answer(worker) | more) {
                    break;
                }
                assert!(sent.len() < 10_000, "it never ends: {:?}", &sent[sent.len() - 20..]);
                self.check_proof();
            }
        }
        // By now everybody is back who will ever be.
        self.now += 2 * GRACE;
        sent
    }

    fn is_confirmed(&self, view: &KeyView) -> bool {
        let goal = Goal { revision: view.revision(), policies: false };
        self.workers.confirmed(goal, self.now).by_all()
    }

    /// When the server says that everybody holds what is wanted, they do, also those who are
    /// between two streams.
    fn check_proof(&self) {
        let target = self.target.as_ref().unwrap_or(&self.view);
        if !self.is_confirmed(target) {
            return;
        }
        for peer in self.credible() {
            let role = &peer.line.role;
            let still_wanted =
                |name: &str| self.view.wanted_tables(role).any(|(wanted, _)| **wanted == *name);
            for (name, table) in target.wanted_tables(role).filter(|(name, _)| still_wanted(name)) {
                let states = &self.history[name.as_ref()];
                let held = peer.line.replica.version(name).map(|held| held.checksum);
                let at = states.iter().rposition(|(version, _)| Some(version.checksum) == held);
                let least = states.iter().position(|(version, _)| *version == table.version());
                assert!(at >= least && least.is_some(), "{role} {name}: {at:?} < {least:?}");
            }
        }
    }

    /// The workers that the server knows and whose answers are answers.
    fn credible(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.is_known && !peer.lies)
    }

    /// Everybody holds exactly what is wanted, no more and no less, and the server knows.
    fn check_settled(&self) {
        // But for who keeps a table that no change reaches any more.
        let keeps_retired =
            |peer: &Peer| self.view.wanted_tables(&peer.line.role).any(|(_, table)| table.retired.is_some());
        assert_eq!(self.is_confirmed(&self.view), !self.peers.iter().any(keeps_retired));
        for peer in &self.peers {
            assert_eq!(peer.lacks(&self.view), [""; 0]);
            let Some(wanted) = self.view.wanted(&peer.line.role) else { continue };
            for name in self.history.keys().filter(|name| !wanted.contains(*name)) {
                assert_eq!(peer.line.content(name), None);
            }
            for (name, entries) in self.objects.tables() {
                assert_eq!(peer.line.content(&name), wanted.contains(&name).then_some(entries));
            }
        }
    }

    /// What goes on when all is well and streams break and servers change: nothing to speak of.
    fn check_calm(&mut self) {
        self.check_settled();
        assert_eq!(self.settle(), [""; 0]);
        for peer in &mut self.peers {
            peer.reconnect(&mut self.workers, self.now);
        }
        assert_eq!(self.settle(), [""; 0]);
        self.check_settled();
        for set_back in [false, true] {
            self.restart(set_back);
            for words in self.settle() {
                assert!(words.starts_with("delta ") && words.ends_with(" +0 -0"), "{words}");
            }
            self.check_settled();
        }
    }
}

// === impl Peer ===

impl Peer {
    fn new(role: &str, vm: usize, rules: Rules, workers: &mut Workers) -> Self {
        let mut line = Line::new(role, rules.limits);
        line.is_old = rules.old;
        line.worker = vm.to_string();
        line.connect();
        let connection = workers.connect();
        Self { connection, line, under_way: BTreeSet::new(), is_known: false, lies: false }
    }

    fn reconnect(&mut self, workers: &mut Workers, now: Duration) {
        workers.disconnect(self.connection, now);
        self.connection = workers.connect();
        self.under_way.clear();
        self.line.connect();
    }

    /// The tables that the worker wants and does not hold as they are in the view.
    fn lacks(&self, view: &KeyView) -> Vec<String> {
        let lacks = |(name, table): &(&Arc<str>, &Placed)| {
            self.line.replica.version(name) != Some(table.version())
                || self.line.content(name) != Some(entries(&table.table))
        };
        view.wanted_tables(&self.line.role).filter(lacks).map(|(name, _)| name.to_string()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn workers_come_to_hold_what_is_wanted_and_refuse_nothing(
        rules in rules(true),
        actions in vec(action(), 1..100),
    ) {
        let mut world = World::new(rules);
        actions.into_iter().for_each(|action| world.act(action));
        world.settle();
        world.check_calm();
    }

    #[test]
    fn workers_that_refuse_are_helped_or_named(
        rules in rules(false),
        actions in vec(noisy_action(), 1..100),
    ) {
        let mut world = World::new(rules);
        actions.into_iter().for_each(|action| world.act(action));
        world.settle();
        for missing in world.workers.standings(world.now).flat_map(|standing| standing.missing) {
            let times = missing.refused.map_or(0, |refusal| refusal.times);
            prop_assert!(times >= MAX_REFUSALS || missing.retired, "nobody said why {} is behind", missing.table);
        }
        for peer in &mut world.peers {
            peer.reconnect(&mut world.workers, world.now);
        }
        world.settle();
        world.check_calm();
    }
}
