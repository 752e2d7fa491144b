//! The filter in one proxy worker: root contexts come and go, tables stay.
//!
//! A new plugin configuration makes a new root context in the same VM, and the old one lives until
//! its last request ends. So tables, parked requests and the key stream belong to the worker. The
//! stream is opened in the name of the root that is in force, because the proxy resets a stream
//! together with its root. (A root could outlive its configuration by asking for it in `on_done`;
//! but then the proxy would make that call for every request as well.) So it moves to each new
//! root, at once and with the versions that are held: the server goes on where it was. The first one
//! is opened on a tick and never while configuring, because a proxy tries a configuration out in a VM
//! that it throws away; such a VM is a fresh one, so one with a stream is not of that kind.

use std::collections::BTreeMap;
use std::rc::Rc;

use prost::Message as _;

use crate::config::{FilterConfig, InvalidConfig, without_list};
use crate::event::Event;
use crate::host::{HostError, WorkerHost};
use crate::link::{Link, Stream};
use crate::metric::Metric;
use crate::parking::Lot;
use crate::replica::{Effect, Replica, Subscriber};
use crate::request::{self, Outcome};
use crate::standalone::{self, Seen};
use crate::wire::client_message::Kind as ClientKind;
use crate::wire::{ClientMessage, ConfigApplied, mix};

#[cfg(test)]
mod tests;

/// Milliseconds from a configuration to the first tick, which opens the stream.
const FIRST_TICK_MS: u32 = 10;
/// Milliseconds between ticks while a request waits or the stream is down.
const BUSY_TICK_MS: u32 = 50;
/// Milliseconds between ticks otherwise. With each, counts are shown: within a second.
const IDLE_TICK_MS: u32 = 500;
/// The most that the clock is believed to have moved between two looks at it.
const LONGEST_STEP_MS: u64 = 2_000;

/// All that one worker holds.
#[derive(Debug)]
pub struct Worker {
    name: String,
    build: &'static str,
    roots: BTreeMap<u32, Root>,
    in_force: Option<u32>,
    replica: Replica,
    lot: Lot<Rc<FilterConfig>>,
    link: Link,
    clock: Clock,
}

#[derive(Debug)]
struct Root {
    config: Rc<FilterConfig>,
    tick_ms: u32,
}

/// Time that only moves forward, made from a wall clock that may jump.
#[derive(Debug, Default)]
struct Clock {
    wall: Option<u64>,
    now: u64,
}

// === impl Worker ===

impl Worker {
    /// A worker that holds nothing. `seed` is random: it names the worker; `build` is the version of
    /// the filter.
    #[must_use]
    pub fn new(seed: u64, build: &'static str) -> Self {
        let seed = mix(seed);
        Self {
            name: format!("{seed:016x}"),
            build,
            roots: BTreeMap::new(),
            in_force: None,
            replica: Replica::new(),
            lot: Lot::default(),
            link: Link::new(seed),
            clock: Clock::default(),
        }
    }

    /// What it holds.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// A root context gets its plugin configuration, and is in force from now on.
    ///
    /// # Errors
    ///
    /// When the configuration is not valid. Nothing changes then.
    pub fn on_configure(
        &mut self,
        root: u32,
        config: &[u8],
        host: &mut impl WorkerHost,
    ) -> Result<Rc<FilterConfig>, InvalidConfig> {
        let mut config = FilterConfig::read(config)?;
        // Who is on which list is not told apart: lists come and go.
        let alone = config.standalone.is_some();
        let row: fn(&str) -> &str = if alone { standalone::without_list } else { without_list };
        config.policies.iter_mut().for_each(|(auth_id, policy)| policy.row = host.row(row(auth_id)));
        self.replica.watch(&config);
        let config = Rc::new(config);
        let wall = host.wall_clock().unwrap_or_default();
        self.replica.usage().set_time(wall);
        self.roots.insert(root, Root { config: Rc::clone(&config), tick_ms: FIRST_TICK_MS });
        host.set_tick(FIRST_TICK_MS);
        self.put_in_force(root, host);
        let now = self.clock.at(wall);
        self.take_over(root, now, host);
        Ok(config)
    }

