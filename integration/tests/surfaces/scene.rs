//! A running whole into which keys have come by every way, and requests with all of them.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Connection, Options, Stack, free_address, wait};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::planted::{Needles, key, odd};

/// How long a change may take to be in force.
const SOON: Duration = Duration::from_secs(20);
const HOST: &str = "site.test";
const OPEN_HOST: &str = "open.test";
/// Secrets that the AuthConfig does not accept, or not now.
const REFUSED: [&str; 5] = ["unknown", "expired", "early", "disabled", "deleted"];

/// The running whole.
pub(crate) struct Scene {
    pub(crate) stack: Stack,
    pub(crate) stats: SocketAddr,
    pub(crate) dev: SocketAddr,
    pub(crate) access_log: PathBuf,
    pub(crate) needles: Needles,
    /// Keys that the program made.
    made: Vec<String>,
    /// Where the access log is, and the resources that are followed.
    _folder: TempDir,
}

fn secret(name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name, "labels": { "team": "a" } },
        "stringData": data,
    })
}

fn certificate(name: &str) -> String {
    std::fs::read_to_string(paths::testdata("tls").join(name)).unwrap()
}

fn objects() -> Vec<Value> {
    let route = json!([{
        "matchers": [{ "prefix": "/" }],
        "routeAction": { "single": { "upstream": { "namespace": "test", "name": "echo" } } },
    }]);
    let service = |name: &str, domain: &str, options: Value| {
        json!({
            "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService",
            "metadata": { "namespace": "team", "name": name },
            "spec": { "virtualHost": { "domains": [domain], "routes": route, "options": options } },
        })
    };
    let mut tls = service("web", "web.test", json!({}));
    tls["spec"]["sslConfig"] = json!({ "secretRef": { "namespace": "team", "name": "web" } });
    vec![
        json!({
            "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
            "metadata": { "namespace": "team", "name": "keys" },
            "spec": { "configs": [{ "apiKeyAuth": {
                "labelSelector": { "team": "a" },
                "headersFromMetadataEntry": { "x-plan": { "name": "plan" } },
                "keySource": {
                    "headers": [{ "header": "api-key" }, { "header": "authorization", "prefix": "Bearer " }],
                    "queryParams": ["key"], "cookies": ["key"],
                },
            } }] },
        }),
        service("site", HOST, json!({ "extauth": { "configRef": { "namespace": "team", "name": "keys" } } })),
        service("open", OPEN_HOST, json!({})),
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "namespace": "team", "name": "web" },
            "stringData": { "tls.crt": certificate("web.crt"), "tls.key": certificate("web.key") },
        }),
        tls,
        json!({
            "apiVersion": "gloo.solo.io/v1", "kind": "Settings",
            "metadata": { "namespace": "keyward-system", "name": "default" },
            "spec": { "devMode": true, "extauth": { "usageReportInterval": "1s" } },
        }),
    ]
}

// === impl Scene ===

