//! The state-of-the-world protocol against a modelled client.

use super::{GOOD, Interest, NAMES, TYPES, World, index, is_bad, world_resource, world_snapshot};
use crate::{
    event::{Event, Output},
    memory::Memory,
    options::Options,
    resource::Resource,
    snapshot::Snapshot,
    sotw::Session,
    testing::url,
};
use envoy_types::pb::{
    envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse},
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
    GraceOver,
    Tick,
}

type Held = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Client {
    interest: [Interest; TYPES.len()],
    held: [Held; TYPES.len()],
    accepted: [String; TYPES.len()],
    /// What the accepted version stands for.
    accepted_set: [Held; TYPES.len()],
    nonce: [String; TYPES.len()],
    explains: bool,
}

struct Model {
    client: Client,
    to_client: VecDeque<DiscoveryResponse>,
    to_server: VecDeque<DiscoveryRequest>,
    session: Session,
    memory: Memory,
    world: World,
    snapshot: Snapshot,
    refused: BTreeSet<(usize, String, String)>,
    /// What the server knows the client to have, on this stream.
    known: [Held; TYPES.len()],
    /// Responses that are not answered yet.
    flights: [Vec<Flight>; TYPES.len()],
    /// What `known` was before the responses that the present request answers.
    was: Held,
    last_nonce: [String; TYPES.len()],
    /// What the server last understood as the subscription.
    names: [Option<Vec<String>>; TYPES.len()],
    /// A name was given on this stream, so that an empty list means nothing.
    named: [bool; TYPES.len()],
    /// The subscription grew, so that a full set may be repeated.
    grew: [bool; TYPES.len()],
    rewarm: BTreeSet<String>,
}

struct Flight {
    nonce: String,
    version: String,
    ticks: u8,
    carried: Held,
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
        1 => Just(Action::GraceOver),
        3 => Just(Action::Tick),
    ];
    prop::collection::vec(action, 1..120)
}

