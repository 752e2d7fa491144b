//! `keyward debug bundle`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use http::{Method, Uri};
use jiff::Timestamp;
use serde_json::Value;

use super::{logs, objects, scrub};
use crate::check;
use crate::client::{Client, ClientError, Target, Text};
use crate::ended::Ended;
use crate::output::{Output, Table};
use crate::proxy::status;
use crate::remote::RemoteArgs;
use crate::save::{self, Existing, Part};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward debug bundle
  keyward debug bundle -f /tmp/keyward.zip
  keyward debug bundle --debug-port http://127.0.0.1:9091 \\
    --proxy-admin http://127.0.0.1:19000

Writes keyward-bundle-TIME.zip and prints its path. index.txt in it says what
each part is, and why one could not be had. There is no API key, no token and
no private key in it, and no value of a header that is added.

Exit codes: 0 everything is in it, 1 something could not be had, or nothing at
all.";

/// What is asked of the server: paths, what the answers are called, and what they are.
const SERVER: [Asked; 3] = [
    ("/keyward/v1/sync", "sync.json", "who holds which keys and policies"),
    ("/keyward/v1/proxies", "proxies.json", "how each proxy stands"),
    ("/version", "server-version.json", "the version of the server"),
];
/// The same on the snapshot port.
const SNAPSHOTS: [Asked; 5] = [
    ("/snapshots/input?pretty", "snapshots/input.json", "the objects as they were written"),
    ("/snapshots/edge?pretty", "snapshots/edge.json", "what translation made of each object"),
    ("/snapshots/proxies?pretty", "snapshots/proxies.json", "what each proxy is told, as Proxy objects"),
    ("/snapshots/xds?pretty", "snapshots/xds.json", "what each proxy is told as xDS, and what it made of it"),
    ("/snapshots/keys?pretty", "snapshots/keys.json", "the key tables, without keys, and who holds them"),
];
/// The same on the debug port.
const DEBUG: [Asked; 5] = [
    ("/metrics", "debug/metrics.txt", "metrics of the control server"),
    ("/logging", "debug/logging.json", "its log levels"),
    ("/debug/tasks?format=text", "debug/tasks.txt", "what it is doing"),
    ("/zpages/tracez?format=json&pretty", "debug/tracez.json", "what it did lately"),
    ("/zpages/rpcz?format=json&pretty", "debug/rpcz.json", "how often it was called"),
];
/// The same of the proxy's admin.
const PROXY: [Asked; 6] = [
    ("/config_dump?include_eds", "proxy/config_dump.json", "the configuration of the gateway proxy"),
    ("/stats", "proxy/stats.txt", "its statistics"),
    ("/clusters", "proxy/clusters.txt", "its upstreams"),
    ("/listeners", "proxy/listeners.txt", "its listeners"),
    ("/server_info", "proxy/server_info.json", "its version and its flags"),
    ("/certs", "proxy/certs.json", "its certificates"),
];
/// The list of all of them.
const INDEX: &str = "index.txt";