impl Scene {
    /// Starts it; when this returns, everything is in force and every request was made.
    pub(crate) fn start() -> Self {
        let (stats, dev) = (free_address().unwrap(), free_address().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let (access_log, resources) = (folder.path().join("access.log"), folder.path().join("resources"));
        std::fs::create_dir(&resources).unwrap();
        let followed = secret("followed", json!({ "api-key": key("followed") }));
        std::fs::write(resources.join("followed.json"), followed.to_string()).unwrap();
        let flags = [
            ["--start-stats-server", "--admin-handlers-with-stats"].map(str::to_owned).to_vec(),
            ["--stats", &stats.to_string(), "--dev-admin", &dev.to_string()].map(str::to_owned).to_vec(),
            ["--access-log", access_log.to_str().unwrap()].map(str::to_owned).to_vec(),
            ["--resources", resources.to_str().unwrap(), "--usage-metrics", "100"]
                .map(str::to_owned)
                .to_vec(),
        ];
        let stack = Stack::start(Options { flags: flags.concat(), ..Options::default() }).unwrap();
        let mut scene = Self {
            stack,
            stats,
            dev,
            access_log,
            needles: Needles::new(&[]),
            made: Vec::new(),
            _folder: folder,
        };
        scene.log_levels("trace");
        scene.plant();
        for level in ["debug", "trace"] {
            scene.ask(scene.stack.admin(), "POST", &format!("/logging?level={level}"), None, "").unwrap();
            scene.traffic();
        }
        scene.ask(scene.stack.admin(), "POST", "/logging?level=info", None, "").unwrap();
        let private = certificate("web.key");
        let line = private.lines().find(|line| !line.starts_with('-')).unwrap().to_owned();
        let made: Vec<String> = scene.made.iter().map(|key| key[3..25].to_owned()).collect();
        scene.needles = Needles::new(&[made, vec![line]].concat());
        scene
    }

    /// Asks a port; answers with everything that came, the status first.
    pub(crate) fn ask(
        &self,
        port: SocketAddr,
        method: &str,
        path: &str,
        accept: Option<&str>,
        body: &str,
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        let mut headers = Headers::new()
            .with("host", "localhost")
            .with("content-type", "application/json")
            .with("content-length", body.len().to_string());
        accept.iter().for_each(|accept| headers.add("accept", accept));
        let answer = Connection::open(port)?.request_with_body(method, path, &headers, body.as_bytes());
        let answer = answer.with_context(|| format!("{method} {path}"))?;
        Ok((answer.status, [format!("{:?}\n", answer.headers).into_bytes(), answer.body].concat()))
    }

    fn log_levels(&self, level: &str) {
        let body = json!({ "level": level }).to_string();
        let (status, said) = self.ask(self.stats, "PUT", "/logging", None, &body).unwrap();
        assert_eq!(status, 200, "{}", said.escape_ascii());
    }

    /// Where commands run.
    pub(crate) fn folder(&self) -> PathBuf {
        self.stack.folder().join("session")
    }

    /// A shell that knows the server.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let program = paths::keyward().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(self.folder())
            .env("HOME", self.folder())
            .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
            .env("EDITOR", "cat")
            .env("KEYWARD_DATA", self.stack.data())
            .env("KEYWARD_SERVER", format!("http://{}", self.stack.rest().address()))
            .env("KEYWARD_SNAPSHOTS_URL", format!("http://{}", self.stack.snapshots()))
            .env("KEYWARD_DEBUG_URL", format!("http://{}", self.stats))
            .env("KEYWARD_PROXY_ADMIN", format!("http://{}", self.stack.admin()));
        shell
    }

