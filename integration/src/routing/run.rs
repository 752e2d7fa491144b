//! Runs cases, one after the other, on one Envoy.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use keyward_keys::{Change, KeyIndex};
use keyward_resource::ObjectRef;
use keyward_translate::proxy::{Proxy, allow_lists};
use keyward_translate::xds::LISTENER;
use keyward_translate::{
    FilterCode, LastGood, Output, OwnPort, OwnService, Settings, XdsResources, filter_config, translate, xds,
};

use super::case::Case;
use super::check::{self, Observed};
use super::client;
use super::control::{Control, Publication, Refused, Wanted};
use super::envoy::{CONTROL_CLUSTER, Envoy};
use super::hosts::Hosts;
use super::model::{Exchange, HostSetup, Request};
use super::names::Names;
use super::objects::Objects;
use super::remap::{self, Ports};
use crate::paths;

const SYSTEM_NAMESPACE: &str = "keyward-system";
/// How long a copy of a request may be on its way.
const COPY_LIMIT: Duration = Duration::from_secs(5);
/// How long the workers of an Envoy may take to learn which hosts are well.
const HOSTS_LIMIT: Duration = Duration::from_secs(2);

/// Everything that cases share.
pub struct Bench {
    names: Names,
    control: Control,
    envoy: Envoy,
    ports: Ports,
    filter: FilterCode,
    /// Numbers requests, so that hosts can tell them apart.
    sent: u64,
    /// The revision of what is served. Each has its own: workers that hold the keys of a later revision
    /// are taken to hold those of an earlier one.
    revision: u64,
}

/// A proxy that the Envoy runs.
struct Running {
    hosts: Hosts,
    /// The Gateway of each listener, none for the default ones, and where it is.
    listeners: Vec<(Option<ObjectRef>, String, SocketAddr)>,
    /// Some of the hosts fail health checks.
    any_unwell: bool,
}

fn settings() -> Settings {
    Settings {
        system_namespace: SYSTEM_NAMESPACE.to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 5_000,
        preflight_needs_key: false,
        usage_report_ms: keyward_filter_core::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: keyward_filter_core::config::DEFAULT_MAX_TABLE_BYTES,
        default_gateway: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
        default_tls_gateway: SocketAddr::from((Ipv4Addr::LOCALHOST, 8443)),
        circuit_breakers: Default::default(),
        one_way_tls: false,
        tls_files: Some("/testdata".to_owned()),
        log_files: Some("/var/log/keyward".to_owned()),
        access_log: None,
        watch_namespaces: Default::default(),
        control_cluster: CONTROL_CLUSTER.to_owned(),
        own_ports: vec![
            own_port(9080, OwnService::Rest),
            own_port(9977, OwnService::Xds { certified: false }),
            own_port(19000, OwnService::Admin),
        ],
        routing: Default::default(),
    }
}

/// A port as `keyward serve` has it unless told otherwise: the one of the goldens.
fn own_port(port: u16, service: OwnService) -> OwnPort {
    OwnPort { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), service }
}

/// What is made of objects.
pub(super) fn translated(objects: &Objects, last_good: &LastGood) -> Output {
    translate(&objects.input, &settings(), last_good)
}

/// The name of the proxies of a role.
pub(super) fn proxy_name(role: &str) -> &str {
    role.split_once('~').map_or(role, |(_, name)| name)
}

// === impl Bench ===

impl Bench {
    /// Starts everything that cases share.
    ///
    /// # Errors
    ///
    /// When something does not start.
    pub async fn start() -> anyhow::Result<Self> {
        let wasm = std::fs::read(paths::filter_wasm()?)?;
        let names = Names::start().await?;
        let control = Control::start().await?;
        let envoy = Envoy::start(control.address(), names.address())?;
        let filter = FilterCode { wasm: wasm.into(), vm_id: "routing".to_owned() };
        Ok(Self { names, control, envoy, ports: Ports::default(), filter, sent: 0, revision: 0 })
    }