/// A path, what the answer is called, and what it is.
type Asked = (&'static str, &'static str, &'static str);

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
#[derive(Debug)]
struct Gathered {
    parts: Vec<Part>,
    index: Table,
    /// How many could not be had that should be there.
    lacking: usize,
}

/// A port beside that of the server.
struct Beside<'a> {
    url: Option<&'a str>,
    usual: u16,
    /// Why nobody may be there, where that is nothing wrong.
    closed: Option<&'static str>,
    asked: &'static [Asked],
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
    let configuration = objects::all(&remote, args.remote.named()).await;
    // Without the server there is nothing to gather.
    if let Err(error) = &configuration
        && let Some(ClientError::Nobody { .. }) = error.downcast_ref()
    {
        return configuration.map(drop);
    }
    gathered.take("configuration.yaml", "all objects", configuration);
    say("a check");
    let checked = check::report(args.remote.server()).await;
    gathered.take("check.txt", "what `keyward check` says", checked);
    let status = status::text(&remote, now).await;
    gathered.take("proxy-status.txt", "what `keyward proxy status` says", status);
    say("logs");
    for component in logs::COMPONENTS {
        let (name, about) = (format!("logs/{component}.log"), format!("the last lines of {component}"));
        match logs::fetch(&remote.client, component, false).await {
            Ok(Some(log)) => gathered.add(&name, &about, log),
            Ok(None) => gathered.passes(&name, &about, "the server runs no such component"),
            Err(error) => gathered.lacks(&name, &about, &format!("{error:#}")),
        }
    }
    say("what is served");
    for (path, name, about) in SERVER {
        gathered.ask(&remote.client, path, name, about, None).await;
    }
    let versions = versions(&gathered);
    gathered.add("versions.json", "the versions of the server and of this command", versions);
    for beside in args.beside() {
        say(beside.asked.first().map_or("more", |(_, name, _)| name));
        gathered.ask_all(&target, &beside).await;
    }
    let lacking = gathered.lacking;
    save::zip(&path, existing, &gathered.with_index())?;
    output.data(path.display())?;
    if lacking > 0 {
        output.note(format_args!("{lacking} parts could not be had; {INDEX} in it says which and why"));
        return Err(Ended::told(1));
    }
    Ok(())
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

// === impl BundleArgs ===

impl BundleArgs {
    fn beside(&self) -> [Beside<'_>; 3] {
        let unnamed = |url: &Option<String>, why| Some(why).filter(|_| url.is_none());
        [
            Beside { url: self.snapshots_port.as_deref(), usual: 9095, closed: None, asked: &SNAPSHOTS },
            Beside {
                url: self.debug_port.as_deref(),
                usual: 9091,
                closed: unnamed(&self.debug_port, "the debug port is closed: START_STATS_SERVER opens it"),
                asked: &DEBUG,
            },
            Beside {
                url: self.proxy_admin.as_deref(),
                usual: 19_000,
                closed: unnamed(&self.proxy_admin, "no proxy runs there: --proxy-admin names another one"),
                asked: &PROXY,
            },
        ]
    }
}

// === impl Gathered ===

impl Default for Gathered {
    fn default() -> Self {
        Self { parts: Vec::new(), index: Table::new(&["PART", "WHAT IT IS", "STATE"]), lacking: 0 }
    }
}

impl Gathered {
    /// Everything goes through here.
    fn add(&mut self, name: &str, about: &str, text: String) {
        let text = if Path::new(name).extension().is_some_and(|ending| ending == "json") {
            scrub::json(text)
        } else {
            text
        };
        self.parts.push((name.to_owned(), scrub::text(&text)));
        self.row(name, about, "here");
    }

    /// It should be there.
    fn lacks(&mut self, name: &str, about: &str, why: &str) {
        self.lacking += 1;
        self.row(name, about, &format!("could not be had: {why}"));
    }

    /// It is not there, and nothing is wrong with that.
    fn passes(&mut self, name: &str, about: &str, why: &str) {
        self.row(name, about, &format!("not here: {why}"));
    }

    fn row(&mut self, name: &str, about: &str, state: &str) {
        let state: Vec<&str> = state.split_whitespace().collect();
        self.index.row([name.to_owned(), about.to_owned(), scrub::text(&state.join(" "))]);
    }

    fn take(&mut self, name: &str, about: &str, text: anyhow::Result<String>) {
        match text {
            Ok(text) => self.add(name, about, text),
            Err(error) => self.lacks(name, about, &format!("{error:#}")),
        }
    }

    async fn ask_all(&mut self, target: &Target, beside: &Beside<'_>) {
        let client = port(target, beside.url, beside.usual);
        for (path, name, about) in beside.asked {
            match &client {
                Ok(client) => self.ask(client, path, name, about, beside.closed).await,
                Err(error) => self.lacks(name, about, &error.to_string()),
            }
        }
    }

    async fn ask(&mut self, client: &Client, path: &str, name: &str, about: &str, closed: Option<&str>) {
        match (client.text(Method::GET, path).await, closed) {
            (Ok(Text { status, body }), _) if status.is_success() => self.add(name, about, body),
            (Ok(Text { status, body }), _) => {
                self.lacks(name, about, &format!("{path} answers {status}: {body}"));
            }
            (Err(ClientError::Nobody { .. }), Some(why)) => self.passes(name, about, why),
            (Err(error), _) => self.lacks(name, about, &format!("{path}: {error}")),
        }
    }

    /// All of it, what it is first.
    fn with_index(self) -> Vec<Part> {
        let index = (INDEX.to_owned(), format!("{}\n", self.index));
        [index].into_iter().chain(self.parts).collect()
    }
}