    /// A command that makes something, with this on its standard input; what it said.
    fn make(&self, line: &str, input: &str) -> String {
        let mut child = self
            .shell(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let said = child.wait_with_output().unwrap();
        let notes = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{line}: {notes}\n{}", self.stack.logs());
        String::from_utf8(said.stdout).unwrap()
    }

    fn plant(&mut self) {
        let folder = self.folder();
        std::fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        for name in ["plain", "unknown", "expired", "disabled", "rotated"] {
            write(&format!("{name}.key"), &key(name));
        }
        write("malformed.key", "kw_Zq7vXw2Tn8Lb4Rk6000000_000000");
        for name in ["web.crt", "web.key"] {
            write(name, &certificate(name));
        }
        // Over REST: as text, in base64, and as `kubectl apply` does it.
        let rest = self.stack.rest();
        for object in objects() {
            rest.apply(&object).unwrap();
        }
        rest.apply(&secret("plain", json!({ "api-key": key("plain"), "plan": "gold" }))).unwrap();
        rest.apply(&secret("odd", json!({ "api-key": odd("odd") }))).unwrap();
        rest.apply(&secret("shared", json!({ "api-key": key("plain") }))).unwrap();
        let mut applied = secret("applied", json!({ "api-key": key("applied") }));
        let last = applied.to_string();
        applied["metadata"]["annotations"] =
            json!({ "kubectl.kubernetes.io/last-applied-configuration": last });
        rest.apply(&applied).unwrap();
        for (name, field, value) in [
            ("expired", "expires-at", "2020-01-01T00:00:00Z"),
            ("early", "not-before", "2099-01-01T00:00:00Z"),
            ("disabled", "disabled", "true"),
        ] {
            rest.apply(&secret(name, json!({ "api-key": key(name), field: value }))).unwrap();
        }
        rest.apply(&secret("deleted", json!({ "api-key": key("deleted") }))).unwrap();
        rest.delete("Secret", "team", "deleted").unwrap();
        // What is refused, whatever is wrong with it.
        let mut refused = secret("refused", json!({ "api-key": key("refused"), "no/name": key("refused") }));
        assert!(rest.apply(&refused).is_err());
        // What is wrong with these is said at once, or in their status.
        for data in [
            json!({ "api-key": format!("{}\u{1}", key("refused")) }),
            json!({ "expires-at": key("refused") }),
        ] {
            refused["stringData"] = data;
            let _ = rest.apply(&refused);
        }
        // By the command line.
        let labels = "-n team --apikey-labels team=a";
        let create = "keyward create secret apikey";
        self.make(&format!("{create} typed --apikey '{}' {labels}", odd("typed")), "");
        self.make(&format!("{create} read --apikey-stdin {labels}"), &key("read"));
        self.make(&format!("{create} digest --apikey-stdin --digest-only {labels}"), &key("digest"));
        for digest_only in ["", "--digest-only"] {
            let name = format!("made{digest_only}");
            let said = self.make(&format!("{create} {name} --apikey-generate {digest_only} {labels}"), "");
            self.made.push(said.trim().to_owned());
        }
        self.make(&format!("{create} rotated --apikey-stdin {labels}"), &key("rotated"));
        self.make("keyward secret apikey rotate rotated -n team --apikey-stdin", &key("rotating"));
        let rotated = self.make("keyward secret apikey rotate made -n team", "");
        self.made.push(rotated.trim().to_owned());
        write("resources.yaml", &self.resources("from-a-file"));
        write("more.yaml", &secret("more", json!({ "api-key": key("more") })).to_string());
        self.make("keyward apply -f more.yaml", "");
        write("keys.csv", &format!("name,namespace,labels,api-key\nrow,team,team=a,{}\n", key("row")));
        self.make("keyward secret apikey import keys.csv", "");
        write("wrong.csv", &format!("name,labels,api-key\nrow,team=a,{}\nrow,a,{}\n", key("r"), key("s")));
        write("wrong.yaml", &self.resources("wrong").replace("api-key:", "api-key: -"));
        let plugin = self.make("keyward filter config -f resources.yaml", "");
        write("plugin.json", &plugin);
    }

    /// A file with a Secret and what selects it, for commands that read such files.
    fn resources(&self, name: &str) -> String {
        let secret = secret(name, json!({ "api-key": key(name) }));
        let documents: Vec<String> =
            objects().iter().take(1).chain([&secret]).map(Value::to_string).collect();
        let yaml =
            |text: &String| serde_saphyr::to_string(&serde_json::from_str::<Value>(text).unwrap()).unwrap();
        documents.iter().map(yaml).collect::<Vec<_>>().join("---\n")
    }

    /// A request; its status.
    fn send(&self, host: &str, path: &str, headers: &Headers) -> anyhow::Result<u16> {
        Ok(self.stack.send(host, path, headers)?.0.status)
    }

    /// Requests with every key in every place in which one may stand, right and wrong.
    fn traffic(&self) {
        let good = ["plain", "applied", "read", "digest", "rotated", "rotating", "more", "row", "followed"];
        let mut keys: Vec<(String, u16)> = good.iter().map(|name| (key(name), 200)).collect();
        keys.extend([(odd("odd"), 200), (odd("typed"), 200)]);
        keys.extend(self.made.iter().map(|made| (made.clone(), 200)));
        keys.extend(REFUSED.iter().map(|name| (key(name), 401)));
        keys.push(("kw_Zq7vXw2Tn8Lb4Rk6000000_000000".to_owned(), 401));
        let two = Headers::new().with("api-key", key("plain")).with("cookie", format!("key={}", key("read")));
        for (key, right) in &keys {
            wait::until(SOON, "a key to be in force", || {
                let status = self.send(HOST, "/", &Headers::new().with("api-key", key))?;
                ensure!(status == *right, "{status} instead of {right}");
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{key}: {error:#}\n{}", self.stack.logs()));
            let is_odd = key.contains('"');
            let requests = [
                (HOST, "/".to_owned(), Headers::new().with("authorization", format!("Bearer {key}"))),
                (HOST, "/".to_owned(), Headers::new().with("cookie", format!("key={key}"))),
                (HOST, format!("/?a=b&key={key}"), Headers::new()),
                (OPEN_HOST, format!("/?key={key}"), Headers::new().with("api-key", key)),
            ];
            for (host, path, headers) in requests {
                let path = if is_odd { path.replace('"', "%22").replace('\\', "%5C") } else { path };
                let status = self.send(host, &path, &headers).unwrap();
                let right = if host == OPEN_HOST { 200 } else { *right };
                assert!(is_odd || status == right, "{host}: {status} instead of {right}");
            }
        }
        assert_eq!(self.send(HOST, "/", &two).unwrap(), 401);
        let upgrade =
            Headers::new().with("api-key", key("plain")).with("te", key("plain")).with("upgrade", "x");
        self.send(HOST, "/", &upgrade).unwrap();
    }
}
