//! What the steps share: a stack with a secured site over plain and TLS, and ways to ask.

use std::process::{Command, Output};
use std::time::Duration;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Connection, Options, Response, Rest, Stack, wait};
use serde_json::{Value, json};

/// How long a change may take to be in force, with other tests on the machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// A key, which the upstream is to see too.
pub(crate) const KEY: &str = "alice-key-that-nobody-may-see";
pub(crate) const HOST: &str = "site.test";

/// The stack, and what is in it.
pub(crate) struct Site {
    pub(crate) stack: Stack,
}

/// A file of `testdata/tls`.
pub(crate) fn certificate(name: &str) -> String {
    let path = paths::workspace_root().join("testdata/tls").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn objects() -> Vec<Value> {
    let route = json!([{
        "matchers": [{ "prefix": "/" }],
        "routeAction": { "single": { "upstream": { "namespace": "test", "name": "echo" } } },
    }]);
    let service = |name: &str, domain: &str, ssl: Value| {
        let mut service = json!({
            "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService",
            "metadata": { "namespace": "team", "name": name },
            "spec": { "virtualHost": {
                "domains": [domain], "routes": route,
                "options": { "extauth": { "configRef": { "namespace": "team", "name": "keys" } } },
            } },
        });
        if !ssl.is_null() {
            service["spec"]["sslConfig"] = ssl;
        }
        service
    };
    vec![
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
            "metadata": { "namespace": "team", "name": "alice", "labels": { "team": "a" } },
            "stringData": { "api-key": KEY },
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "namespace": "team", "name": "web" },
            "stringData": { "tls.crt": certificate("web.crt"), "tls.key": certificate("web.key") },
        }),
        json!({
            "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
            "metadata": { "namespace": "team", "name": "keys" },
            "spec": { "configs": [{ "apiKeyAuth": {
                "labelSelector": { "team": "a" }, "forwardKey": true,
                "keySource": {
                    "headers": [{ "header": "api-key" }, { "header": "authorization", "prefix": "Bearer " }],
                    "queryParams": ["key"], "cookies": ["key"],
                },
            } }] },
        }),
        service("plain", HOST, Value::Null),
        service("secure", "example.com", json!({ "secretRef": { "namespace": "team", "name": "web" } })),
    ]
}

// === impl Site ===

impl Site {
    pub(crate) fn start() -> Self {
        let site = Self { stack: Stack::start(Options::default()).unwrap() };
        for object in objects() {
            site.stack.rest().apply(&object).unwrap();
        }
        site.serves();
        site
    }

    /// Waits until the key opens the site.
    #[track_caller]
    pub(crate) fn serves(&self) {
        self.soon("the site to answer", || {
            let headers = Headers::new().with("api-key", KEY);
            let (response, _) = self.stack.send(HOST, "/", &headers)?;
            ensure!(response.status == 200, "{}", response.status);
            Ok(())
        });
    }

    /// Waits until something comes; shows the logs where it does not.
    #[track_caller]
    pub(crate) fn soon<T>(&self, what: &str, attempt: impl FnMut() -> anyhow::Result<T>) -> T {
        wait::until(SOON, what, attempt).unwrap_or_else(|error| panic!("{error:#}\n{}", self.stack.logs()))
    }

    /// Asks the admin port.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String) {
        self.ask_with(method, path, &Headers::new().with("host", "localhost"))
    }

    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &Headers) -> (u16, String) {
        let mut all = headers.clone();
        all.add("content-length", "0");
        let response = Connection::open(self.stack.admin())
            .and_then(|mut open| open.request(method, path, &all))
            .unwrap_or_else(|error| panic!("{method} {path}: {error:#}\n{}", self.stack.logs()));
        (response.status, String::from_utf8_lossy(&response.body).into_owned())
    }

    /// The level of a logger.
    pub(crate) fn level(&self, logger: &str) -> String {
        let (code, list) = self.ask("GET", "/logging");
        assert_eq!(code, 200, "{list}");
        let level = list.lines().find_map(|line| line.trim().strip_prefix(logger)?.strip_prefix(": "));
        level.unwrap_or_else(|| panic!("no {logger} in {list}")).to_owned()
    }

    /// Waits until a path says what it said before.
    #[track_caller]
    pub(crate) fn becomes(&self, path: &str, before: &str) {
        self.soon(path, || {
            let now = self.ask("GET", path).1;
            ensure!(now == before, "{now}");
            Ok(())
        });
    }

    /// Asks REST.
    pub(crate) fn rest(&self, path: &str) -> (u16, String) {
        let response: Response = Rest::new(self.stack.rest().address()).call("GET", path, None).unwrap();
        (response.status, String::from_utf8_lossy(&response.body).into_owned())
    }

    /// A command of `keyward`, with this server and this proxy.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(paths::keyward().unwrap());
        command
            .args(words)
            .current_dir(self.stack.folder())
            .env("HOME", self.stack.folder())
            .env("KEYWARD_SERVER", format!("http://{}", self.stack.rest().address()))
            .env("KEYWARD_PROXY_ADMIN", format!("http://{}", self.stack.admin()));
        command
    }

    /// What a command that goes well says.
    #[track_caller]
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let notes = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{words:?}: {status}: {notes}\n{}", self.stack.logs());
        String::from_utf8(stdout).unwrap()
    }

    /// How a command ends that does not go well, and what it says then.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> (i32, String) {
        let Output { status, stderr, .. } = self.command(words).output().unwrap();
        assert!(!status.success(), "{words:?}");
        (status.code().unwrap(), String::from_utf8(stderr).unwrap())
    }
}
