//! `keyward serve`: everything started in order, watched, and stopped in order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use jiff::Timestamp;
use keyward_access::TokenFile;
use keyward_admin::proxy::{Loggers, ProxyAdmin};
use keyward_api::{Origin, Writer};
use keyward_bootstrap::{Admin, BootstrapOptions, CONTROL_CLUSTER};
use keyward_folder::Folder as ResourceFolder;
use keyward_keys::KeyView;
use keyward_pki::{Folder, ProxyRole};
use keyward_resource::kinds::upstream::CircuitBreakers;
use keyward_store::{OpenError, SqliteStore, Store, UsageFile};
use keyward_tls::TlsListener;
use keyward_translate::{OwnPort, OwnService, Routing, Settings};
use keyward_xds::AdsService;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::service::LayerExt as _;

use crate::access::{self, AuditLog, Gatekeeper};
use crate::access_log;
use crate::admin::{self, Surfaces, Views};
use crate::args::{HeaderLogging, ServeArgs};
use crate::compaction;
use crate::control::{ControlLoop, Outlets};
use crate::edge::{Admission, KeyStream};
use crate::envoy::{self, AdminSocket, Identity, LogLevels, Supervisor, SupervisorOptions};
use crate::exposure;
use crate::filter::Filter;
use crate::logging::LogControl;
use crate::logs::Ring;
use crate::metrics::{CountingSink, MeasuredStore, Metrics, Sources, counted, follow_uses};
use crate::ports::{listen, reachable, serve_grpc, serve_http};
use crate::proxies;
use crate::published::Published;
use crate::rest::{self, HostGuard, LogReader, Own, Served, Sync, Uses};
use crate::review::Reviewer;
use crate::spans::{metered_grpc, traced};
use crate::statuses::StatusWriter;
use crate::tasks::Tasks;
use crate::tls_files;
use crate::usage::Usage;
use crate::workers::WorkersHandle;

/// The proxy that is served when nothing else is said.
const PROXY: &str = "gateway-proxy";
/// The identity header until Settings can name another.
const IDENTITY_HEADER: &str = keyward_filter_core::config::DEFAULT_IDENTITY_HEADER;
/// xDS events that may wait for the control loop.
const XDS_EVENTS: usize = 1024;
/// How soon a proxy that is gone without a word is noticed.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The Envoy that is about to be run.
struct Supervised {
    supervisor: Supervisor,
    admin: AdminSocket,
    identity: Option<Identity>,
}

/// Runs the control server until it is told to stop by SIGINT, SIGTERM or SIGHUP, or until a part of
/// it fails. `filter` is the filter module that is used unless the arguments name another, and
/// `logs` is where the log levels are changed.
///
/// Told to stop, it stops its Envoy as well. After a failure Envoy is left running: it serves on
/// with what it holds, and the next control server adopts it.
///
/// # Errors
///
/// When something cannot be started, or when a part of the server fails.
pub async fn serve(args: ServeArgs, filter: Bytes, logs: LogControl) -> anyhow::Result<()> {
    let exporter = logs.spans().exporter()?;
    let outcome = run(args, filter, logs).await;
    if let Some(exporter) = exporter {
        exporter.finish().await;
    }
    outcome
}

async fn run(args: ServeArgs, filter: Bytes, logs: LogControl) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let signals = signals()?;
    let mut tasks = start(&args, filter, logs, &stop).await?;
    tokio::select! {
        signal = signals => tracing::info!("stopping ({signal})"),
        Some(ended) = tasks.join_next() => {
            let outcome = ended.context("a part of the server failed")?;
            return outcome.and_then(|()| bail!("a part of the server ended unexpectedly"));
        }
    }
    stop.cancel();
    let mut outcome = Ok(());
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended.context("a part of the server failed").and_then(|outcome| outcome) {
            tracing::error!("while stopping: {error:#}");
            outcome = Err(error);
        }
    }
    tracing::info!("stopped");
    outcome
}

