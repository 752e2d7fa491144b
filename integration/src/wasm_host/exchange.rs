//! Requests through a VM.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};

use super::state::{LocalReply, Stream};
use super::vm::Vm;
use crate::headers::Headers;

const ACTION_CONTINUE: u32 = 0;
/// Headers that Envoy keeps once: repeated, their values are joined before any filter sees them.
const JOINED_HEADERS: [(&str, &str); 5] = [
    ("authorization", ","),
    ("user-agent", ","),
    ("x-forwarded-for", ","),
    ("accept", ","),
    ("cookie", "; "),
];

/// A request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Names the request in further calls.
    pub id: u32,
    /// What became of it so far.
    pub outcome: Outcome,
    /// What the guest executed for it so far, in units of fuel.
    pub fuel: u64,
    /// Calls made for it by name: callbacks, hostcalls, and `malloc` for each call back into the
    /// guest's allocator.
    pub calls: BTreeMap<&'static str, u64>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on to the upstream, with these headers.
    Forwarded(Headers),
    /// It was answered.
    Local(LocalReply),
    /// It waits.
    Paused,
}

fn joined(headers: Headers) -> Headers {
    JOINED_HEADERS.iter().fold(headers, |mut headers, (name, joint)| {
        let values = headers.all(name);
        if values.len() > 1 {
            let value = values.join(joint.as_bytes());
            headers.replace(name, value);
        }
        headers
    })
}

fn with_pseudo_headers(headers: &Headers) -> Headers {
    let defaults = [(":authority", "test"), (":path", "/"), (":method", "GET"), (":scheme", "http")];
    let mut all: Headers =
        defaults.iter().filter(|(name, _)| headers.first(name).is_none()).copied().collect();
    for (name, value) in headers.iter() {
        all.add(name, value);
    }
    all
}

// === impl Outcome ===

impl Outcome {
    /// The headers that the upstream gets, if it gets the request.
    #[must_use]
    pub fn forwarded(&self) -> Option<&Headers> {
        match self {
            Self::Forwarded(headers) => Some(headers),
            Self::Local(_) | Self::Paused => None,
        }
    }

    /// The reply, if the request was answered.
    #[must_use]
    pub fn local(&self) -> Option<&LocalReply> {
        match self {
            Self::Local(reply) => Some(reply),
            Self::Forwarded(_) | Self::Paused => None,
        }
    }

    /// The identity that the upstream gets.
    #[must_use]
    pub fn identity(&self) -> Option<&[u8]> {
        self.forwarded()?.first("x-user-id")
    }
}

// === impl Exchange ===

impl Exchange {
    /// How many calls were made across the border of the VM, in either direction.
    #[must_use]
    pub fn total_calls(&self) -> u64 {
        self.calls.values().sum()
    }
}

// === impl Vm ===

impl Vm {
    /// Sends a request that matched the route of this name.
    ///
    /// # Errors
    ///
    /// When the guest traps.
    pub fn request(&mut self, route: &str, headers: Headers) -> anyhow::Result<Exchange> {
        self.measured(|vm| vm.open(route.as_bytes(), &headers))
    }

    /// The whole life of a request whose upstream answers with nothing special; what it cost in all.
    ///
    /// # Errors
    ///
    /// When the guest traps, or the request waits.
    pub fn round_trip(&mut self, route: &str, headers: Headers) -> anyhow::Result<Exchange> {
        self.measured(|vm| {
            let (id, outcome) = vm.open(route.as_bytes(), &headers)?;
            match outcome {
                Outcome::Forwarded(_) => drop(vm.response(id, &Headers::new())?),
                Outcome::Local(_) => {}
                Outcome::Paused => bail!("the request waits"),
            }
            vm.end(id)?;
            Ok((id, outcome))
        })
    }

