//! One open stream: requests, snapshot changes and the time in, responses out.

use super::{Shared, StreamEvent, machine::Machine};
use crate::{
    cache::State,
    error::SessionError,
    event::{Event, Output},
    memory::Memory,
    node,
    registry::{Entry, SharedMemory, lock},
    snapshot::Snapshot,
    status::{ClientId, ClientStatus, Source, Standing},
    text::printable,
};
use futures::stream::{BoxStream, unfold};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, Sleep, interval, sleep},
};
use tonic::{Extensions, Request, Status, Streaming};

/// So many bytes of what it says of its software are shown.
const MAX_AGENT: usize = 128;
/// How long a client may keep a stream open before it says who it is.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A stream, driven by whoever polls its responses.
///
/// There is no channel and no task: requests are read only when all responses have been taken, so
/// a slow client slows down itself and nothing piles up.
pub(super) struct Connection<M: Machine> {
    shared: Arc<Shared>,
    requests: Streaming<M::Request>,
    transport: Extensions,
    updates: watch::Receiver<State>,
    responses: VecDeque<M::Response>,
    peer: Option<Peer<M>>,
    timer: Pin<Box<Sleep>>,
    timer_done: bool,
    tick: Interval,
    ended: bool,
}

/// The client of a stream that has said who it is. Dropping it takes the client off the list.
struct Peer<M> {
    shared: Arc<Shared>,
    client: ClientId,
    stream: u64,
    since: Option<SystemTime>,
    agent: Option<Arc<str>>,
    /// How each type stands, and since when.
    standings: HashMap<Arc<str>, (Standing, Option<SystemTime>)>,
    /// Types that it had asked for before, and not again yet.
    awaited: BTreeSet<Arc<str>>,
    session: M,
    memory: SharedMemory,
}

enum Input<R> {
    Request(R),
    Update,
    Timer,
    Tick,
    End,
}

// === impl Connection ===

impl<M: Machine> Connection<M> {
    pub(super) fn new(shared: Arc<Shared>, request: Request<Streaming<M::Request>>) -> Self {
        let (_, transport, requests) = request.into_parts();
        let mut tick = interval(shared.patience);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            updates: shared.cache.subscribe(),
            tick,
            shared,
            requests,
            transport,
            responses: VecDeque::new(),
            peer: None,
            timer: Box::pin(sleep(FIRST_REQUEST_TIMEOUT)),
            timer_done: false,
            ended: false,
        }
    }

    pub(super) fn into_stream(self) -> BoxStream<'static, Result<M::Response, Status>> {
        Box::pin(unfold(self, |mut connection| async move {
            let item = connection.next().await?;
            Some((item, connection))
        }))
    }

    async fn next(&mut self) -> Option<Result<M::Response, Status>> {
        while !self.ended {
            if let Some(response) = self.responses.pop_front() {
                return Some(Ok(response));
            }
            let input = self.wait().await;
            if let Err(status) = self.handle(input) {
                self.ended = true;
                // Takes the client off the list now, not when the transport lets go of the stream.
                self.peer = None;
                return Some(Err(status));
            }
        }
        None
    }

    async fn wait(&mut self) -> Input<M::Request> {
        let awaits_answer = self.peer.as_ref().is_some_and(|peer| peer.session.awaits_answer());
        // All four can be dropped halfway without losing anything.
        tokio::select! {
            request = self.requests.message() => match request {
                Ok(Some(request)) => Input::Request(request),
                Ok(None) => Input::End,
                Err(status) => {
                    tracing::debug!(code = ?status.code(), message = ?status.message(), "xds stream broke");
                    Input::End
                }
            },
            changed = self.updates.changed() => match changed {
                Ok(()) => Input::Update,
                Err(_) => Input::End,
            },
            () = &mut self.timer, if !self.timer_done => Input::Timer,
            _ = self.tick.tick(), if awaits_answer => Input::Tick,
        }
    }

    fn handle(&mut self, input: Input<M::Request>) -> Result<(), Status> {
        if self.updates.borrow().is_closed() {
            return Err(Status::unavailable("the server is shutting down"));
        }
        let outputs = match (input, &mut self.peer) {
            (Input::End, _) => {
                self.ended = true;
                self.peer = None;
                return Ok(());
            }
            (Input::Request(request), None) => self.introduce(request)?,
            (Input::Request(request), Some(peer)) => {
                let (snapshot, _) = self.updates.borrow().lookup(&peer.client.node_key);
                peer.with(|session, memory| session.on_request(request, snapshot.as_ref(), memory))
                    .map_err(refuse)?
            }
            (Input::Update | Input::Tick, None) => Vec::new(),
            (Input::Update, Some(peer)) => {
                let (snapshot, _) = self.updates.borrow_and_update().lookup(&peer.client.node_key);
                let snapshot = snapshot.as_ref();
                snapshot
                    .map(|snapshot| peer.with(|session, memory| session.on_snapshot(snapshot, memory)))
                    .unwrap_or_default()
            }
            (Input::Tick, Some(peer)) => {
                let (snapshot, _) = self.updates.borrow().lookup(&peer.client.node_key);
                peer.with(|session, memory| session.on_tick(snapshot.as_ref(), memory))
            }
            (Input::Timer, None) => return Err(Status::deadline_exceeded("no request on the stream")),
            (Input::Timer, Some(peer)) => {
                self.timer_done = true;
                peer.awaited.clear();
                let (snapshot, _) = self.updates.borrow().lookup(&peer.client.node_key);
                peer.with(|session, memory| session.on_grace_over(snapshot.as_ref(), memory))
            }
        };
        self.put_out(outputs);
        Ok(())
    }

    /// Takes the first request, which says who the client is.
    fn introduce(&mut self, request: M::Request) -> Result<Vec<Output<M::Response>>, Status> {
        let Some(node) = M::node(&request) else {
            return Err(Status::invalid_argument("the first request of the stream must carry a node"));
        };
        if let Some(admission) = &self.shared.admission {
            admission(node, &self.transport)?;
        }
        let client = ClientId::new(&node.id, &(self.shared.node_key)(node));
        let agent = node::agent(node).map(|agent| printable(&agent, MAX_AGENT).into());
        let mut peer = Peer::<M>::new(self.shared.clone(), client, agent);
        peer.tell(Event::Connected);
        self.timer.as_mut().reset(Instant::now() + self.shared.resume_grace);
        let (snapshot, source) = self.updates.borrow_and_update().lookup(&peer.client.node_key);
        tracing::debug!(
            node = %peer.client.node_id, key = ?peer.client.node_key, stream = peer.stream, ?source,
            "xds client connected"
        );
        let outputs = peer
            .with(|session, memory| session.on_request(request, snapshot.as_ref(), memory))
            .map_err(refuse)?;
        self.peer = Some(peer);
        Ok(outputs)
    }

    fn put_out(&mut self, outputs: Vec<Output<M::Response>>) {
        let Some(peer) = &mut self.peer else { return };
        // The list is brought up to date first: whoever hears of an event finds it there.
        let (snapshot, source) = self.updates.borrow().lookup(&peer.client.node_key);
        peer.list(snapshot.as_ref(), source);
        for output in outputs {
            match output {
                Output::Send(response) => self.responses.push_back(response),
                Output::Event(event) => peer.tell(event),
            }
        }
    }
}