/// Starts every part: the ports first, so that a taken one stops everything before it began.
async fn start(
    args: &ServeArgs,
    filter: Bytes,
    logs: LogControl,
    stop: &CancellationToken,
) -> anyhow::Result<Tasks> {
    let tokens = TokenFile::new(&args.data);
    let exposure = exposure::decide(args, has_tokens(&tokens)?)?;
    let tls_files = tls_files::folder(args)?;
    let pki = Folder::new(&exposure::pki_path(args));
    if exposure.make_authority {
        exposure::make_authority(&pki)?;
    }
    let rest_tls = exposure.rest.map(|files| exposure::open_tls("REST", files)).transpose()?;
    let grpc_tls = exposure.xds.map(|files| exposure::open_tls("xDS", files)).transpose()?;
    let admission = if grpc_tls.is_some() { Admission::Certified } else { Admission::Anybody };
    let rest = listen(args.rest, "the REST API", "--rest").await?;
    let grpc = listen(args.xds, "xDS and the key stream", "--xds").await?;
    let mut admin_ports = admin::open(args).await?;
    let resources = args.resources.as_deref().map(open_resources).transpose()?;
    let resources = resources.map(|folder| folder.that_may_be_empty(args.resources_may_be_empty));
    let envoy = if args.no_envoy { None } else { Some(find_envoy(args)?) };
    let filter = match &args.filter {
        Some(path) => std::fs::read(path)
            .with_context(|| format!("the filter module {} could not be read", path.display()))?
            .into(),
        None => filter,
    };
    let metrics = Metrics::default();
    let spans = logs.spans();
    let store: Arc<dyn Store> = Arc::new(MeasuredStore::new(open_store(args).await?, metrics.clone()));
    // Now that nobody else serves from this folder: an Envoy of before may hold a port.
    let certified = grpc_tls.is_some();
    let supervised = match envoy {
        Some(envoy) => {
            let supervised = Supervised::take_over(args, envoy, pki, certified, logs.logs().proxy).await?;
            admin_ports.open_proxy(args).await?;
            Some(supervised)
        }
        None => None,
    };
    let writer =
        Writer::new(store.clone(), Arc::new(AuditLog), args.system_namespace.as_str(), Origin::SYSTEM);
    writer
        .prepare()
        .await
        .map_err(|failure| anyhow!("the namespaces cannot be made: {}", failure.message))?;

    let (keys, key_view) = watch::channel(KeyView::default());
    let (published, reports) = watch::channel(Arc::new(Published::default()));
    let (reviewer, questions) = Reviewer::new(store.clone(), reports.clone());
    let writer = writer.reviewed_by(Arc::new(reviewer));
    let (xds_sink, xds_events) = mpsc::channel(XDS_EVENTS);
    let (dev_mode_problem, notices) = watch::channel(None);
    let xds = keyward_xds::Cache::new();
    let settings = Settings {
        system_namespace: args.system_namespace.clone(),
        identity_header: IDENTITY_HEADER.to_owned(),
        wait_for_keys_ms: args.wait_for_keys,
        preflight_needs_key: false,
        usage_report_ms: keyward_filter_core::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: args.max_table_bytes,
        default_gateway: args.gateway,
        default_tls_gateway: args.gateway_tls,
        one_way_tls: false,
        tls_files,
        log_files: access_log::folder(args)?,
        access_log: access_log::path(args)?,
        watch_namespaces: BTreeSet::new(),
        control_cluster: CONTROL_CLUSTER.to_owned(),
        own_ports: own_ports(args, grpc_tls.is_some()),
        circuit_breakers: CircuitBreakers::default(),
        routing: Routing::default(),
    };
    let ads = AdsService::builder(xds.clone(), role_of)
        .admission(move |node, transport| admission.admit(&role_of(node), transport))
        .events(CountingSink::new(metrics.clone(), xds_sink))
        .clock(SystemTime::now)
        .build();
    let workers = WorkersHandle::new();
    let outlets = Outlets { keys, xds: xds.clone(), ads: ads.clone(), workers: workers.clone(), published };
    let control = ControlLoop::new(store.clone(), settings, Filter::new(filter), outlets)
        .noticing(notices)
        .measured_by(metrics.clone());
    metrics.read_from(Sources {
        published: reports.clone(),
        keys: key_view.clone(),
        xds: xds.clone(),
        ads: ads.clone(),
        workers: workers.clone(),
    });
    let views = Views {
        store: store.clone(),
        published: reports.clone(),
        keys: key_view.clone(),
        xds: xds.clone(),
        ads: ads.clone(),
        workers: workers.clone(),
    };

    let mut tasks = Tasks::new();
    tasks.spawn("control loop", control.run(xds_events, questions, stop.clone()));
    tasks.spawn("compaction", compaction::run(store.clone(), stop.clone()));
    if let Some(folder) = resources {
        tasks.spawn_sure("resource folder", folder.follow(writer.clone(), store.clone(), stop.clone()));
    }

    for config in rest_tls.iter().chain(&grpc_tls) {
        let (config, stop) = (config.clone(), stop.clone());
        tasks.spawn_sure("certificates of a port", async move { config.follow(stop).await });
    }
    let sync =
        Sync { workers: workers.clone(), ads: ads.clone(), store: store.clone(), published: reports.clone() };
    let usage = open_usage(args)?;
    let key_stream =
        KeyStream::new(key_view.clone(), workers, admission).reporting_to(usage.clone(), reports.clone());
    let key_stream = key_stream.measured_by(metrics.clone());
    tasks.spawn("uses of keys", usage.clone().run(reports.clone(), stop.clone()));
    if args.usage_metrics > 0 {
        let (shown, stop) = (usize::from(args.usage_metrics), stop.clone());
        let follow = follow_uses(metrics.clone(), usage.clone(), reports.clone(), shown, stop);
        tasks.spawn("metrics of uses", follow);
    }
    let uses = Uses { usage, published: reports.clone() };
    let router = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .add_service(metered_grpc(&spans.calls).named_layer(ads.into_server()))
        .add_service(metered_grpc(&spans.calls).named_layer(key_stream));
    tasks.spawn("gRPC port", serve_grpc(router, grpc, grpc_tls, stop.clone()));

    let statuses = StatusWriter::new(store.clone(), writer.clone(), &args.system_namespace, reports.clone());
    tasks.spawn("statuses", statuses.run(stop.clone()));
    tasks.spawn("proxies", proxies::follow(writer.clone(), reports.clone(), stop.clone()));

    let last_lines = logs.logs();
    let levels = supervised.as_ref().map(|supervised| {
        let loggers = Loggers::new(Arc::new(supervised.admin.clone()), admin::manner(args));
        LogLevels::new(loggers, &args.data.join("envoy"))
    });
    let surfaces = Surfaces {
        logging: Arc::new(logs),
        metrics: metrics.clone(),
        tasks: tasks.known(),
        spans: spans.clone(),
        snapshots: Arc::new(views),
        proxy: supervised
            .as_ref()
            .map(|supervised| Arc::new(supervised.admin.clone()) as Arc<dyn ProxyAdmin>),
        published: reports.clone(),
        dev_mode_problem,
        rules: exposure.admin,
        tls: rest_tls.clone(),
    };
    surfaces.serve(args, admin_ports, &mut tasks, stop)?;

    let guard = HostGuard::of(args.rest);
    let gatekeeper = Gatekeeper::new(exposure.rules, tokens);
    let authorizer = Arc::new(gatekeeper.clone());
    let own = Own {
        sync,
        uses,
        keys: key_view,
        served: Served { xds, gate: authorizer.clone() },
        logs: LogReader {
            logs: last_lines,
            levels: levels.clone(),
            gate: authorizer.clone(),
            stop: stop.clone(),
        },
    };
    let api = rest::router(writer, authorizer, reports, &args.system_namespace, guard, own);
    let api = traced(access::guarded(api, &gatekeeper, access::Port::Rest), &spans.calls);
    let api = counted(api, &metrics);
    match rest_tls {
        Some(config) => {
            let listener = TlsListener::new(rest, config)?;
            tasks.spawn("REST port", serve_http("REST port", listener, api, stop.clone()));
        }
        None => tasks.spawn("REST port", serve_http("REST port", rest, api, stop.clone())),
    }

    if let Some(Supervised { supervisor, identity, .. }) = supervised {
        if let Some(identity) = identity {
            tasks.spawn("certificate of the proxy", identity.keep(stop.clone()));
        }
        tasks.spawn("supervised Envoy", supervisor.run(stop.clone()));
        if let Some(levels) = levels {
            tokio::spawn(async move { levels.recover().await });
        }
    }
    tracing::info!(rest = %args.rest, xds = %args.xds, data = %args.data.display(), "keyward serves");
    Ok(tasks)
}