    /// A root context is gone, and its stream with it.
    pub fn on_root_gone(&mut self, root: u32, host: &mut impl WorkerHost) {
        self.roots.remove(&root);
        if self.link.stream().is_some_and(|stream| stream.root == root) {
            self.release(host);
        }
        if self.in_force == Some(root) {
            self.in_force = None;
            if let Some((newest, _)) = self.roots.last_key_value() {
                let newest = *newest;
                self.put_in_force(newest, host);
                if host.enter(newest).is_ok() {
                    self.set_pace(newest, host);
                }
            }
        }
    }

    /// The proxy gives a new request to a root: that one is in force. It need not be the one that
    /// was configured last, since going back to a configuration that is still alive reuses its root.
    pub fn on_new_request(&mut self, root: u32, host: &mut impl WorkerHost) {
        // Without a stream there is nothing to move, and several plugins may share this VM: each has its
        // own configuration, and takes turns with the others.
        let moves = |root: &Root| root.config.has_stream();
        if self.in_force != Some(root) && self.roots.get(&root).is_some_and(moves) {
            self.put_in_force(root, host);
        }
    }

    /// Decides on a request, or lets it wait.
    pub fn on_request_headers(
        &mut self,
        context: u32,
        config: &Rc<FilterConfig>,
        host: &mut impl WorkerHost,
    ) -> Outcome {
        match request::on_request_headers(config, &Seen::new(&self.replica, config), host) {
            Outcome::Wait => self.park(context, config, host),
            outcome => {
                if self.replica.usage().is_filling()
                    && let Some(root) = self.in_force
                {
                    self.set_pace(root, host);
                }
                outcome
            }
        }
    }

    /// A request is gone, perhaps while it waited.
    pub fn on_request_gone(&mut self, context: u32, host: &mut impl WorkerHost) {
        if self.lot.leave(context).is_some() {
            host.add(Metric::Parked, -1);
        }
    }

    /// Time goes by for a root: opens the stream if it is due, ends waiting that took too long.
    pub fn on_tick(&mut self, root: u32, host: &mut impl WorkerHost) {
        let wall = host.wall_clock().unwrap_or_default();
        let now = self.clock.at(wall);
        self.replica.usage().set_time(wall);
        if self.in_force == Some(root) {
            self.take_over(root, now, host);
            if self.link.is_due(now) {
                self.open(root, now, host);
            }
            self.report(host);
            self.report_usage(root, now, host);
        }
        self.expire_parked(root, now, host);
        self.set_pace(root, host);
    }

    /// The server accepted a stream.
    pub fn on_stream_accepted(&mut self, number: u32, host: &mut impl WorkerHost) {
        if let Some(stream) = self.link.stream_mut()
            && stream.number == number
            && !stream.accepted
        {
            stream.accepted = true;
            host.add(Metric::StreamsConnected, 1);
            host.log(&Event::StreamUp);
        }
    }

    /// A message arrives on a stream.
    pub fn on_message(&mut self, number: u32, message: &[u8], host: &mut impl WorkerHost) {
        let Some(stream) = self.link.stream().copied().filter(|stream| stream.number == number) else {
            // Of a stream that was given up.
            return;
        };
        match self.replica.on_message(message) {
            Ok(Effect::None) => {}
            Ok(Effect::Changed { ack, arrived }) => {
                host.add(Metric::ChangesApplied, 1);
                self.send(number, ClientKind::Ack(ack), host);
                self.show_tables(host);
                if arrived {
                    host.log(&Event::TableArrived { keys: self.replica.keys() });
                    self.decide_parked(stream.root, host);
                }
            }
            Ok(Effect::Refused { nack, no_room }) => {
                host.add(Metric::ChangesRefused, 1);
                if no_room {
                    host.add(Metric::NoRoom, 1);
                }
                host.log(&Event::ChangeRefused { table: &nack.table, reason: &nack.reason });
                self.send(number, ClientKind::Nack(nack), host);
            }
            Ok(Effect::Dropped) => self.show_tables(host),
            Ok(Effect::Reported { seq }) => {
                self.replica.usage().on_ack(number, seq);
                self.send_usage(host);
            }
            Err(_) => self.on_garbage(number, host),
        }
    }

