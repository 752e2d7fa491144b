//! Starting the whole, stopping and killing its parts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::envoy::Proxy;
use super::http1::{Connection, Response};
use super::ports::free_port;
use super::process::{Process, is_running, kill_and_wait};
use super::rest::Rest;
use super::upstream::{Arrived, TEST_ID_HEADER, Upstream};
use super::wait;
use crate::headers::Headers;
use crate::paths;

/// How long a start may take on a busy machine: Envoy compiles the filter first.
const START_LIMIT: Duration = Duration::from_secs(40);

/// What a stack is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Worker threads of Envoy.
    pub concurrency: u16,
    /// Another filter module.
    pub filter: Option<PathBuf>,
    /// How long a request waits for keys.
    pub wait_for_keys: Duration,
    /// Runs without a supervised Envoy.
    pub no_envoy: bool,
    /// More flags of `keyward serve`.
    pub flags: Vec<String>,
    /// Commands of `keyward` that are run on the data folder before the server starts for the first
    /// time, each as its words.
    pub before: Vec<Vec<String>>,
}

/// A running Keyward.
pub struct Stack {
    options: Options,
    folder: TempDir,
    data: TempDir,
    server: Option<Process>,
    upstream: Upstream,
    rest: SocketAddr,
    xds: SocketAddr,
    gateway: SocketAddr,
    gateway_tls: SocketAddr,
    admin: SocketAddr,
    snapshots: SocketAddr,
}

fn temporary(place: &Path) -> anyhow::Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("keyward-test-").tempdir_in(place)?)
}

fn loopback() -> anyhow::Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, free_port()?).into())
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 2,
            filter: None,
            wait_for_keys: Duration::from_secs(5),
            no_envoy: false,
            flags: Vec::new(),
            before: Vec::new(),
        }
    }
}

// === impl Stack ===