// === impl Supervised ===

impl Supervised {
    /// Prepares everything, and takes over the Envoy of before.
    async fn take_over(
        args: &ServeArgs,
        envoy: PathBuf,
        pki: Folder,
        certified: bool,
        log: Ring,
    ) -> anyhow::Result<Self> {
        let folder = args.data.join("envoy");
        let identity = certified.then(|| local_identity(args, pki, &folder)).transpose()?;
        let certificates = identity.as_ref().map(Identity::folder).transpose()?;
        let admin = AdminSocket::of(&folder)?;
        let supervisor = Supervisor::new(SupervisorOptions {
            envoy,
            folder,
            concurrency: args.envoy_concurrency,
            log_level: args.proxy_log_level.clone(),
            header_logging: args.proxy_header_logging == HeaderLogging::Always,
            log,
            bootstrap: BootstrapOptions {
                node_id: PROXY.to_owned(),
                role: format!("{}~{PROXY}", args.system_namespace),
                control: reachable(args.xds).into(),
                admin: Admin::Socket(admin.path()?),
                certificates,
            },
        })?;
        Ok(Self { supervisor: supervisor.take_over().await?, admin, identity })
    }
}

/// What no gateway may lead to. Envoys elsewhere have their admin on the same port, unless somebody chose
/// another for them.
fn own_ports(args: &ServeArgs, certified: bool) -> Vec<OwnPort> {
    let mut ports = vec![
        OwnPort { address: args.rest, service: OwnService::Rest },
        OwnPort { address: args.xds, service: OwnService::Xds { certified } },
        OwnPort { address: args.admin, service: OwnService::Admin },
        OwnPort { address: args.snapshots, service: OwnService::Snapshots },
        OwnPort { address: args.dev_admin, service: OwnService::DevMode },
    ];
    if args.start_stats_server {
        ports.push(OwnPort { address: args.stats, service: OwnService::Debug });
    }
    ports
}

