//! A session and the real other end of its stream, with messages under way between the two.

use std::collections::VecDeque;

use keyward_filter_core::decide::Tables as _;
use keyward_filter_core::replica::{Effect, Replica, Subscriber};
use keyward_filter_core::wire::{Entries, removals};
use prost::Message as _;

use super::*;
use crate::fixtures;

/// More messages than any of these tests needs.
const MANY: usize = 10_000;

/// One worker and its stream.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) role: String,
    /// Names the VM.
    pub(super) worker: String,
    limits: Limits,
    /// It is a build that knows nothing of aliases, nor of changes that only take away.
    pub(super) is_old: bool,
    pub(super) session: Session,
    pub(super) replica: Replica,
    pub(super) to_worker: VecDeque<ServerMessage>,
    pub(super) to_server: VecDeque<ClientMessage>,
    /// How many messages the worker has refused.
    pub(super) refused: usize,
}

fn count(packed: &[u8]) -> usize {
    Entries::new(packed).try_fold(0, |count, entry| entry.map(|_| count + 1)).expect("well formed")
}

/// A message in a few words.
fn words(message: &ServerMessage) -> String {
    use server_message::Kind;
    match message.kind.as_ref().expect("the server always says something") {
        Kind::Begin(begin) => format!("begin {} {}", begin.table, begin.entries),
        Kind::Chunk(chunk) => format!("chunk {} {}", chunk.table, count(&chunk.entries)),
        Kind::End(end) => format!("end {}", end.table),
        Kind::Delta(delta) => {
            let removed = removals(&delta.removals).expect("whole digests").len();
            let names = [std::slice::from_ref(&delta.table), &delta.also[..]].concat().join("=");
            format!("delta {names} +{} -{removed}", count(&delta.upserts))
        }
        Kind::Drop(drop) => format!("drop {}", drop.table),
        Kind::UsageAck(ack) => format!("stored {}", ack.seq),
        Kind::Alias(alias) => format!("alias {} of {}", alias.table, alias.of),
    }
}

// === impl Line ===

impl Line {
    /// A worker that holds nothing and has said that it subscribes.
    pub(super) fn new(role: &str, limits: Limits) -> Self {
        let mut line = Self {
            role: role.to_owned(),
            worker: "w".to_owned(),
            limits,
            is_old: false,
            session: Session::new(),
            replica: Replica::new(),
            to_worker: VecDeque::new(),
            to_server: VecDeque::new(),
            refused: 0,
        };
        line.connect();
        line.answer();
        line
    }

    /// The stream breaks, with all that is under way, and a new one begins.
    pub(super) fn reconnect(&mut self) {
        self.connect();
        self.answer();
    }

    /// The same, but what the worker says first is still under way.
    pub(super) fn connect(&mut self) {
        self.replica.on_close();
        self.session = Session::with_limits(self.limits);
        self.to_worker.clear();
        self.to_server.clear();
        let who = Subscriber {
            node_id: "n".to_owned(),
            role: self.role.clone(),
            worker: self.worker.clone(),
            filter_build: "b".to_owned(),
            config_version: 1,
        };
        let subscribe = self.replica.subscribe(who);
        self.say(client_message::Kind::Subscribe(Subscribe {
            shares: !self.is_old,
            takes_away: !self.is_old,
            ..subscribe
        }));
    }

    /// The server sends its next message, if it has one.
    pub(super) fn send(&mut self, view: &KeyView) -> Option<String> {
        let message = self.session.next(view)?;
        let words = words(&message);
        self.to_worker.push_back(message);
        Some(words)
    }

    /// What was sent last arrives damaged.
    pub(super) fn damage(&mut self) {
        use server_message::Kind;
        let last = self.to_worker.back_mut().and_then(|message| message.kind.as_mut());
        match last.expect("something was sent") {
            Kind::Begin(begin) => begin.entries += 1,
            Kind::Chunk(chunk) => chunk.entries.push(0),
            Kind::End(end) => end.version = None,
            Kind::Delta(delta) => delta.removals.push(0),
            Kind::Alias(alias) => alias.version = None,
            Kind::Drop(_) | Kind::UsageAck(_) => {}
        }
    }

    /// The worker takes one message.
    pub(super) fn deliver(&mut self) -> Option<Effect> {
        let message = self.to_worker.pop_front()?;
        let effect = self.replica.on_message(&message.encode_to_vec()).expect("a message");
        match &effect {
            Effect::Changed { ack, .. } => self.say(client_message::Kind::Ack(ack.clone())),
            Effect::Refused { nack, .. } => {
                self.refused += 1;
                self.say(client_message::Kind::Nack(nack.clone()));
            }
            Effect::None | Effect::Dropped | Effect::Reported { .. } => {}
        }
        Some(effect)
    }

    /// The server takes one message.
    pub(super) fn answer(&mut self) -> Vec<SessionEvent> {
        let message = self.to_server.pop_front();
        message.map(|it| self.session.on_message(it).expect("it belongs there")).unwrap_or_default()
    }

    /// All that is under way arrives, on both sides.
    pub(super) fn exchange(&mut self) -> Vec<SessionEvent> {
        while self.deliver().is_some() {}
        std::iter::from_fn(|| (!self.to_server.is_empty()).then(|| self.answer())).flatten().collect()
    }

    /// Goes on until there is nothing more to say. What the server said meanwhile.
    pub(super) fn settle(&mut self, view: &KeyView) -> Vec<String> {
        let mut sent = Vec::new();
        self.exchange();
        while let Some(words) = self.send(view) {
            sent.push(words);
            self.exchange();
            assert!(sent.len() < MANY, "it never ends");
        }
        sent
    }

    /// What the worker holds of a table.
    pub(super) fn content(&self, table: &str) -> Option<fixtures::Entries> {
        let table = self.replica.table(table)?;
        Some(table.iter().map(|(digest, identity)| (*digest, fixtures::text(identity))).collect())
    }

    fn say(&mut self, kind: client_message::Kind) {
        self.to_server.push_back(message(kind));
    }
}
