//! The state-of-the-world protocol: the machine of one SotW ADS stream.

mod flight;
mod full;
mod partial;
mod state;
#[cfg(test)]
mod tests;

use self::{
    flight::{Batch, Flight},
    state::TypeState,
};
use crate::{
    blame::cut,
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
    envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse},
    google::rpc,
};
use std::sync::Arc;

/// What a state-of-the-world session puts out.
pub type Output = crate::event::Output<DiscoveryResponse>;

/// One state-of-the-world ADS stream, without its transport.
///
/// Listeners and clusters are sent as full sets; what is missing from a set is gone. Other types
/// are sent one by one as they change, and cannot be taken away. Within a full set a refused
/// version is replaced by the last one that the client accepted.
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
        request: DiscoveryRequest,
        snapshot: Option<&Snapshot>,
        memory: &mut Memory,
    ) -> Result<Vec<Output>, SessionError> {
        let mut out = Vec::new();
        let resumes = !request.version_info.is_empty();
        if !self.started {
            self.started = true;
            if !resumes && memory.notice_restart(&request.type_url) {
                out.push(Output::Event(Event::Restarted));
            }
        }
        let (at, is_new) = self.find(&request.type_url)?;
        let Some(state) = self.types.get_mut(at) else { return Ok(out) };
        if is_new {
            self.resumed |= resumes;
            state.open(&request.resource_names, &request.version_info);
        } else {
            Self::answer(state, &request, memory, &mut out);
            if state.is_stale(&request.response_nonce) {
                // The client has yet to see our last response. Its answer to that one will carry all
                // its names again, so nothing is lost.
                state.narrow(&request.resource_names);
                return Ok(out);
            }
            state.set_names(&request.resource_names);
        }
        memory.set_holds(&state.type_url, state.has_accepted());
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
    /// Until then clusters that no longer exist are left with it: its first request is about
    /// clusters, and the listeners that use them are not yet known to be outdated.
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

    fn answer(state: &mut TypeState, request: &DiscoveryRequest, memory: &mut Memory, out: &mut Vec<Output>) {
        let Some((flight, earlier)) = state.land(&request.response_nonce) else { return };
        // A client may answer several responses at once, in the words of the last.
        let accepts_last = request.error_detail.is_none();
        for flight in earlier {
            if accepts_last || *flight.delivery.version == *request.version_info {
                Self::accept(state, flight, memory, out);
            }
        }
        match &request.error_detail {
            None => Self::accept(state, flight, memory, out),
            Some(error) => Self::refuse(state, flight, error, memory, out),
        }
    }

    fn accept(state: &mut TypeState, flight: Flight, memory: &mut Memory, out: &mut Vec<Output>) {
        for resource in state.news(&flight) {
            memory.accept(resource);
        }
        out.push(Output::Event(Event::Acked(flight.delivery.clone())));
        if let Some(accepted) = state.accept(flight) {
            memory.set_accepted(&state.type_url, accepted);
        }
    }

    fn refuse(
        state: &mut TypeState,
        flight: Flight,
        error: &rpc::Status,
        memory: &mut Memory,
        out: &mut Vec<Output>,
    ) {
        let message: Arc<str> = cut(&error.message, Nack::MESSAGE_LIMIT).into();
        let guilty = state.guilty(&flight, &message);
        for resource in &guilty {
            memory.reject(resource, message.clone());
        }
        out.push(Output::Event(Event::Nacked(Nack {
            type_url: state.type_url.clone(),
            version: flight.delivery.version.clone(),
            resources: guilty.iter().map(|resource| resource.versioned()).collect(),
            code: error.code,
            message,
        })));
        state.refuse(&flight, &guilty);
    }

    /// Sends all that may be sent now.
    fn pump(&mut self, snapshot: &Snapshot, memory: &mut Memory, out: &mut Vec<Output>) {
        // A request may bring a snapshot before the session was told of it.
        if self.pumped.as_deref() != Some(snapshot.version()) {
            self.pumped = Some(snapshot.version().into());
            for state in &mut self.types {
                state.clean = false;
            }
        }
        let mut loads: Vec<Load> = Vec::with_capacity(self.types.len());
        let mut removals = Vec::new();
        for at in 0..self.types.len() {
            let Some(state) = self.types.get_mut(at) else { continue };
            let permit = gate::permit(state.tier, &loads);
            let step = state.step(snapshot, memory, permit);
            loads.push(step.load);
            removals.extend(step.deferred.map(|batch| (at, batch)));
            if let Some(batch) = step.batch {
                self.send(at, batch, memory, out);
            }
        }
        if !self.resumed || self.grace_over {
            removals.sort_by_key(|(at, _)| loads.get(*at).map(|load| load.tier.removal_turn()));
            for (at, batch) in removals {
                let Some(load) = loads.get(at).copied() else { continue };
                if load.flight || load.updates || !gate::may_remove(load.tier, &loads) {
                    continue;
                }
                self.send(at, batch, memory, out);
                if let Some(load) = loads.get_mut(at) {
                    *load = Load { flight: true, removals: false, ..*load };
                }
            }
        }
        for (state, load) in self.types.iter_mut().zip(&loads) {
            state.clean = load.is_idle() && !state.must_rewarm();
            state.waiting = load.updates || load.removals;
        }
    }

    fn send(&mut self, at: usize, batch: Batch, memory: &mut Memory, out: &mut Vec<Output>) {
        self.nonce += 1;
        let nonce = self.nonce.to_string();
        for resource in &batch.news {
            for (type_url, name) in resource.rewarms() {
                if let Some(state) = self.types.iter_mut().find(|state| state.type_url == *type_url) {
                    state.rewarm(name);
                }
            }
        }
        let Some(state) = self.types.get_mut(at) else { return };
        let response = DiscoveryResponse {
            version_info: batch.version.to_string(),
            type_url: state.type_url.to_string(),
            nonce: nonce.clone(),
            resources: batch.resources.values().map(|resource| resource.to_any()).collect(),
            control_plane: self.options.identity(),
            ..DiscoveryResponse::default()
        };
        let delivery = state.launch(nonce, batch);
        if let Some(offer) = state.offer() {
            memory.set_offered(&state.type_url, offer);
        }
        out.push(Output::Send(response));
        out.push(Output::Event(Event::Sent(delivery)));
    }
}
