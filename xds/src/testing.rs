//! Shared by the tests: snapshots in one line, and sessions that are talked to in messages.

use crate::{
    delta,
    event::{Event, Output},
    memory::Memory,
    options::Options,
    resource::Resource,
    snapshot::Snapshot,
    sotw,
    type_url::*,
};
use envoy_types::pb::{
    envoy::service::discovery::v3::{
        DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
    },
    google::rpc::Status,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The type that a test means by a short name.
pub(crate) fn url(short: &str) -> &'static str {
    match short {
        "CDS" => CLUSTER,
        "EDS" => ENDPOINT,
        "ECDS" => EXTENSION_CONFIG,
        "SDS" => SECRET,
        "LDS" => LISTENER,
        "RDS" => ROUTE,
        "VHDS" => VIRTUAL_HOST,
        other => panic!("no such type: {other}"),
    }
}

/// A resource whose body says its name and content. A cluster called `eds-...` rewarms its endpoints.
pub(crate) fn resource(short: &str, name: &str, content: &str) -> Resource {
    let resource = Resource::new(url(short), name, format!("{name}={content}"));
    if short == "CDS" && name.starts_with("eds-") { resource.rewarming(ENDPOINT, name) } else { resource }
}

/// A snapshot out of lines like `CDS a=1 b=2`.
pub(crate) fn snapshot(lines: &[&str]) -> Snapshot {
    let mut builder = Snapshot::builder();
    for line in lines {
        let (short, rest) = line.split_once(' ').unwrap_or((line, ""));
        for pair in rest.split_whitespace() {
            let (name, content) = pair.split_once('=').expect("name=content");
            builder = builder.insert_resource(resource(short, name, content));
        }
    }
    builder.build()
}

/// The version that the content of a test resource has.
pub(crate) fn version(name: &str, content: &str) -> String {
    resource("LDS", name, content).version().to_string()
}

pub(crate) fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn error(message: &str) -> Status {
    Status { code: 13, message: message.to_owned(), details: Vec::new() }
}

/// What a response says, as `a=1 b=2 -c`.
pub(crate) trait Told {
    fn told(&self) -> String;
    fn short(&self) -> String;
}

fn bodies<'a>(bodies: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut told: Vec<_> = bodies.map(|body| String::from_utf8(body.to_vec()).expect("utf-8")).collect();
    told.sort();
    told
}

fn short_of(type_url: &str) -> String {
    let all = ["CDS", "EDS", "ECDS", "SDS", "LDS", "RDS", "VHDS"];
    all.iter()
        .find(|short| url(short) == type_url)
        .map_or_else(|| type_url.to_owned(), |short| (*short).to_owned())
}

impl Told for DeltaDiscoveryResponse {
    fn told(&self) -> String {
        let any = |r: &'_ envoy_types::pb::envoy::service::discovery::v3::Resource| {
            r.resource.clone().expect("a body").value
        };
        let values: Vec<_> = self.resources.iter().map(any).collect();
        let mut told = bodies(values.iter().map(Vec::as_slice));
        told.extend(self.removed_resources.iter().map(|name| format!("-{name}")));
        told.join(" ")
    }

    fn short(&self) -> String {
        short_of(&self.type_url)
    }
}

impl Told for DiscoveryResponse {
    fn told(&self) -> String {
        bodies(self.resources.iter().map(|any| any.value.as_slice())).join(" ")
    }

    fn short(&self) -> String {
        short_of(&self.type_url)
    }
}

/// What a list of responses says, as `CDS: a=1`, one entry a response.
pub(crate) fn told<R: Told>(responses: &[R]) -> Vec<String> {
    responses.iter().map(|r| format!("{}: {}", r.short(), r.told()).trim_end().to_owned()).collect()
}

fn split<R>(outputs: Vec<Output<R>>, events: &mut Vec<Event>) -> Vec<R> {
    let mut responses = Vec::new();
    for output in outputs {
        match output {
            Output::Send(response) => responses.push(response),
            Output::Event(event) => events.push(event),
        }
    }
    responses
}

/// A delta session with everything around it.
pub(crate) struct Delta {
    pub(crate) session: delta::Session,
    pub(crate) memory: Memory,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) events: Vec<Event>,
}

