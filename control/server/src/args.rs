//! The flags of `keyward serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keyward_filter_core::config::DEFAULT_MAX_TABLE_BYTES;

/// When loggers of the proxy that write whole requests may do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeaderLogging {
    /// Never: they stay at info.
    Never,
    /// When they are asked for by name, at the port of --admin.
    Named,
    /// Whenever a level of all loggers says so.
    Always,
}

/// Runs the control server and, unless told not to, the Envoy that it supervises.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Folder of the store and of everything else that is kept; made when missing.
    #[arg(long, env = "KEYWARD_DATA", default_value = ".keyward", value_name = "DIR")]
    pub data: PathBuf,

    /// A folder of resources in YAML or JSON that is followed: what its files say is applied, and what
    /// leaves them is deleted.
    #[arg(long, env = "KEYWARD_RESOURCES", value_name = "DIR")]
    pub resources: Option<PathBuf>,

    /// Deletes all objects of --resources when no file there has any object. Without this they stay, as an
    /// empty folder is mostly one that is not mounted.
    #[arg(long, env = "KEYWARD_RESOURCES_MAY_BE_EMPTY", requires = "resources")]
    pub resources_may_be_empty: bool,

    /// Address of the REST resource API.
    #[arg(long, env = "KEYWARD_REST", default_value = "127.0.0.1:9080", value_name = "ADDR")]
    pub rest: SocketAddr,

    /// Address of the gRPC port: xDS (ADS) and the key stream.
    #[arg(long, env = "KEYWARD_XDS", default_value = "127.0.0.1:9977", value_name = "ADDR")]
    pub xds: SocketAddr,

    /// Address of the default Gateway, which exists unless a Gateway of the namespace of the installation
    /// is declared, or one with the same address.
    #[arg(long, env = "KEYWARD_GATEWAY", default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub gateway: SocketAddr,

    /// Address of the default Gateway with TLS, which exists when --gateway does. It is opened once a
    /// VirtualService has a certificate.
    #[arg(long, env = "KEYWARD_GATEWAY_TLS", default_value = "127.0.0.1:8443", value_name = "ADDR")]
    pub gateway_tls: SocketAddr,

    /// Address of the admin of the supervised Envoy: configuration dumps, log levels, statistics. Whoever may
    /// use the REST port with the role admin may use all of it. No gateway leads to it, nor to this port on
    /// proxies elsewhere.
    #[arg(long, env = "KEYWARD_ADMIN", default_value = "127.0.0.1:19000", value_name = "ADDR")]
    pub admin: SocketAddr,

    /// Refuses whatever changes anything on the port of --admin.
    #[arg(long, env = "KEYWARD_PROXY_ADMIN_READ_ONLY")]
    pub proxy_admin_read_only: bool,

    /// Opens the debug port: log levels and metrics of the control server.
    #[arg(long, env = "START_STATS_SERVER", value_parser = clap::builder::BoolishValueParser::new())]
    pub start_stats_server: bool,

    /// Address of the debug port.
    #[arg(long, env = "KEYWARD_STATS", default_value = "127.0.0.1:9091", value_name = "ADDR")]
    pub stats: SocketAddr,

    /// Address of the snapshot port: what the control server holds and serves, for those with the role admin.
    #[arg(long, env = "KEYWARD_SNAPSHOTS", default_value = "127.0.0.1:9095", value_name = "ADDR")]
    pub snapshots: SocketAddr,

    /// Shows the snapshots on the debug port too.
    #[arg(long, env = "ADMIN_HANDLERS_WITH_STATS", value_parser = clap::builder::BoolishValueParser::new())]
    pub admin_handlers_with_stats: bool,

    /// Address of the port for developers, which is open while the Settings say `devMode: true`. Deprecated:
    /// the snapshot port shows the same.
    #[arg(long, env = "KEYWARD_DEV_ADMIN", default_value = "127.0.0.1:10010", value_name = "ADDR")]
    pub dev_admin: SocketAddr,

    /// The Envoy to supervise [default: `.tools/bin/envoy`, else `envoy` on PATH].
    #[arg(long, env = "KEYWARD_ENVOY", value_name = "PATH", conflicts_with = "no_envoy")]
    pub envoy: Option<PathBuf>,

    /// Supervise no Envoy: proxies connect from elsewhere.
    #[arg(long, env = "KEYWARD_NO_ENVOY")]
    pub no_envoy: bool,

    /// Worker threads of the supervised Envoy.
    #[arg(long, env = "KEYWARD_ENVOY_CONCURRENCY", default_value_t = 2, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub envoy_concurrency: u16,

    /// Log level of the supervised Envoy.
    #[arg(long, env = "KEYWARD_PROXY_LOG_LEVEL", default_value = "warning", value_name = "LEVEL",
          value_parser = ["trace", "debug", "info", "warning", "error", "critical", "off"])]
    pub proxy_log_level: String,

    /// When those loggers of the supervised Envoy log at debug and trace that write whole requests there, API
    /// keys included. What they write is in the file of its log and nowhere else.
    #[arg(long, env = "KEYWARD_PROXY_HEADER_LOGGING", default_value = "named", value_name = "WHEN")]
    pub proxy_header_logging: HeaderLogging,

    /// A filter module (.wasm) to use instead of the one inside this binary.
    #[arg(long, env = "KEYWARD_FILTER", value_name = "PATH")]
    pub filter: Option<PathBuf>,

    /// How long a request waits for keys after a start before it gets 503, in milliseconds.
    #[arg(long, env = "KEYWARD_WAIT_FOR_KEYS", default_value_t = 5_000, value_name = "MS",
          value_parser = clap::value_parser!(u32).range(0..=60_000))]
    pub wait_for_keys: u32,

    /// What the key tables of one worker of a proxy may occupy, in bytes. A worker refuses what does not
    /// fit, keeps what it has, and `GET /keyward/v1/sync` says so.
    #[arg(long, env = "KEYWARD_MAX_TABLE_BYTES", default_value_t = DEFAULT_MAX_TABLE_BYTES, value_name = "BYTES",
          value_parser = clap::value_parser!(u32).range(16_384..=i64::from(DEFAULT_MAX_TABLE_BYTES)))]
    pub max_table_bytes: u32,

    /// The namespace of the installation.
    #[arg(long, env = "KEYWARD_SYSTEM_NAMESPACE", default_value = "keyward-system", value_name = "NAME",
          value_parser = namespace)]
    pub system_namespace: String,

    /// The folder, on the machines of proxies, of the certificates that `sslFiles` may name. Whoever may
    /// write Upstreams and VirtualServices chooses among everything below it. Without this flag, sslFiles
    /// are refused.
    #[arg(long, env = "KEYWARD_TLS_FILES", value_name = "DIR")]
    pub tls_files: Option<PathBuf>,

    /// Logs every request of every gateway that says nothing of its own, as JSON: to this file on the machine
    /// of the proxy, or to `stdout` or `stderr` of the proxy. There is never a key in it.
    #[arg(long, env = "KEYWARD_ACCESS_LOG", value_name = "PATH")]
    pub access_log: Option<PathBuf>,

    /// Shows on /metrics of the debug port how often keys of so many Secrets were used, of those that are used
    /// most. Their names are then seen by whoever may see metrics: every token that is of all namespaces.
    #[arg(long, env = "KEYWARD_USAGE_METRICS", default_value_t = 0, value_name = "N",
          value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub usage_metrics: u16,

    /// The folder, on the machines of proxies, below which Gateways may have access logs. Without this flag
    /// they may have them on /dev/stdout and /dev/stderr alone.
    #[arg(long, env = "KEYWARD_LOG_FILES", value_name = "DIR")]
    pub log_files: Option<PathBuf>,

    /// Serves REST over TLS with the certificate of the PKI folder, which is made when there is none.
    #[arg(long, env = "KEYWARD_TLS", conflicts_with_all = ["tls_cert", "tls_key"])]
    pub tls: bool,

    /// Serves REST over TLS with this certificate (PEM, with those between it and its authority); a
    /// new one is taken up without a restart.
    #[arg(long, env = "KEYWARD_TLS_CERT", value_name = "PATH", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert (PEM).
    #[arg(long, env = "KEYWARD_TLS_KEY", value_name = "PATH", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Demands a token of everybody on the REST port. Without this, who is on this machine needs
    /// none as long as there are none.
    #[arg(long, env = "KEYWARD_REQUIRE_TOKEN")]
    pub require_token: bool,

    /// Folder of the certificates that `keyward pki` makes [default: `pki` in the data folder].
    #[arg(long, env = "KEYWARD_PKI", value_name = "DIR")]
    pub pki: Option<PathBuf>,

    /// Demands certificates of proxies on the gRPC port also on loopback. Off loopback they are
    /// always demanded.
    #[arg(long, env = "KEYWARD_XDS_TLS")]
    pub xds_tls: bool,

    /// Opens REST, xDS, Envoy's admin and the debugging ports off loopback although neither TLS nor credentials protect
    /// them. Whoever reaches the REST port then reads every key.
    #[arg(long, env = "KEYWARD_INSECURE_BIND")]
    pub insecure_bind: bool,

    /// Log level: trace, debug, info, warn or error; or directives such as `info,keyward_server=debug`.
    #[arg(long, env = "LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub log_level: String,

    /// How log lines look.
    #[arg(long, env = "KEYWARD_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// Reads a namespace: an RFC 1123 label.
fn namespace(text: &str) -> Result<String, &'static str> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let right = (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    right
        .then(|| text.to_owned())
        .ok_or("a namespace has lower case letters, digits and '-' inside, at most 63")
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

// === impl HeaderLogging ===

impl From<HeaderLogging> for keyward_admin::proxy::HeaderLogging {
    fn from(when: HeaderLogging) -> Self {
        match when {
            HeaderLogging::Never => Self::Never,
            HeaderLogging::Named => Self::Named,
            HeaderLogging::Always => Self::Always,
        }
    }
}
