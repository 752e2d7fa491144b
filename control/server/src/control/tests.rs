//! The loop over a store in memory, with objects that come in as everywhere. Proxies take part where a test has some.

use keyward_api::{
    AuditLog, Origin, Part, Preconditions, StatusWrite, Stored, Target, WriteOptions, Writer, Written,
};
use keyward_resource::{ApiStatus, kind};
use keyward_store::{Key, MemoryStore, Record};
use keyward_translate::Routing;
use serde_json::{Value, json};

use super::*;
use crate::review::Reviewer;
use crate::statuses::StatusWriter;

mod following;
mod restart;
mod tenure;

const PATIENCE: Duration = Duration::from_secs(20);

/// A running loop, what writes statuses of what it says, and the way in.
struct World {
    store: Arc<dyn Store>,
    writer: Writer,
    keys: watch::Receiver<KeyView>,
    published: watch::Receiver<Arc<Published>>,
    ads: keyward_xds::AdsService,
    workers: WorkersHandle,
    stop: CancellationToken,
}

fn settings() -> Settings {
    Settings {
        system_namespace: "keyward-system".to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 0,
        preflight_needs_key: false,
        usage_report_ms: keyward_filter_core::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: keyward_filter_core::config::DEFAULT_MAX_TABLE_BYTES,
        default_gateway: ([127, 0, 0, 1], 8080).into(),
        default_tls_gateway: ([127, 0, 0, 1], 8443).into(),
        one_way_tls: false,
        tls_files: None,
        log_files: None,
        access_log: None,
        watch_namespaces: BTreeSet::new(),
        control_cluster: "control".to_owned(),
        own_ports: Vec::new(),
        circuit_breakers: keyward_resource::kinds::upstream::CircuitBreakers::default(),
        routing: Routing::default(),
    }
}

fn options() -> WriteOptions {
    WriteOptions::internal("test")
}

fn target(kind: &str, namespace: &str, name: &str) -> Target {
    let kind = kind::by_name(kind).expect("a kind");
    let namespace = kind.is_namespaced().then(|| namespace.to_owned());
    Target { kind, asked: kind.group_version, namespace, name: Some(name.to_owned()), part: Part::Main }
}

fn site(domain: &str) -> Value {
    json!({ "spec": { "virtualHost": { "domains": [domain], "routes": [{
        "matchers": [{ "prefix": "/" }],
        "routeAction": { "single": { "upstream": { "name": "echo", "namespace": "team" } } },
    }] } } })
}

fn echo() -> Value {
    json!({ "spec": { "static": { "hosts": [{ "addr": "192.0.2.1", "port": 80 }] } } })
}

fn key_secret(key: &str) -> Value {
    json!({
        "type": "extauth.keyward.io/apikey",
        "metadata": { "labels": { "team": "x" } },
        "stringData": { "api-key": key },
    })
}

fn installation(spec: Value) -> Value {
    json!({ "spec": spec })
}

// === impl World ===

impl World {
    async fn start() -> Self {
        Self::over(Arc::new(MemoryStore::new())).await
    }

    /// A loop over what there is already.
    async fn over(store: Arc<dyn Store>) -> Self {
        let (published, reports) = watch::channel(Arc::new(Published::default()));
        let (keys, key_view) = watch::channel(KeyView::default());
        let (reviewer, questions) = Reviewer::new(store.clone(), reports.clone());
        let writer = Writer::new(store.clone(), Arc::new(AuditLog), "keyward-system", Origin::SYSTEM)
            .reviewed_by(Arc::new(reviewer));
        writer.prepare().await.expect("the store is readable");
        let xds = keyward_xds::Cache::new();
        let role = |node: &_| keyward_xds::node::metadata_string(node, "role").unwrap_or_default().to_owned();
        let (events, xds_events) = mpsc::channel(1024);
        let ads = keyward_xds::AdsService::builder(xds.clone(), role).events(events).build();
        // Nobody was there before.
        let workers = WorkersHandle::settled();
        let outlets = Outlets { keys, xds, ads: ads.clone(), workers: workers.clone(), published };
        let filter = Filter::new(Vec::new().into());
        let mut control = ControlLoop::new(store.clone(), settings(), filter, outlets);
        control.in_force = InForce::settled();
        let stop = CancellationToken::new();
        tokio::spawn(control.run(xds_events, questions, stop.clone()));
        let statuses = StatusWriter::new(store.clone(), writer.clone(), "keyward-system", reports.clone());
        tokio::spawn(statuses.run(stop.clone()));
        Self { store, writer, keys: key_view, published: reports, ads, workers, stop }
    }