    /// Runs a case: everything that is wrong with it.
    pub async fn run(&mut self, case: &Case) -> Vec<String> {
        let mut wrong = Vec::new();
        let last_good = match &case.before {
            None => LastGood::default(),
            Some(before) => {
                let output = translated(before, &LastGood::default());
                for (role, proxy) in &output.proxies {
                    if let Err(error) = self.serve(case, role, proxy, &output.settings, before).await {
                        wrong.push(format!("{}: before, {role}: {error:#}", case.name));
                    }
                }
                output.last_good
            }
        };
        let output = translated(&case.objects, &last_good);
        let strangers =
            case.requests.requests.iter().filter(|exchange| {
                !output.proxies.keys().any(|role| proxy_name(role) == exchange.request.proxy)
            });
        for stranger in strangers {
            wrong.push(format!(
                "{}: {}: there is no proxy {}",
                case.name, stranger.name, stranger.request.proxy
            ));
        }
        let mut hosts = BTreeSet::new();
        for (role, proxy) in &output.proxies {
            let running = match self.serve(case, role, proxy, &output.settings, &case.objects).await {
                Ok(running) => running,
                Err(error) => {
                    wrong.push(format!("{}: {role}: {error:#}", case.name));
                    continue;
                }
            };
            hosts.extend(running.hosts.addresses().into_keys());
            for exchange in &case.requests.requests {
                if exchange.request.proxy != proxy_name(role) {
                    continue;
                }
                if let Err(error) = self.exchange(&running, exchange).await {
                    wrong.push(format!("{}: {}: {error:#}", case.name, exchange.name));
                }
            }
        }
        for complaint in self.envoy.complaints() {
            wrong.push(format!("{}: envoy warns: {complaint}", case.name));
        }
        if !case.requests.refused.is_empty()
            && let Err(error) = self.replace_envoy().await
        {
            wrong.push(format!("{}: afterwards: {error:#}", case.name));
        }
        let strangers = case.requests.hosts.keys().filter(|host| !hosts.contains(*host));
        wrong.extend(strangers.map(|host| format!("{}: no upstream has the host {host}", case.name)));
        wrong
    }

    /// Has the Envoy run a proxy. After a refusal the Envoy is replaced: what it refused once may be
    /// in the way of what comes next.
    async fn serve(
        &mut self,
        case: &Case,
        role: &str,
        proxy: &Proxy,
        settings: &Settings,
        objects: &Objects,
    ) -> anyhow::Result<Running> {
        let resources = xds(proxy, &self.filter, settings);
        let served = self.try_serve(case, role, proxy, settings, objects, &resources).await;
        if let Err(error) = &served {
            let refused = error.downcast_ref::<Refused>().is_some();
            let log = if refused { String::new() } else { format!("\n{}", self.envoy.log()) };
            self.replace_envoy().await?;
            return served.with_context(|| format!("it is not served{log}"));
        }
        served
    }

    async fn replace_envoy(&mut self) -> anyhow::Result<()> {
        self.control = Control::start().await?;
        self.envoy = Envoy::start(self.control.address(), self.names.address())?;
        Ok(())
    }

    async fn try_serve(
        &mut self,
        case: &Case,
        role: &str,
        proxy: &Proxy,
        settings: &Settings,
        objects: &Objects,
        resources: &XdsResources,
    ) -> anyhow::Result<Running> {
        let hosts = Hosts::start(remap::hosts(resources)?, &case.requests.hosts).await?;
        let (snapshot, addresses) = remap::snapshot(resources, &hosts.addresses(), &mut self.ports)?;
        let wanted = Wanted::from([(role.to_owned(), proxy.tables.clone())]);
        self.revision += 1;
        let mut index = KeyIndex::new();
        let changes = objects.keys.iter().cloned();
        let lists = Change::Allow(allow_lists([proxy]));
        index.apply(self.revision, changes.chain([Change::Watch(settings.watched_namespaces()), lists]));
        let unwell = unwell(&case.requests.hosts, &hosts.addresses());
        let publication = Publication {
            hosts: remap::resolved(&snapshot)?,
            unwell: unwell.clone(),
            snapshot,
            keys: index.view(wanted),
            role: role.to_owned(),
            config_version: filter_config(proxy, settings).version,
            refused: case.requests.refused.clone(),
            secured: proxy.routes().any(|route| route.auth.auth_id().is_some()),
        };
        self.control.publish(publication, &self.envoy).await?;
        let gateway = |name: &str| {
            let origin = resources.origin.get(&(LISTENER, name.to_owned()))?;
            origin.first().map(|gateway| ObjectRef::new(&gateway.namespace, &gateway.name))
        };
        let listeners =
            addresses.into_iter().map(|(name, address)| (gateway(&name), name, address)).collect();
        Ok(Running { hosts, listeners, any_unwell: !unwell.is_empty() })
    }