fn is_full(kind: usize) -> bool {
    matches!(TYPES[kind], "CDS" | "LDS")
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
            flights: Default::default(),
            was: Held::new(),
            last_nonce: Default::default(),
            names: Default::default(),
            named: Default::default(),
            grew: Default::default(),
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
                if self.client.interest[kind].names.insert(NAMES[at].to_owned()) {
                    self.ask(kind, None);
                }
            }
            Action::Unsubscribe(kind, at) => {
                if self.client.interest[kind].names.remove(NAMES[at]) {
                    self.client.drop_unwanted(kind);
                    self.ask(kind, None);
                }
            }
            // The old wildcard cannot be taken back, as an empty list is what it is made of.
            Action::Wildcard(kind, _) if self.client.interest[kind].legacy => {}
            Action::Wildcard(kind, on) => {
                if std::mem::replace(&mut self.client.interest[kind].wildcard, on) != on {
                    self.client.drop_unwanted(kind);
                    self.ask(kind, None);
                }
            }
            Action::Reconnect => self.connect(),
            Action::ClientRestarts => {
                self.client.held = Default::default();
                self.client.accepted = Default::default();
                self.connect();
            }
            Action::Tick => {
                for flight in self.flights.iter_mut().flatten() {
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

    fn connect(&mut self) {
        self.to_client.clear();
        self.to_server.clear();
        self.session = Session::new(Arc::new(Options::default()));
        self.client.nonce = Default::default();
        self.known = Default::default();
        self.flights = Default::default();
        self.last_nonce = Default::default();
        self.names = Default::default();
        self.named = Default::default();
        self.rewarm.clear();
        for kind in 0..TYPES.len() {
            self.client.interest[kind].asked = false;
            let interest = &self.client.interest[kind];
            if interest.wildcard || !interest.names.is_empty() {
                self.ask(kind, None);
            }
        }
    }

    fn ask(&mut self, kind: usize, error: Option<String>) {
        let interest = &mut self.client.interest[kind];
        let mut names: Vec<_> = interest.names.iter().cloned().collect();
        interest.legacy &= interest.wildcard && names.is_empty();
        if interest.wildcard && !interest.legacy {
            names.push("*".to_owned());
        }
        if names.is_empty() && !interest.asked && !interest.legacy {
            // A first request without names would mean everything.
            return;
        }
        interest.asked = true;
        self.to_server.push_back(DiscoveryRequest {
            type_url: url(TYPES[kind]).to_owned(),
            version_info: self.client.accepted[kind].clone(),
            response_nonce: self.client.nonce[kind].clone(),
            resource_names: names,
            error_detail: error.map(|message| Status { code: 13, message, details: Vec::new() }),
            ..DiscoveryRequest::default()
        });
    }

    fn client_reads(&mut self) {
        let Some(response) = self.to_client.pop_front() else { return };
        let kind = index(&response.type_url);
        let error = self.client.apply(&response);
        self.client.nonce[kind] = response.nonce;
        self.ask(kind, error);
    }

    fn server_reads(&mut self) {
        let Some(request) = self.to_server.pop_front() else { return };
        let kind = index(&request.type_url);
        self.named[kind] |= !request.resource_names.is_empty();
        let asked = match &request.resource_names[..] {
            [] if is_full(kind) && !self.named[kind] => vec!["*".to_owned()],
            names => names.to_vec(),
        };
        if self.names[kind].is_none() && is_full(kind) && !request.version_info.is_empty() {
            // What the client says it has accepted is not refused.
            let accepted = &self.client.accepted_set[kind];
            self.refused.retain(|(k, name, version)| *k != kind || accepted.get(name) != Some(version));
        }
        self.land(kind, &request);
        if request.response_nonce == self.last_nonce[kind] {
            let old = match self.names[kind].replace(asked.clone()) {
                Some(old) => old,
                None if self.named[kind] || request.version_info.is_empty() => Vec::new(),
                None => {
                    // What the old wildcard holds from before is known by its version.
                    self.known[kind] = self.client.held[kind].clone();
                    asked.clone()
                }
            };
            for name in asked.iter().filter(|name| !old.contains(name)) {
                self.grew[kind] = true;
                self.known[kind].remove(name);
            }
            let includes = |name: &String| asked.contains(name) || asked.iter().any(|name| name == "*");
            self.known[kind].retain(|name, _| includes(name));
        } else if let Some(names) = self.names[kind].as_mut() {
            // What a stale request leaves out has been dropped; what it adds does not count yet.
            names.retain(|name| asked.contains(name));
            let includes = |name: &String| names.contains(name) || names.iter().any(|name| name == "*");
            self.known[kind].retain(|name, _| includes(name));
            for flight in &mut self.flights[kind] {
                flight.carried.retain(|name, _| includes(name));
            }
        }
        let outputs = self.session.on_request(request, Some(&self.snapshot), &mut self.memory);
        self.take(outputs.expect("a good request"));
    }

    /// Takes note of what a request answers: a response and all before it.
    fn land(&mut self, kind: usize, request: &DiscoveryRequest) {
        let flights = &mut self.flights[kind];
        let Some(at) = flights.iter().position(|flight| flight.nonce == request.response_nonce) else {
            return;
        };
        self.was = self.known[kind].clone();
        for (n, flight) in flights.drain(..=at).enumerate() {
            let accepted = match request.error_detail {
                None => true,
                Some(_) => n < at && flight.version == request.version_info,
            };
            if !accepted {
                self.rewarm.extend(flight.rewarmed);
            } else if is_full(kind) {
                self.known[kind] = flight.carried;
            } else {
                self.known[kind].extend(flight.carried);
            }
        }
    }

    /// What the client will have of a type if it accepts all that is under way.
    fn given(&self, kind: usize) -> Held {
        let mut given = self.known[kind].clone();
        for flight in &self.flights[kind] {
            if is_full(kind) {
                given.clear();
            }
            given.extend(flight.carried.clone());
        }
        given
    }

    fn take(&mut self, outputs: Vec<Output<DiscoveryResponse>>) {
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
                    let carried: Held = delivery
                        .resources
                        .iter()
                        .map(|resource| (resource.name.to_string(), resource.version.to_string()))
                        .collect();
                    // An older version that stands in for a refused one absolves nothing.
                    let was = &self.was;
                    self.refused.retain(|(k, name, _)| {
                        *k != kind || !carried.contains_key(name) || carried.get(name) == was.get(name)
                    });
                }
                Output::Event(Event::Restarted) => self.refused.clear(),
                Output::Event(_) => {}
            }
        }
    }

    fn check_response(&mut self, response: DiscoveryResponse) {
        let kind = index(&response.type_url);
        assert!(
            self.flights[kind].iter().all(|flight| flight.ticks >= 2),
            "a second response of a type before the answer to the first"
        );
        let before = self.given(kind);
        let mut rewarmed = BTreeSet::new();
        let mut carried = Held::new();
        for any in &response.resources {
            let name = String::from_utf8(any.value.clone()).expect("utf-8");
            let name = name.split_once('=').expect("name=content").0.to_owned();
            let version =
                Resource::new(url(TYPES[kind]), name.as_str(), any.value.clone()).version().to_string();
            assert!(
                !self.refused.contains(&(kind, name.clone(), version.clone())),
                "{} {name} was refused and is sent again",
                TYPES[kind]
            );
            assert!(carried.insert(name.clone(), version.clone()).is_none(), "{name} twice in one response");
            let known = before.get(&name) == Some(&version);
            if !is_full(kind) {
                let excused = TYPES[kind] == "EDS" && self.rewarm.remove(&name);
                rewarmed.extend(excused.then(|| name.clone()));
                assert!(!known || excused, "{} {name} is sent twice", TYPES[kind]);
            }
            if TYPES[kind] == "CDS"
                && name.starts_with("eds-")
                && self.known[kind].get(&name) != Some(&version)
            {
                self.rewarm.insert(name);
            }
        }
        if is_full(kind) {
            let repeats = carried == before && !std::mem::take(&mut self.grew[kind]);
            assert!(!repeats, "{} is sent twice", TYPES[kind]);
        } else {
            assert!(!carried.is_empty(), "an empty response that says nothing");
        }
        if TYPES[kind] == "ECDS" {
            assert!(response.resources.len() <= 1);
        }
        self.last_nonce[kind] = response.nonce.clone();
        self.flights[kind].push(Flight {
            nonce: response.nonce.clone(),
            version: response.version_info.clone(),
            ticks: 0,
            carried,
            rewarmed,
        });
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
                    // The protocol cannot take away what is not a listener or a cluster.
                    None if !is_full(kind) => {}
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
    fn apply(&mut self, response: &DiscoveryResponse) -> Option<String> {
        let kind = index(&response.type_url);
        let entries: Vec<_> = response
            .resources
            .iter()
            .map(|any| {
                let text = String::from_utf8(any.value.clone()).expect("utf-8");
                let name = text.split_once('=').expect("name=content").0.to_owned();
                let resource = Resource::new(url(TYPES[kind]), name.as_str(), any.value.clone());
                (name, resource.version().to_string(), is_bad(&any.value))
            })
            .collect();
        let bad: Vec<_> = entries.iter().filter(|entry| entry.2).map(|entry| entry.0.as_str()).collect();
        if !bad.is_empty() {
            return Some(if self.explains { format!("bad: {}", bad.join(", ")) } else { "bad".to_owned() });
        }
        if is_full(kind) {
            self.held[kind].clear();
        }
        self.held[kind].extend(entries.iter().map(|(name, version, _)| (name.clone(), version.clone())));
        self.drop_unwanted(kind);
        self.accepted[kind] = response.version_info.clone();
        self.accepted_set[kind] = entries.into_iter().map(|(name, version, _)| (name, version)).collect();
        None
    }

    fn drop_unwanted(&mut self, kind: usize) {
        let interest = &self.interest[kind];
        self.held[kind].retain(|name, _| interest.includes(name));
    }
}