impl Delta {
    pub(crate) fn new(lines: &[&str]) -> Self {
        Self::with(Options::default(), Some(snapshot(lines)))
    }

    pub(crate) fn with(options: Options, snapshot: Option<Snapshot>) -> Self {
        Self {
            session: delta::Session::new(Arc::new(options)),
            memory: Memory::default(),
            snapshot,
            events: Vec::new(),
        }
    }

    pub(crate) fn request(&mut self, request: DeltaDiscoveryRequest) -> Vec<DeltaDiscoveryResponse> {
        let outputs = self.session.on_request(request, self.snapshot.as_ref(), &mut self.memory);
        split(outputs.expect("a good request"), &mut self.events)
    }

    /// Subscribes without answering anything.
    pub(crate) fn subscribe(&mut self, short: &str, names: &[&str]) -> Vec<DeltaDiscoveryResponse> {
        self.request(DeltaDiscoveryRequest {
            type_url: url(short).to_owned(),
            resource_names_subscribe: strings(names),
            ..DeltaDiscoveryRequest::default()
        })
    }

    pub(crate) fn unsubscribe(&mut self, short: &str, names: &[&str]) -> Vec<DeltaDiscoveryResponse> {
        self.request(DeltaDiscoveryRequest {
            type_url: url(short).to_owned(),
            resource_names_unsubscribe: strings(names),
            ..DeltaDiscoveryRequest::default()
        })
    }

    /// Subscribes as a client does that comes back with `held`, given as `name=content`.
    pub(crate) fn resume(
        &mut self,
        short: &str,
        names: &[&str],
        held: &[&str],
    ) -> Vec<DeltaDiscoveryResponse> {
        let held = held.iter().map(|pair| pair.split_once('=').expect("name=content"));
        let held: HashMap<_, _> =
            held.map(|(name, content)| (name.to_owned(), version(name, content))).collect();
        self.request(DeltaDiscoveryRequest {
            type_url: url(short).to_owned(),
            resource_names_subscribe: strings(names),
            initial_resource_versions: held,
            ..DeltaDiscoveryRequest::default()
        })
    }

    pub(crate) fn ack(&mut self, response: &DeltaDiscoveryResponse) -> Vec<DeltaDiscoveryResponse> {
        self.request(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DeltaDiscoveryRequest::default()
        })
    }

    pub(crate) fn nack(
        &mut self,
        response: &DeltaDiscoveryResponse,
        message: &str,
    ) -> Vec<DeltaDiscoveryResponse> {
        self.request(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: Some(error(message)),
            ..DeltaDiscoveryRequest::default()
        })
    }

    pub(crate) fn publish(&mut self, lines: &[&str]) -> Vec<DeltaDiscoveryResponse> {
        let new = snapshot(lines);
        self.snapshot = Some(new.clone());
        split(self.session.on_snapshot(&new, &mut self.memory), &mut self.events)
    }

    pub(crate) fn tick(&mut self) -> Vec<DeltaDiscoveryResponse> {
        let outputs = self.session.on_tick(self.snapshot.as_ref(), &mut self.memory);
        split(outputs, &mut self.events)
    }

    pub(crate) fn grace_over(&mut self) -> Vec<DeltaDiscoveryResponse> {
        let outputs = self.session.on_grace_over(self.snapshot.as_ref(), &mut self.memory);
        split(outputs, &mut self.events)
    }

    /// A new stream of the same client: only the memory stays.
    pub(crate) fn reconnect(&mut self) {
        self.session = delta::Session::new(Arc::new(Options::default()));
    }

    /// Accepts everything until nothing more comes; tells what came, the given responses included.
    pub(crate) fn settle(&mut self, mut responses: Vec<DeltaDiscoveryResponse>) -> Vec<String> {
        let mut all = Vec::new();
        while !responses.is_empty() {
            assert!(all.len() < 30, "no end of responses: {all:?}");
            all.extend(told(&responses));
            responses = responses.iter().flat_map(|response| self.ack(response)).collect();
        }
        all
    }
}

/// A state-of-the-world session with everything around it.
pub(crate) struct Sotw {
    pub(crate) session: sotw::Session,
    pub(crate) memory: Memory,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) events: Vec<Event>,
    /// The names and the last accepted version per type, which every request repeats.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    pub(crate) accepted: BTreeMap<String, String>,
    pub(crate) nonces: BTreeMap<String, String>,
}