fn has_tokens(tokens: &TokenFile) -> anyhow::Result<bool> {
    Ok(!tokens.book().context("the tokens could not be read")?.records().is_empty())
}

fn local_identity(args: &ServeArgs, pki: Folder, folder: &Path) -> anyhow::Result<Identity> {
    let role = ProxyRole::new(&args.system_namespace, PROXY)?;
    Identity::new(pki, folder.join("certificates"), role, envoy::LIFETIME, Timestamp::now())
}

async fn open_store(args: &ServeArgs) -> anyhow::Result<SqliteStore> {
    let opened = SqliteStore::open(args.data.join("keyward.db")).await;
    opened.map_err(|error| not_opened("the store", error))
}

/// Beside the store, so whoever has that has this.
fn open_usage(args: &ServeArgs) -> anyhow::Result<Usage> {
    let opened = UsageFile::open(&args.data.join("usage.db"));
    let file = opened.map_err(|error| not_opened("the file of which keys are used", error))?;
    Usage::new(file).context("the file of which keys are used could not be read")
}

fn not_opened(what: &str, error: OpenError) -> anyhow::Error {
    let hint = format!("{what} could not be opened\nhint: {}", error.hint());
    anyhow::Error::new(error).context(hint)
}

fn open_resources(path: &Path) -> anyhow::Result<ResourceFolder> {
    ResourceFolder::open(path).context(
        "there are no resources to follow\nhint: check --resources (or KEYWARD_RESOURCES); make the folder, \
         even if it is empty",
    )
}

fn find_envoy(args: &ServeArgs) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.envoy {
        if !path.is_file() {
            bail!("there is no Envoy at {}\nhint: check --envoy (or KEYWARD_ENVOY)", path.display());
        }
        return Ok(path.clone());
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(PathBuf::from(".tools/bin"))
        .chain(std::env::split_paths(&on_path))
        .map(|folder| folder.join("envoy"))
        .find(|candidate| candidate.is_file())
        .context("no Envoy was found\nhint: name it with --envoy PATH, or say --no-envoy when proxies run elsewhere")
}

/// The key under which a proxy's configuration is published: its role.
fn role_of(node: &envoy_types::pb::envoy::config::core::v3::Node) -> String {
    keyward_xds::node::metadata_string(node, "role").unwrap_or_default().to_owned()
}

/// Resolves at the first SIGINT, SIGTERM or SIGHUP. A SIGINT after that ends the process at once.
fn signals() -> anyhow::Result<impl Future<Output = &'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be handled")?;
    let mut hangup = signal(SignalKind::hangup()).context("SIGHUP cannot be handled")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be handled")?;
    Ok(async move {
        let name = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
            _ = hangup.recv() => "SIGHUP",
        };
        // Only people are impatient: whose parent dies thread by thread is sent SIGTERM for each of them.
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(130);
        });
        name
    })
}
