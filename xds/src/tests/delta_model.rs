//! The incremental protocol against a modelled client.

use super::{GOOD, Interest, NAMES, TYPES, World, index, is_bad, world_resource, world_snapshot};
use crate::{
    delta::Session,
    event::{Event, Output},
    memory::Memory,
    options::Options,
    snapshot::Snapshot,
    testing::url,
};
use envoy_types::pb::{
    envoy::service::discovery::v3::{DeltaDiscoveryRequest, DeltaDiscoveryResponse},
    google::rpc::Status,
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

#[derive(Clone, Debug)]
enum Action {
    /// Changes, and whether the session is told before the next request.
    Publish(Vec<(usize, usize, Option<u8>)>, bool),
    ClientReads,
    ServerReads,
    Subscribe(usize, usize),
    Unsubscribe(usize, usize),
    Wildcard(usize, bool),
    Reconnect,
    ClientRestarts,
    ServerRestarts,
    GraceOver,
    Tick,
}

/// The name that stands for everything, as an index.
const EVERYTHING: usize = NAMES.len();

type Held = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Client {
    interest: [Interest; TYPES.len()],
    held: [Held; TYPES.len()],
    /// Whether its refusals name what is bad.
    explains: bool,
}

struct Model {
    client: Client,
    to_client: VecDeque<DeltaDiscoveryResponse>,
    to_server: VecDeque<DeltaDiscoveryRequest>,
    session: Session,
    memory: Memory,
    world: World,
    snapshot: Snapshot,
    /// What was refused, until a successor was accepted.
    refused: BTreeSet<(usize, String, String)>,
    /// What the server knows the client to have, on this stream.
    known: [Held; TYPES.len()],
    /// Responses that are not answered yet.
    flights: Vec<Flight>,
    /// Endpoints that may be sent again because their cluster was.
    rewarm: BTreeSet<String>,
}

struct Flight {
    kind: usize,
    nonce: String,
    ticks: u8,
    changes: BTreeMap<String, Option<String>>,
    /// What was sent once more for its cluster's sake.
    rewarmed: BTreeSet<String>,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let kind = || 0..TYPES.len();
    let change = (kind(), 0..NAMES.len(), prop::option::weighted(0.8, 0..GOOD + 2));
    let action = prop_oneof![
        4 => (prop::collection::vec(change, 1..5), any::<bool>()).prop_map(|(c, told)| Action::Publish(c, told)),
        12 => Just(Action::ClientReads),
        12 => Just(Action::ServerReads),
        4 => (kind(), 0..NAMES.len()).prop_map(|(t, n)| Action::Subscribe(t, n)),
        2 => (kind(), 0..NAMES.len()).prop_map(|(t, n)| Action::Unsubscribe(t, n)),
        2 => (kind(), any::<bool>()).prop_map(|(t, on)| Action::Wildcard(t, on)),
        1 => Just(Action::Reconnect),
        1 => Just(Action::ClientRestarts),
        1 => Just(Action::ServerRestarts),
        1 => Just(Action::GraceOver),
        3 => Just(Action::Tick),
    ];
    prop::collection::vec(action, 1..120)
}

fn apply(held: &mut Held, changes: BTreeMap<String, Option<String>>) {
    for (name, version) in changes {
        match version {
            Some(version) => held.insert(name, version),
            None => held.remove(&name),
        };
    }
}

fn name(at: usize) -> String {
    NAMES.get(at).copied().unwrap_or("*").to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_shrink_iters: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn a_client_converges_and_is_never_told_twice(
        actions in actions(),
        explains in any::<bool>(),
        bad_allowed in any::<bool>(),
    ) {
        let mut model = Model::new(explains);
        for action in actions {
            model.act(action, bad_allowed);
        }
        model.settle();
        model.check_convergence();
    }
}

// === impl Model ===

impl Model {
    fn new(explains: bool) -> Self {
        let mut model = Self {
            client: Client { explains, ..Client::default() },
            to_client: VecDeque::new(),
            to_server: VecDeque::new(),
            session: Session::new(Arc::new(Options::default())),
            memory: Memory::default(),
            world: World::new(),
            snapshot: Snapshot::default(),
            refused: BTreeSet::new(),
            known: Default::default(),
            flights: Vec::new(),
            rewarm: BTreeSet::new(),
        };
        for legacy in ["CDS", "LDS"] {
            model.client.interest[index(url(legacy))] =
                Interest { wildcard: true, legacy: true, ..Interest::default() };
        }
        model.connect();
        model
    }

    fn act(&mut self, action: Action, bad_allowed: bool) {
        match action {
            Action::Publish(changes, told) => {
                for (kind, at, content) in changes {
                    match content.map(|c| if bad_allowed { c } else { c % GOOD }) {
                        Some(content) => self.world.insert((kind, at), content),
                        None => self.world.remove(&(kind, at)),
                    };
                }
                self.snapshot = world_snapshot(&self.world);
                if told {
                    let outputs = self.session.on_snapshot(&self.snapshot, &mut self.memory);
                    self.take(outputs);
                }
            }
            Action::ClientReads => self.client_reads(),
            Action::ServerReads => self.server_reads(),
            Action::Subscribe(kind, at) => {
                self.client.interest[kind].names.insert(name(at));
                self.ask(kind, vec![name(at)], Vec::new());
            }
            Action::Unsubscribe(kind, at) => {
                if self.client.interest[kind].names.remove(&name(at)) {
                    self.client.drop_unwanted(kind);
                    self.ask(kind, Vec::new(), vec![name(at)]);
                }
            }
            Action::Wildcard(kind, true) => {
                if !std::mem::replace(&mut self.client.interest[kind].wildcard, true) {
                    self.ask(kind, vec![name(EVERYTHING)], Vec::new());
                }
            }
            Action::Wildcard(kind, false) => {
                if std::mem::replace(&mut self.client.interest[kind].wildcard, false) {
                    self.client.drop_unwanted(kind);
                    self.ask(kind, Vec::new(), vec![name(EVERYTHING)]);
                }
            }
            Action::Reconnect => self.connect(),
            Action::ClientRestarts => {
                self.client.held = Default::default();
                self.connect();
            }
            Action::ServerRestarts => {
                self.memory = Memory::default();
                self.refused.clear();
                self.connect();
            }
            Action::Tick => {
                for flight in &mut self.flights {
                    flight.ticks += 1;
                }
                let outputs = self.session.on_tick(Some(&self.snapshot), &mut self.memory);
                self.take(outputs);
            }
            Action::GraceOver => {
                let outputs = self.session.on_grace_over(Some(&self.snapshot), &mut self.memory);
                self.take(outputs);
            }
        }
    }

    /// A new stream: what was under way is lost, and the client says what it wants and has.
    fn connect(&mut self) {
        self.to_client.clear();
        self.to_server.clear();
        self.session = Session::new(Arc::new(Options::default()));
        self.known = Default::default();
        self.flights.clear();
        self.rewarm.clear();
        for kind in 0..TYPES.len() {
            self.client.interest[kind].asked = false;
            let interest = &self.client.interest[kind];
            if interest.wildcard || !interest.names.is_empty() {
                self.ask(kind, Vec::new(), Vec::new());
            }
        }
    }

    fn ask(&mut self, kind: usize, subscribe: Vec<String>, unsubscribe: Vec<String>) {
        let interest = &mut self.client.interest[kind];
        interest.legacy &= subscribe.is_empty() && unsubscribe.is_empty();
        let mut request = DeltaDiscoveryRequest {
            type_url: url(TYPES[kind]).to_owned(),
            resource_names_subscribe: subscribe,
            resource_names_unsubscribe: unsubscribe,
            ..DeltaDiscoveryRequest::default()
        };
        if !std::mem::replace(&mut interest.asked, true) {
            request.resource_names_subscribe = interest.names.iter().cloned().collect();
            if interest.wildcard && !interest.legacy {
                request.resource_names_subscribe.push("*".to_owned());
            }
            if request.resource_names_subscribe.is_empty() && !interest.legacy {
                // A first request without names would mean everything.
                interest.asked = false;
                return;
            }
            request.resource_names_unsubscribe.clear();
            request.initial_resource_versions = self.client.held[kind].clone().into_iter().collect();
        }
        self.to_server.push_back(request);
    }

    fn client_reads(&mut self) {
        let Some(response) = self.to_client.pop_front() else { return };
        let error = self.client.apply(&response);
        self.to_server.push_back(DeltaDiscoveryRequest {
            type_url: response.type_url,
            response_nonce: response.nonce,
            error_detail: error.map(|message| Status { code: 13, message, details: Vec::new() }),
            ..DeltaDiscoveryRequest::default()
        });
    }

    fn server_reads(&mut self) {
        let Some(request) = self.to_server.pop_front() else { return };
        let kind = index(&request.type_url);
        if let Some(at) = self.flights.iter().position(|flight| flight.nonce == request.response_nonce) {
            let flight = self.flights.remove(at);
            if request.error_detail.is_some() {
                self.rewarm.extend(flight.rewarmed);
            } else {
                apply(&mut self.known[kind], flight.changes);
            }
        }
        for (name, version) in &request.initial_resource_versions {
            self.known[kind].insert(name.clone(), version.clone());
        }
        for name in &request.resource_names_subscribe {
            if !request.initial_resource_versions.contains_key(name) {
                self.forget(kind, name);
            }
        }
        for name in &request.resource_names_unsubscribe {
            if name == "*" {
                for name in NAMES {
                    self.forget(kind, name);
                }
            }
            self.forget(kind, name);
        }
        let outputs = self.session.on_request(request, Some(&self.snapshot), &mut self.memory);
        self.take(outputs.expect("a good request"));
    }

    /// After a change of its subscription, a name may be sent again.
    fn forget(&mut self, kind: usize, name: &str) {
        self.known[kind].remove(name);
        for flight in self.flights.iter_mut().filter(|flight| flight.kind == kind) {
            flight.changes.remove(name);
        }
    }

    /// What the client will have of a type if it accepts all that is under way.
    fn given(&self, kind: usize) -> Held {
        let mut given = self.known[kind].clone();
        for flight in self.flights.iter().filter(|flight| flight.kind == kind) {
            apply(&mut given, flight.changes.clone());
        }
        given
    }

    /// Takes what the server puts out, and checks it.
    fn take(&mut self, outputs: Vec<Output<DeltaDiscoveryResponse>>) {
        for output in outputs {
            match output {
                Output::Send(response) => self.check_response(response),
                Output::Event(Event::Nacked(nack)) => {
                    let kind = index(&nack.type_url);
                    for resource in nack.resources {
                        // One refusal stands at a time: a second one means that the version changed.
                        self.refused.retain(|(k, name, _)| *k != kind || **name != *resource.name);
                        self.refused.insert((kind, resource.name.to_string(), resource.version.to_string()));
                    }
                }
                Output::Event(Event::Acked(delivery)) => {
                    let kind = index(&delivery.type_url);
                    for resource in delivery.resources {
                        self.refused.retain(|(k, name, _)| *k != kind || **name != *resource.name);
                    }
                }
                Output::Event(Event::Restarted) => self.refused.clear(),
                Output::Event(_) => {}
            }
        }
    }

    fn check_response(&mut self, response: DeltaDiscoveryResponse) {
        let kind = index(&response.type_url);
        assert!(
            self.flights.iter().all(|flight| flight.kind != kind || flight.ticks >= 2),
            "a second response of a type before the answer to the first"
        );
        let given = self.given(kind);
        let mut changes = BTreeMap::new();
        let mut rewarmed = BTreeSet::new();
        let mut names = BTreeSet::new();
        for resource in &response.resources {
            let (name, version) = (resource.name.clone(), resource.version.clone());
            assert!(names.insert(name.clone()), "{name} twice in one response");
            assert!(
                !self.refused.contains(&(kind, name.clone(), version.clone())),
                "{} {name} was refused and is sent again",
                TYPES[kind]
            );
            changes.insert(name.clone(), Some(version.clone()));
            let excused = TYPES[kind] == "EDS" && self.rewarm.remove(&name);
            rewarmed.extend(excused.then(|| name.clone()));
            assert!(given.get(&name) != Some(&version) || excused, "{} {name} is sent twice", TYPES[kind]);
            if TYPES[kind] == "CDS" && name.starts_with("eds-") {
                self.rewarm.insert(name);
            }
        }
        for name in &response.removed_resources {
            assert!(names.insert(name.clone()), "{name} sent and removed in one response");
            changes.insert(name.clone(), None);
        }
        self.flights.push(Flight { kind, nonce: response.nonce.clone(), ticks: 0, changes, rewarmed });
        if TYPES[kind] == "ECDS" {
            assert!(response.resources.len() <= 1);
        }
        self.to_client.push_back(response);
    }

    fn settle(&mut self) {
        let outputs = self.session.on_grace_over(Some(&self.snapshot), &mut self.memory);
        self.take(outputs);
        for _ in 0..2000 {
            if self.to_client.is_empty() && self.to_server.is_empty() {
                return;
            }
            self.client_reads();
            self.server_reads();
        }
        panic!("no end of messages");
    }

    fn check_convergence(&self) {
        for (kind, interest) in self.client.interest.iter().enumerate() {
            for (at, name) in NAMES.iter().enumerate() {
                let held = self.client.held[kind].get(*name);
                let wanted = self.world.get(&(kind, at)).map(|c| world_resource((kind, at), *c));
                let wanted = wanted.filter(|_| interest.includes(name));
                match wanted {
                    None => assert_eq!(held, None, "{} {name} should be gone", TYPES[kind]),
                    Some(wanted) if self.memory.is_rejected(&wanted) => {
                        assert!(!self.client.explains || is_bad(wanted.body()), "an innocent is blamed");
                    }
                    Some(wanted) => {
                        assert!(!is_bad(wanted.body()), "a bad one is not known to be refused");
                        assert_eq!(
                            held.map(String::as_str),
                            Some(&**wanted.version()),
                            "{} {name} differs",
                            TYPES[kind]
                        );
                    }
                }
            }
        }
        assert!(
            self.session
                .status(Some(&self.snapshot), &self.memory)
                .iter()
                .all(|t| !t.waiting && !t.unanswered)
        );
    }
}

// === impl Client ===

impl Client {
    /// Takes all or nothing of a response; tells why not.
    fn apply(&mut self, response: &DeltaDiscoveryResponse) -> Option<String> {
        let kind = index(&response.type_url);
        let is_bad = |r: &&envoy_types::pb::envoy::service::discovery::v3::Resource| {
            is_bad(&r.resource.as_ref().expect("a body").value)
        };
        let bad: Vec<_> = response.resources.iter().filter(is_bad).map(|r| r.name.as_str()).collect();
        if !bad.is_empty() {
            return Some(if self.explains { format!("bad: {}", bad.join(", ")) } else { "bad".to_owned() });
        }
        for resource in &response.resources {
            self.held[kind].insert(resource.name.clone(), resource.version.clone());
        }
        for name in &response.removed_resources {
            self.held[kind].remove(name);
        }
        self.drop_unwanted(kind);
        None
    }

    fn drop_unwanted(&mut self, kind: usize) {
        let interest = &self.interest[kind];
        self.held[kind].retain(|name, _| interest.includes(name));
    }
}