impl Stack {
    /// Starts everything, with the Upstream `test/echo`, and waits until the gateway answers.
    ///
    /// # Errors
    ///
    /// When something does not start in time; the message has the logs.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let folder = temporary(&std::env::temp_dir())?;
        // Every write is on the disk before it is acknowledged. On a disk that is busy with a build
        // that takes seconds, and none of the tests is about power cuts.
        let memory = Path::new("/dev/shm");
        let data = if memory.is_dir() { temporary(memory) } else { temporary(&std::env::temp_dir()) }?;
        let upstream = Upstream::start()?;
        let (rest, xds, gateway, admin) = (loopback()?, loopback()?, loopback()?, loopback()?);
        let (gateway_tls, snapshots) = (loopback()?, loopback()?);
        let server = None;
        let mut stack = Self {
            options,
            folder,
            data,
            server,
            upstream,
            rest,
            xds,
            gateway,
            gateway_tls,
            admin,
            snapshots,
        };
        for words in stack.options.before.clone() {
            stack.run(&words)?;
        }
        stack.start_server()?;
        stack.rest().apply(&stack.echo())?;
        if !stack.options.no_envoy {
            stack.wait_for_gateway().with_context(|| stack.logs())?;
        }
        Ok(stack)
    }

    /// Starts the control server, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it is not in time.
    pub fn start_server(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(paths::keyward()?);
        command
            .arg("serve")
            .arg("--data")
            .arg(self.data())
            .args(["--rest", &self.rest.to_string()])
            .args(["--xds", &self.xds.to_string()])
            .args(["--gateway", &self.gateway.to_string()])
            .args(["--gateway-tls", &self.gateway_tls.to_string()])
            .args(["--admin", &self.admin.to_string()])
            .args(["--snapshots", &self.snapshots.to_string()])
            .args(["--envoy-concurrency", &self.options.concurrency.to_string()])
            .args(["--wait-for-keys", &self.options.wait_for_keys.as_millis().to_string()])
            .args(["--log-level", "debug"])
            .args(&self.options.flags)
            .env_remove("LOG_LEVEL");
        if self.options.no_envoy {
            command.arg("--no-envoy");
        } else {
            command.arg("--envoy").arg(paths::envoy()?);
        }
        if let Some(filter) = &self.options.filter {
            command.arg("--filter").arg(filter);
        }
        self.server = Some(Process::start(&mut command, &self.folder.path().join("server.log"))?);
        let rest = self.rest();
        let ready = wait::until(START_LIMIT, "the control server to be ready", || {
            if let Some(status) = self.server_mut()?.ended()? {
                anyhow::bail!("the control server ended with {status}");
            }
            rest.ready()
        });
        ready.with_context(|| self.logs())
    }

    /// Runs a command of `keyward` on the data folder. What it says on standard output comes back.
    ///
    /// # Errors
    ///
    /// When it fails; the message has what it said.
    pub fn run(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> anyhow::Result<String> {
        let output = Command::new(paths::keyward()?)
            .args(words)
            .env("KEYWARD_DATA", self.data())
            .output()
            .context("keyward could not be run")?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        ensure!(output.status.success(), "{}: {}", output.status, said(&output.stderr));
        Ok(said(&output.stdout))
    }

    /// From its next start on, the control server uses this filter module, or its own.
    pub fn set_filter(&mut self, filter: Option<PathBuf>) {
        self.options.filter = filter;
    }

    /// From its next start on, the control server has these flags more, and none of those that it had.
    pub fn set_flags(&mut self, flags: Vec<String>) {
        self.options.flags = flags;
    }

    /// The control server.
    ///
    /// # Errors
    ///
    /// When it was killed and not started again.
    pub fn server_mut(&mut self) -> anyhow::Result<&mut Process> {
        self.server.as_mut().context("the control server does not run")
    }

    /// Kills the control server, and not its Envoy.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub fn kill_server(&mut self) -> anyhow::Result<()> {
        self.server_mut()?.kill()?;
        self.server = None;
        Ok(())
    }

    /// Process id of the supervised Envoy.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn envoy_pid(&self) -> anyhow::Result<i32> {
        let note = std::fs::read(self.data().join("envoy/envoy.json"))?;
        let note: Value = serde_json::from_slice(&note)?;
        Ok(i32::try_from(note["pid"].as_i64().context("no pid")?)?)
    }

    /// Kills the supervised Envoy.
    ///
    /// # Errors
    ///
    /// When it does not end.
    pub fn kill_envoy(&self) -> anyhow::Result<()> {
        kill_and_wait(self.envoy_pid()?)
    }

    /// Waits until the gateway answers at all.
    ///
    /// # Errors
    ///
    /// When it does not in time.
    pub fn wait_for_gateway(&self) -> anyhow::Result<()> {
        wait::until(START_LIMIT, "the gateway to answer", || {
            let headers = Headers::new().with("host", "nobody.invalid");
            let response = self.connect()?.request("GET", "/", &headers)?;
            ensure!(response.status == 404, "status {}", response.status);
            Ok(())
        })
    }

    /// The REST API.
    #[must_use]
    pub fn rest(&self) -> Rest {
        Rest::new(self.rest)
    }

    /// The Envoy.
    #[must_use]
    pub fn proxy(&self) -> Proxy {
        Proxy::behind(self.admin, &self.data.path().join("envoy/admin.sock"))
    }

    /// The upstream.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Address of the gateway.
    #[must_use]
    pub fn gateway(&self) -> SocketAddr {
        self.gateway
    }

    /// Address of xDS and the key stream.
    #[must_use]
    pub fn xds(&self) -> SocketAddr {
        self.xds
    }

    /// Address of the admin port of its Envoy.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Address of the snapshot port of the control server.
    #[must_use]
    pub fn snapshots(&self) -> SocketAddr {
        self.snapshots
    }

    /// The folder of this stack, with the log of the control server.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder of the control server.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.data.path().to_path_buf()
    }

    /// A connection to the gateway.
    ///
    /// # Errors
    ///
    /// When the gateway does not listen.
    pub fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(self.gateway)
    }

    /// A request over a connection: the answer, and what the upstream got, if it got it.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    pub fn send_over(
        &self,
        connection: &mut Connection,
        host: &str,
        path: &str,
        headers: &Headers,
        upstream: &Headers,
    ) -> anyhow::Result<(Response, Option<Arrived>)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        self.upstream.answer(&id, upstream);
        let mut all = Headers::new().with("Host", host).with(TEST_ID_HEADER, &id);
        for (name, value) in headers.iter() {
            all.add(name, value);
        }
        let response = connection.request("GET", path, &all);
        let arrived = self.upstream.take(&id);
        Ok((response?, arrived))
    }

    /// A request over a new connection.
    ///
    /// # Errors
    ///
    /// When no answer comes.
    pub fn send(
        &self,
        host: &str,
        path: &str,
        headers: &Headers,
    ) -> anyhow::Result<(Response, Option<Arrived>)> {
        self.send_over(&mut self.connect()?, host, path, headers, &Headers::new())
    }

    /// Everything that any process has logged.
    #[must_use]
    pub fn logs(&self) -> String {
        let files = [self.folder.path().join("server.log"), self.data().join("envoy/envoy.log")];
        let texts = files.iter().map(|file| {
            let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
            format!("--- {}\n{text}", file.display())
        });
        texts.collect()
    }

    fn echo(&self) -> Value {
        let address = self.upstream.address();
        json!({
            "apiVersion": "service.keyward.io/v1",
            "kind": "Upstream",
            "metadata": { "namespace": "test", "name": "echo" },
            "spec": {
                "static": { "hosts": [{ "addr": address.ip().to_string(), "port": address.port() }] },
            },
        })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The server first, so that it starts no other Envoy.
        self.server = None;
        if let Ok(pid) = self.envoy_pid() {
            let ours = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let folder = self.data.path().display().to_string();
            if String::from_utf8_lossy(&ours).contains(&folder) {
                let _ = kill_and_wait(pid);
                assert!(!is_running(pid) || std::thread::panicking(), "an Envoy is left: {pid}");
            }
        }
    }
}
