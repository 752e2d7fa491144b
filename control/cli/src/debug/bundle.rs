//! `keyward debug bundle`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use http::{Method, Uri};
use jiff::Timestamp;
use serde_json::Value;

use super::{logs, objects, scrub};
use crate::client::{Client, ClientError, Target, Text};
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::save::{self, Existing, Part};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward debug bundle
  keyward debug bundle -f /tmp/keyward.zip
  keyward debug bundle --debug-port http://127.0.0.1:9091 --proxy-admin http://127.0.0.1:19000

Writes keyward-bundle-TIME.zip and prints its path. In it: configuration.yaml, logs/, sync.json (who holds what),
snapshots/ (what is served), debug/ (metrics, log levels, tasks, spans and calls, where the debug port is open),
proxy/ (configuration, statistics, clusters and listeners of the gateway proxy), versions.json, and missing.txt,
which says what could not be had. There is no API key, no token and no private key in it.";

/// What is asked on the snapshot port.
const SNAPSHOTS: [&str; 5] = ["input", "edge", "proxies", "xds", "keys"];
/// What is asked on the debug port, and what the answer is called.
const DEBUG: [(&str, &str); 5] = [
    ("/metrics", "debug/metrics.txt"),
    ("/logging", "debug/logging.json"),
    ("/debug/tasks?format=text", "debug/tasks.txt"),
    ("/zpages/tracez?format=json&pretty", "debug/tracez.json"),
    ("/zpages/rpcz?format=json&pretty", "debug/rpcz.json"),
];
/// What is asked of the proxy's admin, and what the answer is called.
const PROXY: [(&str, &str); 6] = [
    ("/config_dump?include_eds", "proxy/config_dump.json"),
    ("/stats", "proxy/stats.txt"),
    ("/clusters", "proxy/clusters.txt"),
    ("/listeners", "proxy/listeners.txt"),
    ("/server_info", "proxy/server_info.json"),
    ("/certs", "proxy/certs.json"),
];

/// What is gathered from where.
#[derive(Debug, Clone, Args)]
pub struct BundleArgs {
    /// The file to write [default: keyward-bundle-TIME.zip here].
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// URL of the snapshot port [default: port 9095 of the server].
    #[arg(long, env = "KEYWARD_SNAPSHOTS_URL", value_name = "URL")]
    snapshots_port: Option<String>,

    /// URL of the debug port [default: port 9091 of the server].
    #[arg(long, env = "KEYWARD_DEBUG_URL", value_name = "URL")]
    debug_port: Option<String>,

    /// URL of the gateway proxy's admin [default: port 19000 of the server].
    #[arg(long, env = "KEYWARD_PROXY_ADMIN", value_name = "URL")]
    proxy_admin: Option<String>,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What was gathered, and what could not be.
#[derive(Debug, Default)]
struct Gathered {
    parts: Vec<Part>,
    missing: Vec<String>,
}

pub(super) async fn run(args: &BundleArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let (path, existing) = match &args.file {
        Some(file) => (file.clone(), Existing::Replaced),
        None => (Path::new(".").join(save::name("bundle", now)), Existing::Kept),
    };
    let shows_progress = std::io::stderr().is_terminal();
    let mut say = |what: &str| {
        if shows_progress {
            output.note(format_args!("gathering {what}"));
        }
    };
    let target = args.remote.target()?;
    let remote = args.remote.connect()?;
    let mut gathered = Gathered::default();

    say("the configuration");
    // Without the server there is nothing to gather.
    let configuration = objects::all(&remote, None).await?;
    gathered.add("configuration.yaml", configuration);
    say("logs");
    for component in logs::COMPONENTS {
        match logs::fetch(&remote.client, component, false).await {
            Ok(Some(log)) => gathered.add(&format!("logs/{component}.log"), log),
            Ok(None) => gathered.lacks(&format!("logs/{component}.log"), "the server runs no such component"),
            Err(error) => gathered.lacks(&format!("logs/{component}.log"), &format!("{error:#}")),
        }
    }
    say("what is served");
    for (path, name) in [("/keyward/v1/sync", "sync.json"), ("/version", "server-version.json")] {
        gathered.ask(&remote.client, path, name).await;
    }
    gathered.add("versions.json", versions(&gathered));
    match port(&target, args.snapshots_port.as_deref(), 9095) {
        Ok(client) => {
            for which in SNAPSHOTS {
                let path = format!("/snapshots/{which}?pretty");
                gathered.ask(&client, &path, &format!("snapshots/{which}.json")).await;
            }
        }
        Err(error) => gathered.lacks("snapshots", &error.to_string()),
    }
    say("the debug port and the proxy");
    for (what, url, usual, asked) in [
        ("debug", &args.debug_port, 9091, DEBUG.as_slice()),
        ("proxy", &args.proxy_admin, 19_000, PROXY.as_slice()),
    ] {
        match port(&target, url.as_deref(), usual) {
            Ok(client) => {
                for (path, name) in asked {
                    gathered.ask(&client, path, name).await;
                }
            }
            Err(error) => gathered.lacks(what, &error.to_string()),
        }
    }
    let missing = gathered.missing.clone();
    gathered.add("missing.txt", missing.iter().map(|line| format!("{line}\n")).collect());
    save::zip(&path, existing, &gathered.parts)?;
    if !missing.is_empty() {
        output.note(format_args!(
            "{} parts could not be had; missing.txt in it says which and why",
            missing.len()
        ));
    }
    output.data(path.display())
}

/// Another port of the installation: that with this URL, else the usual one of the server's host.
fn port(target: &Target, url: Option<&str>, usual: u16) -> Result<Client, ClientError> {
    let beside = || {
        let server: Uri = target.server.parse().ok()?;
        Some(format!("{}://{}:{usual}", server.scheme_str()?, server.host()?))
    };
    let url = url.map(str::to_owned).or_else(beside).unwrap_or_else(|| format!("http://127.0.0.1:{usual}"));
    Client::new(&target.beside(&url)?)
}

/// Our own version, and what the server says of its.
fn versions(gathered: &Gathered) -> String {
    let server = gathered.parts.iter().find(|(name, _)| name == "server-version.json");
    let server: Value = server.and_then(|(_, text)| serde_json::from_str(text).ok()).unwrap_or_default();
    format!("{:#}\n", serde_json::json!({ "client": env!("CARGO_PKG_VERSION"), "server": server }))
}

// === impl Gathered ===

impl Gathered {
    /// Everything goes through here.
    fn add(&mut self, name: &str, text: String) {
        self.parts.push((name.to_owned(), scrub::text(&text)));
    }

    fn lacks(&mut self, name: &str, why: &str) {
        let why: Vec<&str> = why.split_whitespace().collect();
        self.missing.push(scrub::text(&format!("{name}: {}", why.join(" "))));
    }

    async fn ask(&mut self, client: &Client, path: &str, name: &str) {
        match client.text(Method::GET, path).await {
            Ok(Text { status, body }) if status.is_success() => self.add(name, body),
            Ok(Text { status, body }) => self.lacks(name, &format!("{path} answers {status}: {body}")),
            Err(error) => self.lacks(name, &format!("{path}: {error}")),
        }
    }
}
