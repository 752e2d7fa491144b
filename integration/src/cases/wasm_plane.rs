//! The plane in wasmtime: the filter alone, told by the pure crates of the control server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use keyward_filter_core::wire::{ClientMessage, METHOD, SERVICE};
use keyward_keys::Session;
use prost::Message as _;
use serde_json::Value;

use super::check::Answer;
use super::model::On;
use super::pure_control::PureControl;
use super::run::Plane;
use crate::headers::Headers;
use crate::wasm_host::{Host, Outcome, Vm};

/// Messages after which the two ends must have nothing left to say to each other.
const MAX_ROUNDS: usize = 10_000;

/// The filter in wasmtime, its control server, and the key streams between them.
pub struct WasmPlane {
    host: Host,
    control: PureControl,
    vm: Option<Vm>,
    sessions: BTreeMap<u32, Session>,
    config: Vec<u8>,
}

// === impl WasmPlane ===

impl WasmPlane {
    /// A plane without resources.
    #[must_use]
    pub fn new(host: Host) -> Self {
        let control = PureControl::new(5_000);
        Self { host, control, vm: None, sessions: BTreeMap::new(), config: Vec::new() }
    }

    /// The control server's side.
    pub fn control(&mut self) -> &mut PureControl {
        &mut self.control
    }

    /// The VM, configured with the newest configuration, but not yet told of keys.
    ///
    /// # Errors
    ///
    /// When the filter traps or refuses its configuration.
    pub fn vm(&mut self) -> anyhow::Result<&mut Vm> {
        let plugin = self.control.plugin()?;
        if let Some(vm) = &mut self.vm {
            if plugin.config != self.config && !vm.configure(&plugin.config)? {
                bail!("the filter refused a configuration; it said {:?}", vm.logs());
            }
        } else {
            // There is no route configuration here that takes the identity off responses, so the filter does.
            let capabilities = plugin.capabilities.iter().map(String::as_str);
            let host = self.host.restricted_to(capabilities.chain(["proxy_on_response_headers"]));
            self.vm = Some(Vm::start(&host, &plugin.config)?);
        }
        self.config = plugin.config;
        self.vm.as_mut().context("it was made above")
    }

    /// Lets control server and filter talk until both have said everything.
    ///
    /// # Errors
    ///
    /// When the filter traps, or the talk does not end.
    pub fn converge(&mut self) -> anyhow::Result<()> {
        self.vm()?.advance(Duration::from_secs(1))?;
        for _ in 0..MAX_ROUNDS {
            if !self.exchange()? {
                return Ok(());
            }
        }
        bail!("filter and control server still talk after {MAX_ROUNDS} rounds")
    }

    /// One message at most in each direction of each stream. Says whether there was any.
    fn exchange(&mut self) -> anyhow::Result<bool> {
        let view = self.control.keys();
        let vm = self.vm.as_mut().context("no VM")?;
        let mut any = false;
        let streams: Vec<u32> = vm.grpc_streams().keys().copied().collect();
        self.sessions.retain(|stream, _| streams.contains(stream));
        for stream in streams {
            let method = vm.grpc_streams().get(&stream).map(|stream| stream.method.clone());
            if method != Some(format!("{SERVICE}/{METHOD}")) {
                bail!("the filter opened a stream of {method:?}");
            }
            let session = self.sessions.entry(stream).or_default();
            for message in vm.take_sent(stream) {
                any = true;
                session.on_message(ClientMessage::decode(message.as_slice())?)?;
            }
            if let Some(message) = session.next(&view) {
                any = true;
                vm.grpc_message(stream, &message.encode_to_vec())?;
            }
        }
        Ok(any)
    }
}

impl Plane for WasmPlane {
    fn kind(&self) -> On {
        On::Wasm
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    fn certainty(&self) -> usize {
        1
    }

    fn apply(&mut self, object: &Value) -> anyhow::Result<()> {
        self.control.apply(object)
    }

    fn delete(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.control.delete(kind, namespace, name)
    }

    fn status(&mut self, kind: &str, namespace: &str, name: &str) -> anyhow::Result<(String, String)> {
        self.control.status(kind, namespace, name)
    }

    fn send(
        &mut self,
        host: &str,
        path: &str,
        headers: &Headers,
        upstream: &Headers,
    ) -> anyhow::Result<Answer> {
        self.converge()?;
        let route = self.control.route(host, path).context("no route")?;
        if route.auth.auth_id().is_none() {
            bail!("an open route: the filter is not run there, the case has to say `on: [envoy]`");
        }
        let name = route.name.clone();
        let vm = self.vm()?;
        // Before the filter, Envoy has removed what the client says of its identity.
        let mut headers = headers.lower_case();
        headers.remove("x-user-id");
        headers.add(":path", path);
        headers.add(":authority", host);
        let exchange = vm.request(&name, headers)?;
        let answer = match exchange.outcome {
            Outcome::Forwarded(forwarded) => {
                let headers = vm.response(exchange.id, upstream)?;
                Answer { status: 200, headers, body: Vec::new(), forwarded: Some(forwarded) }
            }
            Outcome::Local(reply) => {
                let status = u16::try_from(reply.status)?;
                Answer { status, headers: reply.headers, body: reply.body, forwarded: None }
            }
            Outcome::Paused => bail!("the request waits, although the keys were sent"),
        };
        vm.end(exchange.id)?;
        Ok(answer)
    }
}
