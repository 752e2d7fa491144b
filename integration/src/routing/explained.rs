//! The requests of a case, explained instead of sent: what keyward-explain works out has to be what the real
//! Envoy answers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use keyward_admin::xds::whole;
use keyward_explain::{Entry, Explanation, Keys, Plan, Request, Served, Verdict, plan};
use keyward_keys::{Change, KeyIndex, KeyView};
use keyward_translate::proxy::{Proxy, allow_lists};
use keyward_translate::xds::{CLUSTER, ENDPOINT, EXTENSION, LISTENER, ROUTE};
use keyward_translate::{FilterCode, LastGood, Settings, XdsResources, xds};
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::Case;
use super::control::Wanted;
use super::model::{self, Expect};
use super::objects::Objects;
use super::pattern::Pattern;
use super::run::{proxy_name, translated};
use crate::paths;

/// What cannot be worked out, and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untold {
    /// The case.
    pub case: String,
    /// The request.
    pub request: String,
    /// Why not.
    pub why: String,
}

/// A request of a case of which something else is explained than Envoy answers.
#[derive(Debug)]
pub struct Disagreement {
    /// The case.
    pub case: String,
    /// The request.
    pub request: String,
    /// What is different.
    pub what: String,
}

/// What is known to be out of reach.
///
/// # Errors
///
/// When the list cannot be read.
pub fn untold() -> anyhow::Result<Vec<Untold>> {
    let path = paths::testdata("explain/untold.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_saphyr::from_str(&text).with_context(|| path.display().to_string())
}

/// Explains all requests of a case: how many, and those with which Envoy does not agree.
///
/// # Errors
///
/// When it cannot be worked with.
pub fn explained(case: &Case) -> anyhow::Result<(usize, Vec<Disagreement>)> {
    let last_good = match &case.before {
        Some(before) => translated(before, &LastGood::default()).last_good,
        None => LastGood::default(),
    };
    let output = translated(&case.objects, &last_good);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = u64::try_from(now.as_millis())?;
    let (mut count, mut wrong) = (0, Vec::new());
    for (role, proxy) in &output.proxies {
        let stage = Stage::of(role, proxy, &output.settings, &case.objects)?;
        for exchange in &case.requests.requests {
            if exchange.request.proxy != proxy_name(role) {
                continue;
            }
            count += 1;
            let asked = &exchange.request;
            let agreed =
                request(asked).and_then(|it| stage.explain(asked, &it, now)).and_then(|explanation| {
                    agrees(&exchange.expect, &explanation, &stage).with_context(|| explanation.to_string())
                });
            if let Err(error) = agreed {
                let (case, request) = (case.name.clone(), exchange.name.clone());
                wrong.push(Disagreement { case, request, what: format!("{error:#}") });
            }
        }
    }
    Ok((count, wrong))
}

/// What a proxy is told.
pub(super) struct Stage {
    served: Served,
    keys: KeyView,
    identity_header: String,
    /// The hosts of each cluster, as `address:port`.
    hosts: BTreeMap<String, BTreeSet<String>>,
}

/// What `GET /keyward/v1/served` would say.
fn served(role: &str, resources: &XdsResources) -> Value {
    let all = |type_url: &str| -> Value {
        let of_type = resources.iter().filter(|encoded| encoded.type_url == type_url);
        of_type.map(|encoded| whole(type_url, &encoded.bytes)).collect()
    };
    json!({
        "role": role, "version": "of the case",
        "listeners": all(LISTENER), "routes": all(ROUTE), "clusters": all(CLUSTER),
        "endpoints": all(ENDPOINT), "extensionConfigs": all(EXTENSION),
    })
}

/// The hosts in an assignment.
fn hosts(assignment: &Value) -> BTreeSet<String> {
    let localities = assignment["endpoints"].as_array().into_iter().flatten();
    let endpoints = localities.flat_map(|locality| locality["lbEndpoints"].as_array().into_iter().flatten());
    let socket = endpoints.map(|endpoint| &endpoint["endpoint"]["address"]["socketAddress"]);
    socket
        .map(|socket| {
            let address = socket["address"].as_str().unwrap_or_default();
            let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
            format!("{address}:{}", socket["portValue"])
        })
        .collect()
}

/// A request of a case as one that is explained.
pub(super) fn request(asked: &model::Request) -> anyhow::Result<Request> {
    let mut request = Request::new(&asked.method, &asked.host, &asked.path);
    for (name, values) in &asked.headers {
        for value in values.iter() {
            request.add_header(name, value.as_bytes())?;
        }
    }
    if let Some(protocol) = &asked.upgrade {
        request.add_header("connection", b"upgrade")?;
        request.add_header("upgrade", protocol.as_bytes())?;
    }
    if let Some(tls) = &asked.tls {
        let host = asked.host.split(':').next().unwrap_or_default();
        request.tls = Some(tls.sni.clone().unwrap_or_else(|| host.to_owned()));
    }
    Ok(request)
}

/// Compares what is explained with what Envoy has to answer.
fn agrees(expect: &Expect, told: &Explanation, stage: &Stage) -> anyhow::Result<()> {
    ensure!(told.verdict != Verdict::Untold, "it cannot be told");
    let closed = told.verdict == Verdict::NoRoute && told.status.is_none();
    if let Some(error) = &expect.error {
        ensure!(closed, "{:?} instead of the error {error}", told.verdict);
        return Ok(());
    }
    ensure!(!closed, "no connection instead of an answer");
    if let (Some(status), Some(wanted)) = (told.status, expect.status) {
        ensure!(status == wanted, "the status is {status}, not {wanted}");
    }
    if let Some(status) = told.status
        && !expect.statuses.is_empty()
    {
        let possible = told.faults.iter().map(|fault| fault.status).chain([status]);
        let possible: BTreeSet<String> = possible.map(|status| status.to_string()).collect();
        ensure!(expect.statuses.keys().eq(&possible), "{possible:?}, not {:?}", expect.statuses);
    }
    let upstreams: BTreeSet<&String> =
        told.upstreams.iter().filter_map(|upstream| stage.hosts.get(&upstream.cluster)).flatten().collect();
    match &expect.upstream {
        Some(Some(host)) => {
            ensure!(told.status.is_none(), "status {:?} instead of the answer of {host}", told.status);
            ensure!(upstreams.contains(host), "one of {upstreams:?} instead of {host}");
        }
        Some(None) => ensure!(told.status.is_some(), "an answer of one of {upstreams:?} instead of none"),
        None => {}
    }
    for host in expect.shares.keys().filter(|host| *host != "none") {
        ensure!(upstreams.contains(host), "one of {upstreams:?} instead of {host}");
    }
    let seen = expect.seen.as_ref().and_then(|seen| seen.headers.get(&stage.identity_header));
    match (seen, &told.identity) {
        (Some(Pattern::Exact(wanted)), identity) => {
            ensure!(wanted.iter().eq(identity.iter()), "as {identity:?}, not as {wanted:?}");
        }
        (Some(Pattern::Absent), Some(identity)) => bail!("as {identity}, not as nobody"),
        _ => {}
    }
    Ok(())
}

// === impl Stage ===

impl Stage {
    pub(super) fn of(
        role: &str,
        proxy: &Proxy,
        settings: &Settings,
        objects: &Objects,
    ) -> anyhow::Result<Self> {
        let code = FilterCode { wasm: Vec::new().into(), vm_id: "explained".to_owned() };
        let served = served(role, &xds(proxy, &code, settings));
        let mut of_cluster: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (list, name) in [("clusters", "name"), ("endpoints", "clusterName")] {
            for one in served[list].as_array().into_iter().flatten() {
                let own = if list == "clusters" { &one["loadAssignment"] } else { one };
                let name = one[name].as_str().unwrap_or_default();
                of_cluster.entry(name.to_owned()).or_default().extend(hosts(own));
            }
        }
        let mut index = KeyIndex::new();
        let lists = Change::Allow(allow_lists([proxy]));
        let changes =
            objects.keys.iter().cloned().chain([Change::Watch(settings.watched_namespaces()), lists]);
        index.apply(1, changes);
        let wanted = Wanted::from([(role.to_owned(), proxy.tables.clone())]);
        Ok(Self {
            served: Served::read(&served)?,
            keys: index.view(wanted),
            identity_header: settings.identity_header.clone(),
            hosts: of_cluster,
        })
    }

    /// The same, before any keys have come.
    pub(super) fn without_keys(self) -> Self {
        Self { keys: KeyView::default(), ..self }
    }

    pub(super) fn plan<'a>(&'a self, asked: &model::Request, request: &Request) -> anyhow::Result<Plan<'a>> {
        let entry = Entry { gateway: asked.gateway.clone(), port: None };
        Ok(plan(&self.served, &entry, request)?)
    }

    /// `now` is in milliseconds since 1970.
    pub(super) fn explain(
        &self,
        asked: &model::Request,
        request: &Request,
        now: u64,
    ) -> anyhow::Result<Explanation> {
        let plan = self.plan(asked, request)?;
        let mut keys = Keys::new();
        for (name, digests) in plan.lookups() {
            let Some(table) = self.keys.table(&name) else { continue };
            let records = digests.iter().filter_map(|digest| Some((*digest, table.get(digest)?.to_vec())));
            keys.insert(&name, &records.collect())?;
        }
        Ok(plan.explain(&keys, now))
    }
}