impl Sotw {
    pub(crate) fn new(lines: &[&str]) -> Self {
        Self::with(Options::default(), Some(snapshot(lines)))
    }

    pub(crate) fn with(options: Options, snapshot: Option<Snapshot>) -> Self {
        Self {
            session: sotw::Session::new(Arc::new(options)),
            memory: Memory::default(),
            snapshot,
            events: Vec::new(),
            names: BTreeMap::new(),
            accepted: BTreeMap::new(),
            nonces: BTreeMap::new(),
        }
    }

    pub(crate) fn request(&mut self, request: DiscoveryRequest) -> Vec<DiscoveryResponse> {
        let outputs = self.session.on_request(request, self.snapshot.as_ref(), &mut self.memory);
        split(outputs.expect("a good request"), &mut self.events)
    }

    fn next_request(&self, type_url: &str) -> DiscoveryRequest {
        DiscoveryRequest {
            type_url: type_url.to_owned(),
            resource_names: self.names.get(type_url).cloned().unwrap_or_default(),
            version_info: self.accepted.get(type_url).cloned().unwrap_or_default(),
            response_nonce: self.nonces.get(type_url).cloned().unwrap_or_default(),
            ..DiscoveryRequest::default()
        }
    }

    /// Makes `names` the subscription.
    pub(crate) fn subscribe(&mut self, short: &str, names: &[&str]) -> Vec<DiscoveryResponse> {
        self.names.insert(url(short).to_owned(), strings(names));
        self.request(self.next_request(url(short)))
    }

    pub(crate) fn ack(&mut self, response: &DiscoveryResponse) -> Vec<DiscoveryResponse> {
        self.accepted.insert(response.type_url.clone(), response.version_info.clone());
        self.nonces.insert(response.type_url.clone(), response.nonce.clone());
        self.request(self.next_request(&response.type_url))
    }

    pub(crate) fn nack(&mut self, response: &DiscoveryResponse, message: &str) -> Vec<DiscoveryResponse> {
        self.nonces.insert(response.type_url.clone(), response.nonce.clone());
        let request = self.next_request(&response.type_url);
        self.request(DiscoveryRequest { error_detail: Some(error(message)), ..request })
    }

    pub(crate) fn publish(&mut self, lines: &[&str]) -> Vec<DiscoveryResponse> {
        let new = snapshot(lines);
        self.snapshot = Some(new.clone());
        split(self.session.on_snapshot(&new, &mut self.memory), &mut self.events)
    }

    pub(crate) fn tick(&mut self) -> Vec<DiscoveryResponse> {
        let outputs = self.session.on_tick(self.snapshot.as_ref(), &mut self.memory);
        split(outputs, &mut self.events)
    }

    pub(crate) fn grace_over(&mut self) -> Vec<DiscoveryResponse> {
        let outputs = self.session.on_grace_over(self.snapshot.as_ref(), &mut self.memory);
        split(outputs, &mut self.events)
    }

    /// A new stream of the same client, which keeps what it accepted.
    pub(crate) fn reconnect(&mut self) {
        self.session = sotw::Session::new(Arc::new(Options::default()));
        self.nonces.clear();
    }

    /// Accepts everything until nothing more comes; tells what came, the given responses included.
    pub(crate) fn settle(&mut self, mut responses: Vec<DiscoveryResponse>) -> Vec<String> {
        let mut all = Vec::new();
        while !responses.is_empty() {
            assert!(all.len() < 30, "no end of responses: {all:?}");
            all.extend(told(&responses));
            responses = responses.iter().flat_map(|response| self.ack(response)).collect();
        }
        all
    }
}

/// The refusals among the events, as `type: name,name`.
pub(crate) fn nacks(events: &[Event]) -> Vec<String> {
    let nack = |event: &Event| match event {
        Event::Nacked(nack) => {
            let names: Vec<_> = nack.resources.iter().map(|resource| &*resource.name).collect();
            Some(format!("{}: {}", short_of(&nack.type_url), names.join(",")))
        }
        _ => None,
    };
    events.iter().filter_map(nack).collect()
}