fn refuse(error: SessionError) -> Status {
    match error {
        SessionError::TooManyTypes { .. } | SessionError::TooManyNames { .. } => {
            Status::resource_exhausted(error.to_string())
        }
        SessionError::NoTypeUrl => Status::invalid_argument(error.to_string()),
    }
}

// === impl Peer ===

impl<M: Machine> Peer<M> {
    fn new(shared: Arc<Shared>, client: ClientId, agent: Option<Arc<str>>) -> Self {
        let Entry { stream, memory, asked: awaited } = shared.registry.enter(&client);
        let since = shared.clock.as_ref().map(|clock| clock());
        let session = M::new(shared.options.clone());
        let standings = HashMap::new();
        Self { shared, client, stream, since, agent, standings, awaited, session, memory }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut M, &mut Memory) -> T) -> T {
        act(&mut self.session, &mut lock(&self.memory))
    }

    fn list(&mut self, snapshot: Option<&Snapshot>, source: Source) {
        let mut types = self.session.status(snapshot, &lock(&self.memory));
        for one_type in &mut types {
            let stands = one_type.standing();
            let now = self.shared.clock.as_ref().map(|clock| clock());
            let entry = self.standings.entry(one_type.type_url.clone()).or_insert((stands, now));
            if entry.0 != stands {
                *entry = (stands, now);
            }
            one_type.since = entry.1;
        }
        for one_type in &types {
            self.awaited.remove(&one_type.type_url);
        }
        self.shared.registry.update(ClientStatus {
            client: self.client.clone(),
            stream: self.stream,
            protocol: M::PROTOCOL,
            since: self.since,
            agent: self.agent.clone(),
            source,
            snapshot: snapshot.map(|snapshot| snapshot.version().into()),
            behind: false,
            resuming: !self.awaited.is_empty(),
            types,
        });
    }
}

impl<M> Peer<M> {
    fn tell(&self, event: Event) {
        if let Event::Nacked(nack) = &event {
            tracing::warn!(
                node = %self.client.node_id, stream = self.stream, type_url = ?nack.type_url,
                resources = nack.resources.len(), code = nack.code,
                "xds client refused a response"
            );
        }
        if let Some(sink) = &self.shared.sink {
            sink.on_event(StreamEvent { client: self.client.clone(), stream: self.stream, event });
        }
    }
}

impl<M> Drop for Peer<M> {
    fn drop(&mut self) {
        self.shared.registry.leave(self.stream);
        self.tell(Event::Disconnected);
    }
}