    /// Something arrives on a stream that cannot be read. There is no telling which table missed a
    /// change, so the stream is opened anew.
    pub fn on_garbage(&mut self, number: u32, host: &mut impl WorkerHost) {
        if self.link.stream().is_some_and(|stream| stream.number == number) {
            host.log(&Event::NotAMessage);
            host.cancel(number);
            self.on_close(number, host);
        }
    }

    /// A stream is closed.
    pub fn on_close(&mut self, number: u32, host: &mut impl WorkerHost) {
        let Some(stream) = self.link.stream().copied().filter(|stream| stream.number == number) else {
            return;
        };
        if stream.accepted {
            host.add(Metric::StreamsConnected, -1);
            host.log(&Event::StreamDown);
        }
        let now = self.clock.at(host.wall_clock().unwrap_or_default());
        self.link.closed(now);
        self.replica.on_close();
        self.set_pace(stream.root, host);
    }

    fn put_in_force(&mut self, root: u32, host: &mut impl WorkerHost) {
        self.in_force = Some(root);
        if let Some(root) = self.roots.get(&root) {
            self.replica.set_limit(root.config.max_table_bytes);
            host.set(Metric::ConfigVersion, root.config.version);
            host.log(&Event::ConfigInForce { version: root.config.version, role: &root.config.role });
        }
    }

    /// Moves a stream that was opened in the name of another root. The new one is opened first: the
    /// server is never without a stream of this worker, and does not have to guess whether it is gone.
    fn take_over(&mut self, root: u32, now: u64, host: &mut impl WorkerHost) {
        let Some(stream) = self.link.stream().copied().filter(|stream| stream.root != root) else { return };
        self.release(host);
        self.open(root, now, host);
        if host.enter(stream.root).is_ok() {
            host.cancel(stream.number);
        }
        let _ = host.enter(root);
    }

    fn release(&mut self, host: &mut impl WorkerHost) {
        if self.link.release().is_some_and(|stream| stream.accepted) {
            host.add(Metric::StreamsConnected, -1);
        }
        self.replica.on_close();
    }

    fn open(&mut self, root: u32, now: u64, host: &mut impl WorkerHost) {
        let config = self.roots.get(&root).map(|root| Rc::clone(&root.config));
        let Some(config) = config.filter(|config| config.has_stream()) else { return };
        let subscribe = self.replica.subscribe(Subscriber {
            node_id: host.node_id(),
            role: config.role.clone(),
            worker: self.name.clone(),
            filter_build: self.build.to_owned(),
            config_version: config.version,
        });
        match host.open_stream(&config.control_cluster) {
            Ok(number) => {
                let reported = config.version;
                self.link.opened(Stream { number, root, reported, accepted: false, since: now });
                self.send(number, ClientKind::Subscribe(subscribe), host);
            }
            Err(HostError) => self.link.closed(now),
        }
    }

    /// Tells the server about a configuration that came into force while the stream was open.
    fn report(&mut self, host: &mut impl WorkerHost) {
        let Some(stream) = self.link.stream_mut() else { return };
        let Some(root) = self.roots.get(&stream.root) else { return };
        let version = root.config.version;
        if stream.reported != version {
            stream.reported = version;
            let number = stream.number;
            self.send(number, ClientKind::ConfigApplied(ConfigApplied { version }), host);
        }
    }

