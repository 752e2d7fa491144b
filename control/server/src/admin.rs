//! The debugging ports: what [`keyward_admin`] shows, from here.
//!
//! They are guarded as REST is: by the same tokens, over TLS where REST is, and only by names of this
//! machine on its loopback addresses.

mod dev;
mod snapshots;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use keyward_access::{Action, Rules, TokenFile, authorize};
use keyward_admin::debug::{Debug, Logging, Observed};
use keyward_admin::proxy::{Manner, ProxyAdmin};
use keyward_admin::snapshots::Snapshots;
use keyward_admin::{Gate, Need, Refusal, Who};
use keyward_resource::ApiStatus;
use keyward_tls::{TlsConfig, TlsListener};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::access::{self, Gatekeeper, Port};
use crate::args::ServeArgs;
use crate::exposure::AdminRules;
use crate::metrics::Metrics;
use crate::ports::{listen, serve_http};
use crate::profiles::Profilers;
use crate::published::Published;
use crate::rest::{self, HostGuard};
use crate::spans::Spans;
use crate::tasks::{Known, Tasks};

pub(crate) use snapshots::Views;

/// The ports that are open from the start.
pub(crate) struct Listeners {
    debug: Option<TcpListener>,
    snapshots: TcpListener,
    proxy: Option<TcpListener>,
}

/// What the ports need.
pub(crate) struct Surfaces {
    pub(crate) logging: Arc<dyn Logging>,
    pub(crate) metrics: Metrics,
    pub(crate) tasks: Known,
    pub(crate) spans: Spans,
    pub(crate) snapshots: Arc<dyn Snapshots>,
    /// The admin of the supervised Envoy, if there is one.
    pub(crate) proxy: Option<Arc<dyn ProxyAdmin>>,
    pub(crate) published: watch::Receiver<Arc<Published>>,
    /// Where it is said why the port for developers is not open.
    pub(crate) dev_mode_problem: watch::Sender<Option<String>>,
    pub(crate) rules: AdminRules,
    pub(crate) tls: Option<TlsConfig>,
}

/// Opens the ports.
///
/// # Errors
///
/// When one is taken.
pub(crate) async fn open(args: &ServeArgs) -> anyhow::Result<Listeners> {
    let debug = match args.start_stats_server {
        true => Some(listen(args.stats, "the debug port", "--stats").await?),
        false => None,
    };
    let snapshots = listen(args.snapshots, "the snapshot port", "--snapshots").await?;
    Ok(Listeners { debug, snapshots, proxy: None })
}

// === impl Listeners ===

impl Listeners {
    /// Opens the port of the proxy's admin: once no Envoy of before holds it.
    ///
    /// # Errors
    ///
    /// When it is taken.
    pub(crate) async fn open_proxy(&mut self, args: &ServeArgs) -> anyhow::Result<()> {
        self.proxy = Some(listen(args.admin, "the admin of the gateway proxy", "--admin").await?);
        Ok(())
    }
}

/// A gate with these rules, and what stands around every router behind it.
struct Guarded {
    gatekeeper: Gatekeeper,
    host: HostGuard,
}

// === impl Guarded ===

impl Guarded {
    fn new(rules: Rules, args: &ServeArgs, address: SocketAddr) -> Self {
        let gatekeeper = Gatekeeper::new(rules, TokenFile::new(&args.data));
        Self { gatekeeper, host: HostGuard::of(address) }
    }

    fn gate(&self) -> Arc<dyn Gate> {
        Arc::new(self.gatekeeper.clone())
    }

    fn around(&self, router: Router) -> Router {
        access::guarded(rest::guarded(router, self.host), &self.gatekeeper, Port::Debug)
    }
}

// === impl Gatekeeper ===

impl Gate for Gatekeeper {
    fn admit(&self, need: Need, headers: &HeaderMap, peer: Option<SocketAddr>) -> Result<Who, Refusal> {
        let action = match need {
            Need::Look => Action::Look,
            Need::Operate => Action::Operate,
        };
        let permit = self.identify(headers, peer).and_then(|identity| authorize(identity, &action));
        permit.map(|permit| Who(permit.identity().to_string())).map_err(refusal)
    }
}

/// What may be done with the admin of the supervised Envoy.
pub(crate) fn manner(args: &ServeArgs) -> Manner {
    Manner { read_only: args.proxy_admin_read_only, header_logging: args.proxy_header_logging.into() }
}

fn refusal(ApiStatus { code, message, .. }: ApiStatus) -> Refusal {
    Refusal { code: StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), message }
}

// === impl Surfaces ===

impl Surfaces {
    /// Serves everything until cancelled.
    ///
    /// # Errors
    ///
    /// When a listener cannot be used.
    pub(crate) fn serve(
        self,
        args: &ServeArgs,
        listeners: Listeners,
        tasks: &mut Tasks,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let Self {
            logging,
            metrics,
            tasks: known,
            spans,
            snapshots,
            proxy,
            published,
            dev_mode_problem,
            rules,
            tls,
        } = self;
        if let (Some(listener), Some(proxy)) = (listeners.proxy, proxy) {
            let guarded = Guarded::new(rules.proxy, args, args.admin);
            let router = guarded.around(keyward_admin::proxy::router(proxy, guarded.gate(), manner(args)));
            let what = "admin of the gateway proxy";
            tasks.spawn(what, serve_any(what, listener, tls.clone(), router, stop.clone()));
        }
        if let Some(listener) = listeners.debug {
            let guarded = Guarded::new(rules.stats, args, args.stats);
            let with_snapshots = args.admin_handlers_with_stats.then(|| Arc::clone(&snapshots));
            let debug = Debug {
                logging,
                metrics: Arc::new(metrics),
                profiles: Arc::new(Profilers),
                tasks: Arc::new(known),
                observed: Observed { recent: spans.recent, calls: spans.calls },
                snapshots: with_snapshots,
            };
            let router = guarded.around(keyward_admin::debug::router(&debug, &guarded.gate()));
            tracing::info!(address = %args.stats, "the debug port is open");
            tasks.spawn("debug port", serve_any("debug port", listener, tls.clone(), router, stop.clone()));
        }
        let guarded = Guarded::new(rules.snapshots, args, args.snapshots);
        let router = guarded.around(keyward_admin::snapshots::router(&snapshots, &guarded.gate()));
        let what = "snapshot port";
        tasks.spawn(what, serve_any(what, listeners.snapshots, tls.clone(), router, stop.clone()));

        let guarded = Guarded::new(rules.dev_admin, args, args.dev_admin);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let successor = format!("{scheme}://{}/", args.snapshots);
        let router = guarded.around(keyward_admin::dev::router(&snapshots, &guarded.gate(), &successor));
        let port = dev::Port { address: args.dev_admin, successor, tls, router };
        tasks.spawn("dev-mode port", port.follow(published, dev_mode_problem, stop.clone()));
        Ok(())
    }
}

/// Serves plain or over TLS.
async fn serve_any(
    what: &'static str,
    listener: TcpListener,
    tls: Option<TlsConfig>,
    router: Router,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    match tls {
        Some(config) => serve_http(what, TlsListener::new(listener, config)?, router, stop).await,
        None => serve_http(what, listener, router, stop).await,
    }
}
