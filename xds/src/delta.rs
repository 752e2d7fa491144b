//! The incremental protocol: the machine of one delta ADS stream.

mod flight;
mod state;
#[cfg(test)]
mod tests;

use self::{flight::Batch, state::TypeState};
use crate::{
    blame::{blamed, cut},
    error::SessionError,
    event::{Event, Nack},
    gate::{self, Load},
    memory::Memory,
    options::Options,
    snapshot::Snapshot,
    status::TypeStatus,
    tier::Tier,
};
use envoy_types::pb::{
    envoy::service::discovery::v3::{
        DeltaDiscoveryRequest, DeltaDiscoveryResponse, Resource as WireResource,
    },
    google::rpc,
};
use std::{collections::HashMap, sync::Arc};

/// What a delta session puts out.
pub type Output = crate::event::Output<DeltaDiscoveryResponse>;

/// One delta ADS stream, without its transport.
///
/// Every call returns what is to be sent, in order. The next response of a type waits for the ACK or
/// NACK of the one before, unless that takes too long.
#[derive(Debug)]
pub struct Session {
    options: Arc<Options>,
    /// In order of tier, then type URL.
    types: Vec<TypeState>,
    nonce: u64,
    started: bool,
    /// The client came with state, so removals wait for [`Session::on_grace_over`].
    resumed: bool,
    grace_over: bool,
    /// The version of the snapshot that was looked at last.
    pumped: Option<Box<str>>,
}

// === impl Session ===