    /// Tells the server which keys were used, when it is time.
    fn report_usage(&mut self, root: u32, now: u64, host: &mut impl WorkerHost) {
        let Some(interval) = self.roots.get(&root).map(|root| root.config.usage_report_ms) else { return };
        self.replica.close_usage(now, interval);
        self.send_usage(host);
        let lost = self.replica.usage().take_lost();
        if lost > 0 {
            host.add(Metric::UsesLost, i64::try_from(lost).unwrap_or(i64::MAX));
        }
    }

    /// Sends the reports that were not sent on this stream, if the server takes them there.
    fn send_usage(&mut self, host: &mut impl WorkerHost) {
        while let Some(stream) = self.link.stream().copied()
            && let Some(message) = self.replica.usage().next(stream.number)
        {
            if host.send(stream.number, message).is_err() {
                self.on_close(stream.number, host);
            }
        }
    }

    /// A message that cannot be sent means that the stream is gone: the proxy says so next, or has
    /// forgotten it.
    fn send(&mut self, number: u32, kind: ClientKind, host: &mut impl WorkerHost) {
        let message = ClientMessage { kind: Some(kind) };
        if host.send(number, &message.encode_to_vec()).is_err() {
            self.on_close(number, host);
        }
    }

    fn park(&mut self, context: u32, config: &Rc<FilterConfig>, host: &mut impl WorkerHost) -> Outcome {
        let now = self.clock.at(host.wall_clock().unwrap_or_default());
        let until = now.saturating_add(u64::from(config.wait_for_keys_ms));
        if self.lot.enter(context, until, Rc::clone(config)).is_err() {
            return request::unavailable(config, host);
        }
        host.add(Metric::Parked, 1);
        if let Some(root) = self.in_force {
            self.set_pace(root, host);
        }
        Outcome::Wait
    }

    fn expire_parked(&mut self, root: u32, now: u64, host: &mut impl WorkerHost) {
        let expired = self.lot.expire(now);
        for (context, config) in &expired {
            host.add(Metric::Parked, -1);
            if host.enter(*context).is_ok() {
                request::unavailable(config, host);
            }
        }
        if !expired.is_empty() {
            let _ = host.enter(root);
            host.log(&Event::WaitedInVain { requests: expired.len() });
        }
    }

    /// Decides again on everybody who waits. Who still has to wait does so until the old deadline.
    fn decide_parked(&mut self, root: u32, host: &mut impl WorkerHost) {
        for (context, config) in self.lot.waiting() {
            if host.enter(context).is_err() {
                self.on_request_gone(context, host);
                continue;
            }
            match request::on_request_headers(&config, &Seen::new(&self.replica, &config), host) {
                Outcome::Wait => {}
                Outcome::Answered => self.on_request_gone(context, host),
                Outcome::Forward(_) => {
                    self.on_request_gone(context, host);
                    let _ = host.resume_request();
                }
            }
        }
        let _ = host.enter(root);
    }

    fn show_tables(&self, host: &mut impl WorkerHost) {
        host.set(Metric::Keys, u64::try_from(self.replica.keys()).unwrap_or(u64::MAX));
        host.set(Metric::TablesRevision, self.replica.revision());
    }

    /// Ticks fast while there is something to wait for.
    fn set_pace(&mut self, root: u32, host: &mut impl WorkerHost) {
        let no_stream = self.roots.get(&root).is_some_and(|root| !root.config.has_stream());
        let connected = no_stream || self.link.stream().is_some();
        let idle = connected && self.lot.is_empty() && !self.replica.usage().is_filling();
        let tick_ms = if idle { IDLE_TICK_MS } else { BUSY_TICK_MS };
        if let Some(root) = self.roots.get_mut(&root)
            && root.tick_ms != tick_ms
        {
            root.tick_ms = tick_ms;
            host.set_tick(tick_ms);
        }
    }
}

// === impl Clock ===

impl Clock {
    fn at(&mut self, wall: u64) -> u64 {
        let step = self.wall.map_or(0, |last| wall.saturating_sub(last));
        self.wall = Some(wall);
        self.now = self.now.saturating_add(step.min(LONGEST_STEP_MS));
        self.now
    }
}