    /// Makes an exchange. Where hosts fail health checks, the workers of the Envoy learn which of them a moment
    /// after its main thread knows it, and take all of them until then: so it is made again for a while.
    async fn exchange(&mut self, running: &Running, exchange: &Exchange) -> anyhow::Result<()> {
        let deadline = Instant::now() + HOSTS_LIMIT;
        loop {
            match self.exchange_once(running, exchange).await {
                Err(_) if running.any_unwell && Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn exchange_once(&mut self, running: &Running, exchange: &Exchange) -> anyhow::Result<()> {
        let address = running.address(&exchange.request)?;
        let once = |id: String| async move {
            running.hosts.expect(&id, &exchange.answer);
            let outcome = client::send(address, &id, &exchange.request).await?;
            let arrived = arrived(&running.hosts, &id, &exchange.expect.shadow).await;
            anyhow::Ok(Observed { outcome, arrived })
        };
        let ids: Vec<String> = (0..exchange.repeat).map(|turn| format!("{}-{turn}", self.sent)).collect();
        self.sent += 1;
        let mut all = Vec::new();
        if exchange.together {
            all = try_join_all(ids.into_iter().map(once)).await?;
            all.iter().try_for_each(|observed| check::one(&exchange.expect, observed))?;
        } else {
            for id in ids {
                let observed = once(id).await?;
                check::one(&exchange.expect, &observed)?;
                all.push(observed);
            }
        }
        check::all(&exchange.expect, &all)
    }
}

/// The hosts that fail health checks.
fn unwell(
    setups: &BTreeMap<String, HostSetup>,
    addresses: &BTreeMap<String, SocketAddr>,
) -> BTreeSet<SocketAddr> {
    let fails = |setup: &HostSetup| setup.down || setup.health.or(setup.status).unwrap_or(200) != 200;
    let names = setups.iter().filter(|(_, setup)| fails(setup)).map(|(name, _)| name);
    names.filter_map(|name| addresses.get(name).copied()).collect()
}

/// What has arrived of a request once it is answered. Copies may come later than the answer.
async fn arrived(hosts: &Hosts, id: &str, shadow: &[String]) -> Vec<super::hosts::Arrival> {
    let deadline = Instant::now() + COPY_LIMIT;
    loop {
        let arrived = hosts.arrived(id);
        let complete = shadow.iter().all(|shadow| arrived.iter().any(|arrival| arrival.at == *shadow));
        if complete || Instant::now() >= deadline {
            return arrived;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

// === impl Running ===

impl Running {
    /// The listener that a request is for: that of the Gateway that it names, by its own name or that
    /// of the listener, or the only one.
    fn address(&self, request: &Request) -> anyhow::Result<SocketAddr> {
        let fits = |gateway: &Option<ObjectRef>, listener: &str| match (&request.gateway, gateway) {
            (None, _) => true,
            (Some(wanted), _) if wanted == listener => true,
            (Some(wanted), Some(gateway)) => {
                *wanted == gateway.name || *wanted == format!("{}/{}", gateway.namespace, gateway.name)
            }
            (Some(_), None) => false,
        };
        let found: BTreeMap<&str, SocketAddr> = self
            .listeners
            .iter()
            .filter(|(gateway, name, _)| fits(gateway, name))
            .map(|(_, name, address)| (name.as_str(), *address))
            .collect();
        let wanted = request.gateway.as_deref().unwrap_or("the request");
        let mut addresses = found.values();
        let address = addresses.next().with_context(|| format!("there is no listener for {wanted}"))?;
        ensure!(found.len() == 1, "{wanted} may mean any of {:?}", found.keys());
        Ok(*address)
    }
}