impl Session {
    /// The machine of a new stream.
    pub fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            types: Vec::new(),
            nonce: 0,
            started: false,
            resumed: false,
            grace_over: false,
            pumped: None,
        }
    }

    /// Takes a request.
    ///
    /// Without a snapshot the request is remembered and nothing is sent: a client must not be told
    /// that everything is gone because the server does not know yet.
    ///
    /// # Errors
    ///
    /// When the request has no type or breaks a limit. The session must not be used any further.
    pub fn on_request(
        &mut self,
        request: DeltaDiscoveryRequest,
        snapshot: Option<&Snapshot>,
        memory: &mut Memory,
    ) -> Result<Vec<Output>, SessionError> {
        let mut out = Vec::new();
        let resumes = !request.initial_resource_versions.is_empty();
        if !self.started {
            self.started = true;
            if !resumes && memory.notice_restart(&request.type_url) {
                out.push(Output::Event(Event::Restarted));
            }
        }
        let (at, is_new) = self.find(&request.type_url)?;
        if !is_new {
            self.answer(at, &request.response_nonce, request.error_detail, memory, &mut out);
        }
        if let Some(state) = self.types.get_mut(at) {
            if is_new {
                self.resumed |= resumes;
                state.open(&request.resource_names_subscribe, request.initial_resource_versions);
            } else {
                state.subscribe(&request.resource_names_subscribe);
            }
            state.unsubscribe(&request.resource_names_unsubscribe);
            memory.set_holds(&state.type_url, state.holds_any());
        }
        if self.types.iter().map(TypeState::names).sum::<usize>() > self.options.max_names {
            return Err(SessionError::TooManyNames { limit: self.options.max_names });
        }
        if let Some(snapshot) = snapshot {
            self.pump(snapshot, memory, &mut out);
        }
        Ok(out)
    }

    /// Takes a new snapshot, or a memory in which something was forgotten.
    pub fn on_snapshot(&mut self, snapshot: &Snapshot, memory: &mut Memory) -> Vec<Output> {
        for state in &mut self.types {
            state.clean = false;
        }
        let mut out = Vec::new();
        self.pump(snapshot, memory, &mut out);
        out
    }

    /// Says that a client that came with state has had time to repeat all its subscriptions.
    ///
    /// Until then clusters, endpoints and filters that no longer exist are left with it: its first
    /// request is about clusters, and the listeners that use them are not yet known to be outdated.
    pub fn on_grace_over(&mut self, snapshot: Option<&Snapshot>, memory: &mut Memory) -> Vec<Output> {
        self.grace_over = true;
        snapshot.map(|snapshot| self.on_snapshot(snapshot, memory)).unwrap_or_default()
    }

    /// Lets one period of time pass. To be called at an even pace while [`Session::awaits_answer`].
    ///
    /// A response that is unanswered for two ticks no longer holds up anything. Envoy answers when
    /// clusters are warm, which may take as long as a name server takes, and which a broken
    /// cluster may never be until its correction arrives.
    pub fn on_tick(&mut self, snapshot: Option<&Snapshot>, memory: &mut Memory) -> Vec<Output> {
        let mut overdue = false;
        for state in &mut self.types {
            overdue |= state.tick();
        }
        let snapshot = snapshot.filter(|_| overdue);
        snapshot.map(|snapshot| self.on_snapshot(snapshot, memory)).unwrap_or_default()
    }

    /// Whether time matters: an answer is awaited that is not yet overdue.
    pub fn awaits_answer(&self) -> bool {
        self.types.iter().any(TypeState::awaits_answer)
    }

    /// How each type stands, in the order in which types are sent.
    pub fn status(&self, snapshot: Option<&Snapshot>, memory: &Memory) -> Vec<TypeStatus> {
        self.types.iter().map(|state| state.status(snapshot, memory)).collect()
    }

    fn find(&mut self, type_url: &str) -> Result<(usize, bool), SessionError> {
        if type_url.is_empty() {
            return Err(SessionError::NoTypeUrl);
        }
        let key = (Tier::of(type_url), type_url);
        match self.types.binary_search_by(|state| (state.tier, &*state.type_url).cmp(&key)) {
            Ok(at) => Ok((at, false)),
            Err(_) if self.types.len() >= self.options.max_types => {
                Err(SessionError::TooManyTypes { limit: self.options.max_types })
            }
            Err(at) => {
                let single = self.options.one_per_response.contains(type_url);
                self.types.insert(at, TypeState::new(type_url.into(), single));
                Ok((at, true))
            }
        }
    }

    /// Handles the part of a request that answers a response. A nonce that is not the one of a
    /// response in flight is stale and says nothing; the subscriptions beside it still count.
    fn answer(
        &mut self,
        at: usize,
        nonce: &str,
        error: Option<rpc::Status>,
        memory: &mut Memory,
        out: &mut Vec<Output>,
    ) {
        let Some(state) = self.types.get_mut(at) else { return };
        let Some((flight, earlier)) = state.land(nonce) else { return };
        let Some(error) = error else {
            for resource in &flight.resources {
                memory.accept(resource);
            }
            out.push(Output::Event(Event::Acked(state.delivery(&flight))));
            state.accept(flight, earlier);
            return;
        };
        let message: Arc<str> = cut(&error.message, Nack::MESSAGE_LIMIT).into();
        let guilty = blamed(&flight.resources, &message, |resource| state.is_news(resource));
        let mut unwarm = Vec::new();
        for resource in &guilty {
            memory.reject(resource, message.clone());
            unwarm.extend_from_slice(resource.rewarms());
        }
        out.push(Output::Event(Event::Nacked(Nack {
            type_url: state.type_url.clone(),
            version: flight.version.clone(),
            resources: guilty.iter().map(|resource| resource.versioned()).collect(),
            code: error.code,
            message,
        })));
        if guilty.is_empty() {
            // Nothing but removals was refused. Repeating them would be refused again, for ever.
            state.accept_removals(&flight);
        } else {
            state.take_back(&flight, &guilty, earlier);
        }
        for (type_url, name) in unwarm {
            if let Some(state) = self.types.iter_mut().find(|state| state.type_url == type_url) {
                state.rewarm.remove(&name);
            }
        }
    }

    /// Sends all that may be sent now.
    fn pump(&mut self, snapshot: &Snapshot, memory: &Memory, out: &mut Vec<Output>) {
        // A request may bring a snapshot before the session was told of it.
        if self.pumped.as_deref() != Some(snapshot.version()) {
            self.pumped = Some(snapshot.version().into());
            for state in &mut self.types {
                state.clean = false;
            }
        }
        let mut loads: Vec<Load> = Vec::with_capacity(self.types.len());
        let mut removals: HashMap<usize, Vec<Arc<str>>> = HashMap::new();
        for at in 0..self.types.len() {
            let Some(state) = self.types.get_mut(at) else { continue };
            let permit = gate::permit(state.tier, &loads);
            let step = state.step(snapshot, memory, permit);
            loads.push(step.load);
            if !step.deferred.is_empty() {
                removals.insert(at, step.deferred);
            }
            if let Some(batch) = step.batch {
                self.send(at, batch, snapshot, out);
            }
        }
        if !self.resumed || self.grace_over {
            let mut turns: Vec<_> = removals.into_iter().collect();
            turns.sort_by_key(|(at, _)| loads.get(*at).map(|load| load.tier.removal_turn()));
            for (at, names) in turns {
                let Some(load) = loads.get(at).copied() else { continue };
                if load.flight || load.updates || !gate::may_remove(load.tier, &loads) {
                    continue;
                }
                self.send(at, Batch { resources: Vec::new(), removed: names }, snapshot, out);
                if let Some(load) = loads.get_mut(at) {
                    *load = Load { flight: true, removals: false, ..*load };
                }
            }
        }
        for (state, load) in self.types.iter_mut().zip(&loads) {
            state.clean = load.is_idle() && state.rewarm.is_empty();
            state.waiting = load.updates || load.removals;
        }
    }

    fn send(&mut self, at: usize, batch: Batch, snapshot: &Snapshot, out: &mut Vec<Output>) {
        self.nonce += 1;
        let nonce = self.nonce.to_string();
        for resource in &batch.resources {
            for (type_url, name) in resource.rewarms() {
                if let Some(state) = self.types.iter_mut().find(|state| state.type_url == *type_url) {
                    state.rewarm(name);
                }
            }
        }
        let Some(state) = self.types.get_mut(at) else { return };
        let version = snapshot.type_version(&state.type_url);
        let response = DeltaDiscoveryResponse {
            system_version_info: version.to_string(),
            type_url: state.type_url.to_string(),
            nonce: nonce.clone(),
            resources: batch
                .resources
                .iter()
                .map(|resource| WireResource {
                    name: resource.name().to_string(),
                    version: resource.version().to_string(),
                    resource: Some(resource.to_any()),
                    ..WireResource::default()
                })
                .collect(),
            removed_resources: batch.removed.iter().map(|name| name.to_string()).collect(),
            control_plane: self.options.identity(),
            ..DeltaDiscoveryResponse::default()
        };
        let delivery = state.launch(nonce, version, batch);
        out.push(Output::Send(response));
        out.push(Output::Event(Event::Sent(delivery)));
    }
}
