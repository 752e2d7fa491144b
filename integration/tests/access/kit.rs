//! A control server without an Envoy, and its clients.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Connection, Process, free_address, wait};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take, with other tests on the machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A control server and its data folder.
pub(crate) struct Server {
    folder: TempDir,
    process: Option<Process>,
    pub(crate) rest: SocketAddr,
    pub(crate) xds: SocketAddr,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// An Upstream.
pub(crate) fn upstream(name: &str) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
        "metadata": { "namespace": "team", "name": name },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 1 }] } },
    })
}

/// A Secret with a key.
pub(crate) fn secret(name: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name }, "stringData": { "api-key": key },
    })
}

impl Server {
    /// A data folder, and nothing that runs.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (rest, xds) = (free_address().unwrap(), free_address().unwrap());
        Self { folder, process: None, rest, xds }
    }

    pub(crate) fn data(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command of `keyward` on the data folder.
    pub(crate) fn keyward(&self, words: &str) -> Said {
        let mut command = Command::new(paths::keyward().unwrap());
        command.args(words.split_whitespace()).env("KEYWARD_DATA", self.data().join("data"));
        said(&command.stdin(Stdio::null()).output().unwrap())
    }

    /// A new token; also while the server runs.
    pub(crate) fn token(&self, words: &str) -> String {
        let said = self.keyward(&format!("token create {words}"));
        assert_eq!(said.code, Some(0), "{said:?}");
        said.out
    }

    fn command(&self, flags: &str) -> Command {
        let mut command = Command::new(paths::keyward().unwrap());
        command.args(["serve", "--no-envoy", "--snapshots", "127.0.0.1:0"]);
        for (flag, address) in [("--rest", self.rest), ("--xds", self.xds)] {
            if !flags.contains(&format!("{flag} ")) {
                command.args([flag, &address.to_string()]);
            }
        }
        command
            .args(flags.split_whitespace())
            .env("KEYWARD_DATA", self.data().join("data"))
            .env_remove("LOG_LEVEL");
        command
    }

    /// Starts the server, and waits until it says that it serves.
    pub(crate) fn start(&mut self, flags: &str) {
        let log = self.data().join("server.log");
        self.process = Some(Process::start(&mut self.command(flags), &log).unwrap());
        let listens = wait::until(SOON, "the server to listen", || {
            let ended = self.process.as_mut().and_then(|process| process.ended().transpose());
            assert!(ended.is_none(), "it ended: {}", self.log());
            Ok(std::net::TcpStream::connect(self.rest)?)
        });
        listens.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()));
    }

    /// Starts the server when it has to refuse, and returns what it says.
    pub(crate) fn refuses(&self, flags: &str) -> Said {
        let log = self.data().join("refused.log");
        let mut process = Process::start(&mut self.command(flags), &log).unwrap();
        let status = wait::until(SOON, "the server to refuse", || {
            process.ended()?.ok_or_else(|| anyhow::anyhow!("it runs"))
        });
        let status = status.unwrap_or_else(|error| panic!("{flags}: {error:#}"));
        let err = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(log).unwrap();
        Said { code: status.code(), out: String::new(), err }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.data().join("server.log")).unwrap_or_default()
    }

    /// Waits for a line in the log.
    pub(crate) fn says(&self, parts: &[&str]) {
        let found = wait::until(SOON, &format!("a line with {parts:?}"), || {
            let log = self.log();
            ensure!(log.lines().any(|line| parts.iter().all(|part| line.contains(part))), "there is none");
            Ok(())
        });
        found.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()));
    }

    /// A request in plain HTTP: the status, and the body.
    pub(crate) fn ask(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut headers = Headers::new()
            .with("host", "localhost")
            .with("content-type", "application/json")
            .with("content-length", body.len().to_string());
        if let Some(token) = token {
            headers.add("authorization", format!("Bearer {token}"));
        }
        let response = Connection::open(self.rest)
            .and_then(|mut open| open.request_with_body(method, path, &headers, body.as_bytes()))
            .unwrap_or_else(|error| panic!("{method} {path}: {error:#}\n{}", self.log()));
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }

    /// Real `kubectl` over TLS, trusting the authority of the PKI folder.
    pub(crate) fn kubectl(&self, token: Option<&str>, words: &[&str], input: Option<&Value>) -> Said {
        let server = format!("https://{}", self.rest);
        let authority = self.data().join("data/pki/ca.crt");
        let mut command = Command::new(paths::kubectl().unwrap());
        command
            .args(["--server", &server, "--request-timeout", "15s", "--certificate-authority"])
            .arg(authority)
            .args(token.map(|token| format!("--token={token}")))
            .args(words)
            .env("KUBECONFIG", "/dev/null")
            .env("HOME", self.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        if let Some(input) = input {
            // It may have ended already, and says why.
            let _ = stdin.write_all(input.to_string().as_bytes());
        }
        drop(stdin);
        said(&child.wait_with_output().unwrap())
    }
}