    /// What became of a request, perhaps after it waited.
    ///
    /// # Errors
    ///
    /// When there is no such request.
    pub fn outcome(&self, id: u32) -> anyhow::Result<Outcome> {
        let stream = self.store.data().streams.get(&id).context("no such request")?;
        Ok(if let Some(reply) = &stream.local_reply {
            Outcome::Local(reply.clone())
        } else if self.paused.contains(&id) && !stream.resumed {
            Outcome::Paused
        } else {
            Outcome::Forwarded(stream.request.clone())
        })
    }

    /// What the guest has noted of a request, for access logs and other filters.
    ///
    /// # Errors
    ///
    /// When there is no such request.
    pub fn noted(&self, id: u32) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let stream = self.store.data().streams.get(&id).context("no such request")?;
        Ok(stream.filter_state.clone())
    }

    /// Gives the upstream's response to a forwarded request; returns the headers that the client
    /// gets.
    ///
    /// # Errors
    ///
    /// When the guest traps or holds the response back.
    pub fn response(&mut self, id: u32, headers: &Headers) -> anyhow::Result<Headers> {
        let stream = self.store.data_mut().streams.get_mut(&id).context("no such request")?;
        stream.response = headers.lower_case();
        if stream.response.first(":status").is_none() {
            stream.response.add(":status", "200");
        }
        let count = u32::try_from(stream.response.len())?;
        let action = self.enter_for(id, "proxy_on_response_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        if action != ACTION_CONTINUE {
            bail!("the guest holds a response back");
        }
        let stream = self.store.data().streams.get(&id).context("no such request")?;
        Ok(stream.response.clone())
    }

    /// Ends a request, also one that waits: its client went away.
    ///
    /// # Errors
    ///
    /// When the guest traps, or there is no such request.
    pub fn end(&mut self, id: u32) -> anyhow::Result<()> {
        if !self.store.data().streams.contains_key(&id) {
            bail!("no such request");
        }
        self.enter_for(id, "proxy_on_done", (id,), 1)?;
        self.enter(id, "proxy_on_log", (id,))?;
        self.enter(id, "proxy_on_delete", (id,))?;
        self.store.data_mut().streams.remove(&id);
        self.paused.retain(|paused| *paused != id);
        self.drop_old_roots()
    }

    fn measured(
        &mut self,
        what: impl FnOnce(&mut Self) -> anyhow::Result<(u32, Outcome)>,
    ) -> anyhow::Result<Exchange> {
        let before = self.store.data().calls.clone();
        let ((id, outcome), fuel) = self.fuel_of(what)?;
        let now = self.store.data().calls.iter();
        let rise = now.map(|(name, count)| (*name, count - before.get(name).unwrap_or(&0)));
        Ok(Exchange { id, outcome, fuel, calls: rise.filter(|(_, count)| *count > 0).collect() })
    }

    fn open(&mut self, route: &[u8], headers: &Headers) -> anyhow::Result<(u32, Outcome)> {
        let id = self.new_context();
        let root = self.store.data().root;
        let request = with_pseudo_headers(&joined(headers.lower_case()));
        let count = u32::try_from(request.len())?;
        let stream = Stream { root, route_name: route.to_vec(), request, ..Stream::default() };
        self.store.data_mut().streams.insert(id, stream);
        self.enter(id, "proxy_on_context_create", (id, root))?;
        let action = self.enter_for(id, "proxy_on_request_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        if action != ACTION_CONTINUE {
            self.paused.push(id);
        }
        let outcome = self.outcome(id)?;
        if let Outcome::Local(reply) = &outcome {
            // Envoy sends a local reply through the filters, the one that made it included.
            let count = u32::try_from(reply.headers.len())?;
            let stream = self.store.data_mut().streams.get_mut(&id).context("no such request")?;
            stream.response = reply.headers.clone();
            self.enter_for(id, "proxy_on_response_headers", (id, count, 1_u32), ACTION_CONTINUE)?;
        }
        Ok((id, outcome))
    }
}
