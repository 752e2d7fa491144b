//! What the control server holds and serves, as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use keyward_admin::snapshots::{Snapshot, Snapshots};
use keyward_admin::{Failure, Shown, redact, xds};
use keyward_api::Stored;
use keyward_filter_core::record::Record as KeyRecord;
use keyward_keys::{KeyView, Standing, Table, Worker};
use keyward_resource::{KINDS, Kind, Report, State};
use keyward_store::{Record, Selector, Store};
use keyward_translate::proxy::object::object;
use keyward_xds::{AdsService, Cache, ClientStatus, Source, printable};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::published::Published;
use crate::workers::WorkersHandle;

/// So many objects of a kind, and entries of a table, are shown; of Secrets and keys there may be a million.
const MANY: usize = 10_000;
/// So much is shown of what strangers say.
const MAX_WORDS: usize = 1024;
/// So many bytes of a digest are shown: enough to find a key that one knows, and no other way round.
const DIGEST_PREFIX: usize = 4;

/// Where it is all kept.
pub(crate) struct Views {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) published: watch::Receiver<Arc<Published>>,
    pub(crate) keys: watch::Receiver<KeyView>,
    pub(crate) xds: Cache,
    pub(crate) ads: AdsService,
    pub(crate) workers: WorkersHandle,
}