    async fn create(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        mut object: Value,
    ) -> Result<Written, ApiStatus> {
        let target = Target { name: None, ..target(kind, namespace, name) };
        object["metadata"]["name"] = name.into();
        self.writer.create(&target, object, &options()).await
    }

    async fn update(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        mut object: Value,
    ) -> Result<Written, ApiStatus> {
        object["metadata"]["name"] = name.into();
        self.writer.update(&target(kind, namespace, name), object, &options()).await
    }

    async fn delete(&self, kind: &str, namespace: &str, name: &str) -> Result<Written, ApiStatus> {
        let target = target(kind, namespace, name);
        self.writer.delete(&target, &Preconditions::default(), &options()).await
    }

    /// Waits until the stored status of an object is as it should be, and answers with the record.
    async fn status(&self, key: &Key, right: impl Fn(&Value) -> bool) -> Record {
        let mut changes = self.store.watch(Revision(0)).await.expect("a watch from the beginning");
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let record = self.store.get(key.clone()).await.expect("the store works").expect("a record");
                let status = Stored::read(&record).ok().and_then(|stored| stored.status);
                if status.is_some_and(|status| right(&status)) {
                    return record;
                }
                changes.next().await.expect("the store goes on").expect("changes");
            }
        });
        found.await.unwrap_or_else(|_| panic!("{key} never had the right status"))
    }

    /// Waits until a table accepts so many keys.
    async fn keys(&mut self, table: &str, count: usize) {
        let holds = |view: &KeyView| view.table(table).map(keyward_keys::Table::len) == Some(count);
        let seen = tokio::time::timeout(PATIENCE, self.keys.wait_for(holds)).await;
        seen.unwrap_or_else(|_| panic!("{table} never had {count} keys")).expect("the loop runs");
    }

    /// Waits until the Settings are in effect, as far as reviews go.
    async fn reviews(&mut self, demanded: bool) {
        let wait = self.published.wait_for(|published| published.reviews == Some(demanded));
        tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
    }

    /// Has changes reviewed as these options say.
    async fn strict(&mut self, validation: Value) {
        let spec = json!({ "gateway": { "validation": validation } });
        self.create("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
        self.reviews(true).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// That a change was refused, and what was said of whom.
fn refusal(outcome: Result<Written, ApiStatus>) -> String {
    let status = outcome.expect_err("it is refused");
    assert_eq!((status.code, status.reason), (403, "Forbidden"), "{}", status.message);
    status.message
}

/// Nobody would know what to wait for.
#[tokio::test]
async fn what_is_pending_says_why() {
    let mut world = World::start().await;
    world.create("VirtualService", "away", "site", site("example.com")).await.expect("a VirtualService");
    world.create("Proxy", "keyward-system", "edge", json!({ "spec": {} })).await.expect("a Proxy");
    let spec = json!({ "watchNamespaces": ["team"] });
    world.create("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
    for (kind, namespace, name, why) in [
        ("VirtualService", "away", "site", "its namespace is not watched"),
        ("Proxy", "keyward-system", "edge", "no proxy is connected whose role"),
    ] {
        let object = ObjectKey::new(kind, namespace, name);
        let says = |published: &Arc<Published>| {
            let report = published.reports.get(&object);
            report.is_some_and(|report| {
                report.state == State::Pending && report.reasons.iter().any(|reason| reason.contains(why))
            })
        };
        let wait = world.published.wait_for(says);
        tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
    }
}

/// Whoever waits for a verdict gets one, also where nobody refers to the object.
#[tokio::test]
async fn options_that_nobody_uses_have_a_verdict() {
    let mut world = World::start().await;
    let mut user = site("example.com");
    user["spec"]["virtualHost"]["optionsConfigRefs"] = json!({ "delegateOptions": [{ "name": "shared" }] });
    let fine = json!({ "spec": { "options": { "retries": { "retryOn": "5xx" } } } });
    let odd = json!({ "spec": { "options": { "retries": { "retryOn": "nonsense,5xx" } } } });
    world.create("VirtualHostOption", "team", "shared", fine.clone()).await.expect("options");
    world.create("VirtualService", "team", "site", user).await.expect("a VirtualService");
    world.create("RouteOption", "team", "unused", fine).await.expect("options");
    world.create("RouteOption", "team", "odd", odd).await.expect("options");
    world.delete("VirtualService", "team", "site").await.expect("the last user goes");
    let gone = ObjectKey::new("VirtualService", "team", "site");
    let wait = world.published.wait_for(|published| !published.versions.contains_key(&gone));
    tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
    for (kind, name, state) in [
        ("VirtualHostOption", "shared", State::Accepted),
        ("RouteOption", "unused", State::Accepted),
        ("RouteOption", "odd", State::Warning),
    ] {
        let object = ObjectKey::new(kind, "team", name);
        let says = |published: &Arc<Published>| {
            published.reports.get(&object).is_some_and(|report| report.state == state)
        };
        let wait = world.published.wait_for(says);
        tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
    }
}

/// A group is no better than where it leads to, and follows it.
#[tokio::test]
async fn a_group_tells_which_of_its_destinations_is_missing() {
    let mut world = World::start().await;
    let to = json!({ "destination": { "upstream": { "name": "echo" } }, "weight": 1 });
    let group = json!({ "spec": { "destinations": [to] } });
    world.create("UpstreamGroup", "team", "group", group).await.expect("a group");
    for (step, state) in [State::Warning, State::Accepted, State::Warning].into_iter().enumerate() {
        let there = state == State::Accepted;
        match step {
            0 => {}
            1 => drop(world.create("Upstream", "team", "echo", echo()).await.expect("an Upstream")),
            _ => drop(world.delete("Upstream", "team", "echo").await.expect("it goes")),
        }
        let object = ObjectKey::new("UpstreamGroup", "team", "group");
        let says = |published: &Arc<Published>| {
            published.reports.get(&object).is_some_and(|report| {
                let names = report.reasons.iter().any(|reason| reason.contains("Upstream team/echo"));
                report.state == state && names != there
            })
        };
        let wait = world.published.wait_for(says);
        tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
    }
}

#[tokio::test]
async fn keys_of_a_namespace_count_while_it_is_watched() {
    let mut world = World::start().await;
    let auth = json!({ "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "x" } } }] } });
    world.create("AuthConfig", "team", "keys", auth).await.expect("an AuthConfig");
    for (namespace, key) in [("team", "key-one-1"), ("other", "key-two-2"), ("keyward-system", "key-three-3")]
    {
        world.create("Secret", namespace, "ann", key_secret(key)).await.expect("a Secret");
    }
    world.keys("team/keys", 3).await;

    let spec = json!({ "watchNamespaces": ["team"] });
    world.create("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
    // Those of the installation count always.
    world.keys("team/keys", 2).await;
    let report = |name: &str| {
        let published = world.published.borrow().clone();
        published.report(&ObjectKey::new("Secret", name, "ann"), Revision(1)).expect("a report")
    };
    assert_eq!(report("other").state, State::Warning);
    assert_eq!(report("team").state, State::Accepted);

    let spec = json!({ "watchNamespaces": ["team", "other"] });
    world.update("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
    world.keys("team/keys", 3).await;
}

#[tokio::test]
async fn nothing_is_refused_unless_the_settings_demand_it() {
    let mut world = World::start().await;
    world.reviews(false).await;
    world.create("VirtualService", "team", "one", site("a.test")).await.expect("a site");
    world.create("VirtualService", "team", "two", site("a.test")).await.expect("a rejected site");
}

#[tokio::test]
async fn what_would_be_rejected_is_refused_with_the_reasons() {
    let mut world = World::start().await;
    world.create("Upstream", "team", "echo", echo()).await.expect("an upstream");
    world.create("VirtualService", "team", "one", site("a.test")).await.expect("a site");
    world.strict(json!({ "alwaysAccept": false })).await;

    let why = refusal(world.create("VirtualService", "team", "two", site("a.test")).await);
    assert!(why.contains("VirtualService team/two would be Rejected: domain \"a.test\""), "{why}");
    let dry = WriteOptions { dry_run: true, ..options() };
    let mut object = site("a.test");
    object["metadata"]["name"] = "two".into();
    let collection = Target { name: None, ..target("VirtualService", "team", "two") };
    assert_eq!(refusal(world.writer.create(&collection, object, &dry).await), why);

    world.create("VirtualService", "team", "two", site("b.test")).await.expect("another domain");
    let why = refusal(world.update("VirtualService", "team", "two", site("a.test")).await);
    assert!(why.contains("VirtualService team/two would be Rejected"), "{why}");
    // A warning is none of that: the upstream may go, and come later than who uses it.
    world.delete("Upstream", "team", "echo").await.expect("a deletion");
    // What is right in itself and everything that mends it can be written.
    world.delete("VirtualService", "team", "one").await.expect("a deletion");
    world.update("VirtualService", "team", "two", site("a.test")).await.expect("the domain is free");
}

#[tokio::test]
async fn what_is_rejected_already_may_be_mended_step_by_step() {
    let mut world = World::start().await;
    for (name, domain) in [("one", "a.test"), ("two", "a.test"), ("three", "b.test")] {
        world.create("VirtualService", "team", name, site(domain)).await.expect("a site");
    }
    world.strict(json!({ "alwaysAccept": false })).await;
    // Rejected before and after.
    world.update("VirtualService", "team", "two", site("A.test")).await.expect("no worse than before");
    // The older one does not get what the younger one has.
    world.update("VirtualService", "team", "two", site("b.test")).await.expect("no worse than before");
    world.update("VirtualService", "team", "two", site("c.test")).await.expect("mended");
    let why = refusal(world.update("VirtualService", "team", "two", site("b.test")).await);
    assert!(why.contains("VirtualService team/two would be"), "{why}");
    assert!(!why.contains("team/three would"), "{why}");

    // Nobody can lock themselves out.
    let spec = json!({ "gateway": { "validation": { "alwaysAccept": true } } });
    world.update("Settings", "keyward-system", "default", installation(spec)).await.expect("Settings");
    world.reviews(false).await;
    world.update("VirtualService", "team", "two", site("b.test")).await.expect("stored and rejected");
}

#[tokio::test]
async fn warnings_are_refused_where_they_are_not_allowed() {
    let mut world = World::start().await;
    world.create("Upstream", "team", "echo", echo()).await.expect("an upstream");
    world.create("VirtualService", "web", "one", site("a.test")).await.expect("a site");
    world.strict(json!({ "alwaysAccept": false, "allowWarnings": false })).await;
    for outcome in [
        world.delete("Upstream", "team", "echo").await,
        // With all that is in it.
        world.delete("Namespace", "", "team").await,
    ] {
        let why = refusal(outcome);
        assert!(why.contains("VirtualService web/one would be Warning"), "{why}");
    }
    world.delete("Namespace", "", "web").await.expect("who needs it goes with its namespace");
    world.delete("Namespace", "", "team").await.expect("nobody needs it");
}

#[tokio::test]
async fn a_certificate_that_is_in_use_stays() {
    let mut world = World::start().await;
    world.strict(json!({ "alwaysAccept": false })).await;
    let mut secure = site("a.test");
    secure["spec"]["sslConfig"] = json!({ "secretRef": { "name": "tls", "namespace": "team" } });
    let why = refusal(world.create("VirtualService", "team", "one", secure.clone()).await);
    assert!(why.contains("Secret team/tls is not found"), "{why}");

    let pair = json!({
        "type": "kubernetes.io/tls",
        "stringData": {
            "tls.crt": include_str!("../../../../testdata/tls/client.crt"),
            "tls.key": include_str!("../../../../testdata/tls/client.key"),
        },
    });
    world.create("Secret", "team", "tls", pair).await.expect("a Secret");
    world.create("VirtualService", "team", "one", secure).await.expect("a site with TLS");
    let why = refusal(world.delete("Secret", "team", "tls").await);
    assert!(why.contains("VirtualService team/one would be Rejected"), "{why}");
    world.delete("VirtualService", "team", "one").await.expect("a deletion");
    world.delete("Secret", "team", "tls").await.expect("nobody needs it");
}

#[tokio::test]
async fn a_key_can_always_be_revoked() {
    let mut world = World::start().await;
    let refs = json!([{ "name": "ann", "namespace": "team" }]);
    let auth = json!({ "spec": { "configs": [{ "apiKeyAuth": { "apiKeySecretRefs": refs } }] } });
    world.create("AuthConfig", "team", "keys", auth).await.expect("an AuthConfig");
    world.create("Secret", "team", "ann", key_secret("key-one-1")).await.expect("a Secret");
    world.strict(json!({ "alwaysAccept": false, "allowWarnings": false })).await;
    world.delete("Secret", "team", "ann").await.expect("a key that nobody may have");
    world.keys("team/keys", 0).await;
}

#[tokio::test]
async fn a_status_that_somebody_else_wrote_does_not_stay() {
    let world = World::start().await;
    world.create("Upstream", "team", "echo", echo()).await.expect("an upstream");
    let key = Key::new("Upstream", "team", "echo");
    let is_accepted = |status: &Value| status["state"] == "Accepted";
    let mut right = world.status(&key, is_accepted).await;
    for lie in [json!({ "state": "Rejected" }), json!({}), json!({ "state": "Accepted", "more": 1 })] {
        let written = world.writer.write_status(&key, right.revision, lie).await.expect("the store works");
        let StatusWrite::Written(record) = written else { panic!("{written:?}") };
        right = world.status(&key, |status| is_accepted(status) && status.get("more").is_none()).await;
        assert!(right.revision > record.revision, "{right:?}");
    }
    // Its own words are nobody else's: it falls silent.
    world.create("Upstream", "team", "last", echo()).await.expect("an upstream");
    let last = world.status(&Key::new("Upstream", "team", "last"), is_accepted).await;
    let now = world.store.get(key).await.expect("the store works").expect("a record");
    assert!(now == right && last.revision > right.revision, "{now:?}");
}

#[test]
fn the_words_of_a_proxy_are_one_line_without_anything_secret() {
    for (said, told) in [
        (" bad route \n", "bad route"),
        ("a\nERROR b\r\u{1b}[31m", "a\\nERROR b\\r\\u{1b}[31m"),
        ("no key: -----BEGIN PRIVATE KEY-----\nabc", "no key:..."),
    ] {
        assert_eq!(report::words(said), told);
    }
    assert!(report::words(&"\n".repeat(1_000_000)).len() <= 1024);
}
