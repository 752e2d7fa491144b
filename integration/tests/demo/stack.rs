//! A stack of its own for each test: its own ports, its own data folder, stopped at the end.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use keyward_integration::paths;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

/// The public key of the quickstart objects.
pub(super) const DEMO_KEY: &str = "6f1c2d7e-0b3a-4c58-9e41-7d2a90b5c3f8";

/// Longer than `up` waits for the gateway and `down` for its processes.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// Where everything listens.
pub(super) struct Ports {
    pub(super) gateway: u16,
    rest: u16,
    xds: u16,
    admin: u16,
    snapshots: u16,
    upstream: u16,
}

/// A stack, running or not.
pub(super) struct Stack {
    pub(super) ports: Ports,
    folder: TempDir,
    keyward: PathBuf,
}

/// What a command left.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    stdout: String,
    pub(super) stderr: String,
}

/// A running `up`.
pub(super) struct Foreground {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// Runs a line as a shell does, without the progress that curl shows where stdout is no terminal.
pub(super) async fn paste(line: &str) -> anyhow::Result<String> {
    let quiet = line.replacen("curl ", "curl -sS ", 1);
    let output = Command::new("sh").args(["-c", &quiet]).kill_on_drop(true).output();
    let output = timeout(PATIENCE, output).await.context("curl does not end")??;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Ports that were free a moment ago, all at once so that they differ.
pub(super) fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

// === impl Stack ===

impl Stack {
    pub(super) fn new() -> anyhow::Result<Self> {
        let [gateway, rest, xds, admin, snapshots, upstream] = free_ports()?;
        Ok(Self {
            ports: Ports { gateway, rest, xds, admin, snapshots, upstream },
            folder: tempfile::tempdir()?,
            keyward: paths::keyward()?,
        })
    }

    pub(super) fn change_upstream_port(&mut self) -> anyhow::Result<()> {
        [self.ports.upstream] = free_ports()?;
        Ok(())
    }

    pub(super) fn change_gateway_port(&mut self) -> anyhow::Result<()> {
        [self.ports.gateway] = free_ports()?;
        Ok(())
    }

    fn command(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let data = self.folder.path().canonicalize()?;
        let mut command = Command::new(&self.keyward);
        command
            .arg("demo")
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KEYWARD_DATA", data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if !arguments.contains(&"--envoy") {
            command.env("KEYWARD_ENVOY", paths::envoy()?);
        }
        self.set_ports(&mut command);
        Ok(command)
    }

    /// Tells a command where everything listens.
    pub(super) fn set_ports(&self, command: &mut Command) {
        for (name, port) in [
            ("GATEWAY", self.ports.gateway),
            ("REST", self.ports.rest),
            ("XDS", self.ports.xds),
            ("ADMIN", self.ports.admin),
            ("SNAPSHOTS", self.ports.snapshots),
            ("UPSTREAM", self.ports.upstream),
        ] {
            command.env(format!("KEYWARD_{name}_PORT"), port.to_string());
        }
    }

    /// A line of the documentation with the ports of this stack.
    pub(super) fn with_ports(&self, line: &str) -> String {
        [
            (8080, self.ports.gateway),
            (9080, self.ports.rest),
            (9095, self.ports.snapshots),
            (19000, self.ports.admin),
        ]
        .into_iter()
        .fold(line.to_owned(), |line, (usual, ours)| {
            line.replace(&format!("127.0.0.1:{usual}"), &format!("127.0.0.1:{ours}"))
        })
    }

    /// The folder that the data folder is in, and its name there.
    pub(super) fn data(&self) -> anyhow::Result<(PathBuf, PathBuf)> {
        let data = self.folder.path().canonicalize()?;
        let name = data.file_name().context("the data folder has no name")?;
        Ok((data.parent().context("the data folder is the root")?.to_path_buf(), PathBuf::from(name)))
    }

    /// Runs a `keyward demo` command to its end.
    pub(super) async fn demo(&self, arguments: &[&str]) -> anyhow::Result<Finished> {
        let output = self.command(arguments)?.output();
        let output =
            timeout(PATIENCE, output).await.with_context(|| format!("{arguments:?} does not end"))??;
        Ok(Finished {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Starts `up` and waits until it says that all is ready.
    pub(super) async fn foreground(&self) -> anyhow::Result<Foreground> {
        let mut child = self.command(&["up"])?.spawn()?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut foreground = Foreground { child, stdout };
        let ready = timeout(PATIENCE, async {
            let mut line = String::new();
            while foreground.stdout.read_line(&mut line).await? > 0 {
                if line.contains("Ctrl-C stops everything") {
                    return anyhow::Ok(());
                }
            }
            bail!("`up` ended: {line}")
        });
        ready.await.context("`up` does not get ready")??;
        Ok(foreground)
    }

    /// The processes of this stack, whoever their parent is.
    pub(super) fn processes(&self) -> Vec<i32> {
        let Ok(data) = self.folder.path().canonicalize() else { return Vec::new() };
        let mark = format!("KEYWARD_DEMO_STACK={}", data.display());
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
            })
            .collect()
    }

    pub(super) async fn until_no_process(&self, patience: Duration) {
        let begin = Instant::now();
        while !self.processes().is_empty() && begin.elapsed() < patience {
            sleep(POLL).await;
        }
        assert_eq!(self.processes(), [0; 0], "after {patience:?}");
    }

    /// Signals the process of the stack whose first argument this is.
    pub(super) fn signal(&self, command: &str, signal: Signal) -> anyhow::Result<i32> {
        let runs = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(command.as_bytes())
        };
        let pid = self.processes().into_iter().find(runs).with_context(|| format!("no {command} runs"))?;
        kill_process(Pid::from_raw(pid).context("pid 0")?, signal)?;
        Ok(pid)
    }

    /// Kills the process of the stack that runs this command of keyward, and waits until it is gone.
    pub(super) fn kill(&self, command: &str) -> anyhow::Result<()> {
        let pid = self.signal(command, Signal::KILL)?;
        let begin = Instant::now();
        while self.processes().contains(&pid) {
            ensure!(begin.elapsed() < PATIENCE, "{command} does not end");
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    pub(super) async fn post(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}{path}", self.ports.rest);
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let answer = client.post(url).json(object).send().await?;
        ensure!(answer.status().is_success(), "{}", answer.status());
        Ok(())
    }

    /// Waits until the gateway lets a key in as this user.
    pub(super) async fn until_user(&self, key: &str, user: &str) -> anyhow::Result<()> {
        let url = format!("http://127.0.0.1:{}/", self.ports.gateway);
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let begin = Instant::now();
        loop {
            let answer = client.get(&url).header("api-key", key).send().await?;
            let status = answer.status();
            let text = answer.text().await?;
            if status == 200 && text.contains(&format!(r#"["x-user-id","{user}"]"#)) {
                return Ok(());
            }
            ensure!(begin.elapsed() < Duration::from_secs(20), "{user} is not let in: {status} {text}");
            sleep(POLL).await;
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        for pid in self.processes() {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

// === impl Finished ===

impl Finished {
    /// The lines that are to be pasted.
    pub(super) fn curl_lines(&self) -> Vec<String> {
        let lines = self.stdout.lines().map(str::trim).filter(|line| line.starts_with("curl "));
        lines.map(str::to_owned).collect()
    }
}

// === impl Foreground ===

impl Foreground {
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Ok(kill_process(pid.context("`up` has ended")?, signal)?)
    }

    /// Waits until it has ended.
    pub(super) async fn end(&mut self) -> anyhow::Result<Finished> {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let mut errors = self.child.stderr.take().context("no stderr")?;
        let status = timeout(PATIENCE, async {
            self.stdout.read_to_string(&mut stdout).await?;
            errors.read_to_string(&mut stderr).await?;
            anyhow::Ok(self.child.wait().await?)
        });
        let status = status.await.context("`up` does not end")??;
        Ok(Finished { status, stdout, stderr })
    }
}