/// The last part of a type URL: `Listener`.
fn short(type_url: &str) -> String {
    let name = type_url.rsplit(['.', '/']).next().unwrap_or(type_url);
    printable(name, MAX_WORDS)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reported(report: &Report) -> Value {
    json!({ "state": report.state.as_str(), "reasons": report.reasons })
}

/// An object as people wrote it.
fn written(kind: &Kind, record: &Record) -> Value {
    let Ok(stored) = Stored::read(record) else {
        return json!({ "kind": kind.name, "metadata": { "namespace": record.key.namespace, "name": record.key.name },
                       "unreadable": format!("{} bytes", record.body.len()) });
    };
    let mut object = stored.object;
    object["kind"] = kind.name.into();
    object["metadata"]["resourceVersion"] = record.revision.0.to_string().into();
    if let Some(status) = stored.status {
        object["status"] = status;
    }
    redact::all(&mut object);
    object
}

fn table(table: &Table) -> Value {
    let entries = table.iter().take(MANY).map(|(digest, record)| {
        let identity =
            KeyRecord::parse(record).map(|record| String::from_utf8_lossy(record.identity()).into_owned());
        let prefix = digest.get(..DIGEST_PREFIX).unwrap_or_default();
        json!({ "digest": hex(prefix), "identity": identity.unwrap_or_default() })
    });
    json!({
        "revision": table.version().revision,
        "checksum": format!("{:016x}", table.version().checksum),
        "keys": table.len(),
        "entries": entries.collect::<Vec<_>>(),
    })
}

fn worker(worker: &Worker) -> Value {
    let words = |text: &str| printable(text, MAX_WORDS);
    let held: Map<String, Value> = worker
        .held
        .iter()
        .map(|(table, held)| {
            let (revision, incomplete) = (held.version.revision, held.less.is_some());
            let version =
                json!({ "revision": revision, "acknowledged": held.acknowledged, "incomplete": incomplete });
            (words(table), version)
        })
        .collect();
    let refused: Map<String, Value> = worker
        .refused
        .iter()
        .map(|(table, refusal)| {
            (words(table), json!({ "reason": words(&refusal.reason), "times": refusal.times }))
        })
        .collect();
    json!({
        "node": words(&worker.node),
        "role": words(&worker.role),
        "worker": words(&worker.worker),
        "build": words(&worker.build),
        "configVersion": format!("{:016x}", worker.config_version),
        "held": held,
        "refused": refused,
    })
}

fn client(client: &ClientStatus) -> Value {
    let types: Map<String, Value> = client
        .types
        .iter()
        .map(|of| {
            let rejected = of.rejected.iter().map(|refused| {
                json!({ "name": printable(&refused.name, MAX_WORDS), "version": &*refused.version,
                        "message": crate::control::words(&refused.message) })
            });
            let status = json!({
                "sent": of.sent.as_deref(), "acked": of.acked.as_deref(), "unanswered": of.unanswered,
                "waiting": of.waiting, "held": of.held, "inSync": of.in_sync(),
                "rejected": rejected.collect::<Vec<_>>(),
            });
            (short(&of.type_url), status)
        })
        .collect();
    let since = client.since.and_then(|since| jiff::Timestamp::try_from(since).ok());
    json!({
        "node": &*client.client.node_id,
        "role": printable(&client.client.node_key, MAX_WORDS),
        "since": since.map(|since| since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        "snapshot": client.snapshot.as_deref(),
        "source": match client.source {
            Source::Own => "own",
            Source::Fallback => "fallback",
            Source::Nothing => "nothing",
        },
        "inSync": client.in_sync(),
        "types": types,
    })
}

fn told(snapshot: &keyward_xds::Snapshot) -> Value {
    let resources: Map<String, Value> = snapshot
        .type_urls()
        .map(|type_url| {
            let of_type = snapshot.resources(type_url).map(|resource| {
                json!({ "name": &**resource.name(), "version": &**resource.version(),
                        "resource": xds::resource(type_url, resource.body()) })
            });
            (short(type_url), of_type.collect())
        })
        .collect();
    json!({ "version": snapshot.version(), "resources": resources })
}

/// The key tables that a worker should hold and does not.
fn lacks<'a>(standing: &'a Standing<'_>) -> impl Iterator<Item = Value> + 'a {
    let Standing { worker, missing, .. } = standing;
    missing.iter().map(|missing| {
        json!({
            "node": printable(&worker.node, MAX_WORDS), "worker": printable(&worker.worker, MAX_WORDS),
            "table": missing.table, "held": missing.held.map(|held| held.revision), "wanted": missing.wanted.revision,
        })
    })
}

// === impl Views ===

impl Views {
    fn published(&self) -> Result<(String, Arc<Published>), Failure> {
        let published = self.published.borrow().clone();
        match published.revision {
            Some(revision) => Ok((format!("ok, revision {revision}"), published)),
            None => Err(Failure::Unavailable("the resources have not been translated yet".to_owned())),
        }
    }

    async fn input(&self) -> Result<Shown, Failure> {
        let mut data = Map::new();
        let mut status = None;
        let mut cut = Vec::new();
        for kind in KINDS {
            let page = self.store.list(Selector::kind(kind.name), None, Some(MANY)).await;
            let page = page.map_err(|error| {
                tracing::error!("the store could not be read: {:#}", anyhow::Error::new(error));
                Failure::Internal(
                    "the store cannot be read; the log of the control server says why".to_owned(),
                )
            })?;
            status.get_or_insert_with(|| format!("ok, revision {}", page.revision));
            if page.more {
                cut.push(format!("the first {MANY} of kind {}", kind.name));
            }
            data.insert(
                kind.name.to_owned(),
                page.records.iter().map(|record| written(kind, record)).collect(),
            );
        }
        let status = [status.unwrap_or_default()].into_iter().chain(cut).collect::<Vec<_>>().join(", ");
        Ok(Shown { status, data: data.into() })
    }

    fn edge(&self) -> Result<Shown, Failure> {
        let (status, published) = self.published()?;
        let mut kinds: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (object, version) in &published.versions {
            let report = published.report(object, version.content);
            let report = report.unwrap_or(Report { state: State::Pending, reasons: Vec::new() });
            let proxies = published.proxies_of(object);
            let proxies: Map<String, Value> =
                proxies.iter().map(|(proxy, report)| (proxy.clone(), reported(report))).collect();
            kinds.entry(object.kind).or_default().push(json!({
                "namespace": object.namespace,
                "name": object.name,
                "resourceVersion": version.content.0.to_string(),
                "generation": version.generation,
                "state": report.state.as_str(),
                "reasons": report.reasons,
                "refusedByProxy": published.refused.contains(object),
                "proxies": proxies,
            }));
        }
        Ok(Shown { status, data: json!(kinds) })
    }

    fn proxies(&self) -> Result<Shown, Failure> {
        let (status, published) = self.published()?;
        let proxies =
            published.told.iter().filter_map(|(role, proxy)| Some((role.clone(), object(role, proxy)?)));
        Ok(Shown { status, data: proxies.collect::<Map<_, _>>().into() })
    }

    fn xds(&self) -> Result<Shown, Failure> {
        let (status, _) = self.published()?;
        let roles = self.xds.keys();
        let roles = roles.iter().filter_map(|role| Some((role.to_string(), told(&self.xds.get(role)?))));
        let roles: Map<String, Value> = roles.collect();
        let mut clients = self.ads.clients();
        clients.sort_by(|one, other| (&one.client, one.stream).cmp(&(&other.client, other.stream)));
        let clients: Vec<Value> = clients.iter().map(client).collect();
        Ok(Shown { status, data: json!({ "roles": roles, "clients": clients }) })
    }

    fn keys(&self) -> Result<Shown, Failure> {
        self.published()?;
        let view = self.keys.borrow().clone();
        let tables: Map<String, Value> =
            view.tables().map(|(name, of)| (name.to_owned(), table(of))).collect();
        let cut = view.tables().filter(|(_, table)| table.len() > MANY).count();
        let (workers, behind) = self.workers.read(|workers, now| {
            let mut all: Vec<_> = workers.standings(now).collect();
            all.sort_by_key(|standing| (&standing.worker.node, &standing.worker.worker));
            let behind: Vec<Value> = all.iter().flat_map(lacks).collect();
            (all.iter().map(|standing| worker(standing.worker)).collect::<Vec<_>>(), behind)
        });
        let mut status = format!("ok, revision {}", view.revision());
        if cut > 0 {
            status.push_str(&format!(", the first {MANY} entries of {cut} tables"));
        }
        Ok(Shown { status, data: json!({ "tables": tables, "workers": workers, "behind": behind }) })
    }
}

impl Snapshots for Views {
    fn take(&self, which: Snapshot) -> BoxFuture<'_, Result<Shown, Failure>> {
        Box::pin(async move {
            match which {
                Snapshot::Input => self.input().await,
                Snapshot::Edge => self.edge(),
                Snapshot::Proxies => self.proxies(),
                Snapshot::Xds => self.xds(),
                Snapshot::Keys => self.keys(),
            }
        })
    }

    fn roles(&self) -> Vec<String> {
        self.xds.keys().iter().map(ToString::to_string).collect()
    }

    fn xds_of(&self, role: &str) -> Result<Shown, Failure> {
        let (status, _) = self.published()?;
        match self.xds.get(role) {
            Some(snapshot) => Ok(Shown { status, data: told(&snapshot) }),
            None => {
                let role = printable(role, MAX_WORDS);
                Err(Failure::NotFound(format!(
                    "nothing is told to proxies of the role {role:?}; /xds lists the roles"
                )))
            }
        }
    }
}
