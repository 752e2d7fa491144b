//! What operators see of a running Keyward: metrics of both sides, the dashboard and the alerts that are made of
//! them, and the access log. One stack for all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::stack::{Options, Rest, Stack, free_address, wait};
use serde_json::{Value, json};

use crate::kit::{HOST, OPEN_HOST, SOON, at_once, eventually, secret, site, virtual_service};

const KEY: &str = "alice-key-that-nobody-may-see";
const LATE_KEY: &str = "dora-key-that-comes-and-goes";
const OFF_KEY: &str = "carol-key-that-is-switched-off";
const WRONG_KEY: &str = "some-key-that-nobody-has";
/// A host whose key may stand anywhere.
const ANYWHERE: &str = "anywhere.test";
/// Metrics that Prometheus itself makes.
const OF_PROMETHEUS: [&str; 1] = ["up"];

/// What is observed.
struct Scene {
    stack: Stack,
    stats: SocketAddr,
    log: PathBuf,
}

/// A request, and what its line in the log says of it.
struct Logged {
    host: &'static str,
    path: &'static str,
    headers: Headers,
    status: u16,
    identity: Option<&'static str>,
    key: Option<&'static str>,
    auth_config: Option<&'static str>,
    reason: Option<&'static str>,
}

fn key_id(key: &str) -> String {
    let digest = keyward_filter_core::key::digest(key.as_bytes());
    String::from_utf8(keyward_filter_core::key::id(&digest).to_vec()).unwrap()
}

fn observability(path: &str) -> PathBuf {
    paths::workspace_root().join("observability").join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `promtool` says of something that is written to it, or of a file.
fn promtool(words: &[&str], input: Option<&str>) {
    let mut command = Command::new(paths::promtool().unwrap());
    command.args(words).current_dir(observability("prometheus"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.unwrap_or_default().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "promtool {words:?}: {}", String::from_utf8_lossy(&said));
}

/// The names of the metrics in a text of Prometheus' format.
fn names(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.filter_map(|line| line.split(['{', ' ']).next()).collect()
}

/// The metrics that an expression reads: what stands outside of braces and of lists of labels, and is neither
/// called nor a word of the language.
fn metrics_of(expression: &str) -> BTreeSet<String> {
    let mut outside = String::new();
    let mut depth = 0_usize;
    for char in expression.chars() {
        match char {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ if depth == 0 => outside.push(char),
            _ => {}
        }
    }
    for list in ["by (", "by(", "on (", "on(", "without (", "ignoring ("] {
        while let Some(start) = outside.find(list) {
            let end = outside[start..].find(')').expect("the end of a list") + start;
            outside.replace_range(start..=end, " ");
        }
    }
    let inner = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
    let mut metrics = BTreeSet::new();
    let mut rest = outside.as_str();
    while let Some(start) = rest.find(inner) {
        let (word, behind) =
            rest[start..].split_at(rest[start..].find(|char| !inner(char)).unwrap_or(rest.len() - start));
        let is_name = word.starts_with(|char: char| char.is_ascii_lowercase());
        let is_called = behind.trim_start().starts_with('(');
        if is_name && !is_called && !["and", "or", "unless"].contains(&word) {
            metrics.insert(word.to_owned());
        }
        rest = behind;
    }
    metrics
}

/// All expressions in a document, by where they stand.
fn expressions(value: &Value, at: &str, all: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let title = map.get("title").or(map.get("alert")).and_then(Value::as_str);
                let at = title.map_or_else(|| at.to_owned(), |title| format!("{at} / {title}"));
                match value {
                    Value::String(text) if key == "expr" => all.push((at, text.clone())),
                    _ => expressions(value, &at, all),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, at, all)),
        _ => {}
    }
}

// === impl Scene ===

impl Scene {
    fn start(folder: &Path) -> Self {
        let (stats, log) = (free_address().unwrap(), folder.join("access.json"));
        let flags =
            ["--start-stats-server", "--stats", &stats.to_string(), "--usage-metrics", "5", "--access-log"];
        let mut flags: Vec<String> = flags.map(str::to_owned).into();
        flags.push(log.display().to_string());
        let stack = Stack::start(Options { flags, ..Options::default() }).unwrap();
        let often = json!({
            "apiVersion": "service.keyward.io/v1", "kind": "Settings",
            "metadata": { "namespace": "keyward-system", "name": "default" },
            "spec": { "extauth": { "usageReportInterval": "1s" } },
        });
        stack.rest().apply(&often).unwrap();
        let mut off = secret("carol", OFF_KEY);
        off["stringData"]["disabled"] = json!("true");
        stack.rest().apply(&off).unwrap();
        let anywhere = json!({
            "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
            "metadata": { "namespace": "team", "name": "anywhere" },
            "spec": { "configs": [{ "apiKeyAuth": {
                "labelSelector": { "team": "a" },
                "keySource": { "headers": [{ "header": "x-key" }], "queryParams": ["key"], "cookies": ["key"] },
            } }] },
        });
        stack.rest().apply(&anywhere).unwrap();
        let extauth = json!({ "extauth": { "configRef": { "namespace": "team", "name": "anywhere" } } });
        stack.rest().apply(&virtual_service("anywhere", &[ANYWHERE], extauth, &[("/", json!({}))])).unwrap();
        site(&stack, &[("alice", KEY)]);
        Self { stack, stats, log }
    }

    /// What the control server says of itself.
    fn metrics(&self) -> anyhow::Result<String> {
        let response = Rest::new(self.stats).call("GET", "/metrics", None)?;
        ensure!(response.status == 200, "{}", response.status);
        Ok(String::from_utf8(response.body)?)
    }

    /// What Envoy says of itself and of the filter.
    fn stats(&self) -> anyhow::Result<String> {
        self.stack.proxy().get("/stats/prometheus")
    }

    fn until<T>(&self, what: &str, look: impl FnMut() -> anyhow::Result<T>) -> T {
        wait::until(SOON, what, look).unwrap_or_else(|error| panic!("{error:#}\n{}", self.stack.logs()))
    }

    /// A metric of the control server comes to be right.
    fn reaches(&self, name: &str, right: impl Fn(f64) -> bool) {
        self.until(name, || {
            let text = self.metrics()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value: f64 = line.with_context(|| format!("there is no {name} in {text}"))?.parse()?;
            ensure!(right(value), "{value}");
            Ok(())
        });
    }

    fn check_metrics(&self) {
        // What workers are sent to begin with is no measure of how long a change takes.
        let secrets = "/api/v1/namespaces/team/secrets";
        for (verb, path, body) in [
            ("POST", format!("{secrets}?wait=15s"), Some(&secret("late", LATE_KEY))),
            ("DELETE", format!("{secrets}/late?wait=15s"), None),
        ] {
            let response = self.stack.rest().call(verb, &path, body).unwrap();
            assert!((200..300).contains(&response.status), "{verb}: {}", response.status);
        }
        self.reaches("keyward_xds_connected_proxies", |value| value == 1.0);
        self.reaches("keyward_xds_proxies_in_sync", |value| value == 1.0);
        // Two keys in a table that two AuthConfigs have.
        self.reaches("keyward_keys", |value| value == 2.0);
        self.reaches("keyward_key_tables", |value| value == 2.0);
        self.reaches("keyward_key_tables_behind", |value| value == 0.0);
        self.reaches("keyward_key_workers", |value| value >= 1.0);
        self.reaches("keyward_keys_revision", |value| value >= 1.0);
        self.reaches("keyward_revision", |value| value >= 1.0);
        let proxy = r#"{proxy="keyward-system~gateway-proxy"}"#;
        self.reaches(&format!("keyward_proxy_workers{proxy}"), |value| value == 3.0);
        self.reaches(&format!("keyward_proxy_key_lag_seconds{proxy}"), |value| value == 0.0);
        let version = self.stack.proxy().stat("wasmcustom.keyward.config_version").unwrap();
        self.reaches(&format!("keyward_proxy_config_version{proxy}"), |value| value == version as f64);
        for name in [
            r#"keyward_xds_pushes_total{type="listener"}"#,
            r#"keyward_xds_acks_total{type="cluster"}"#,
            r#"keyward_xds_push_duration_seconds_count{type="route"}"#,
            r#"keyward_xds_resources{type="extension"}"#,
            "keyward_translation_duration_seconds_count",
            "keyward_key_acknowledgement_duration_seconds_count",
            r#"keyward_store_duration_seconds_count{operation="write"}"#,
            r#"keyward_store_duration_seconds_count{operation="read"}"#,
            r#"keyward_rest_requests_total{verb="POST",kind="Secret",code="201"}"#,
            r#"keyward_rest_request_duration_seconds_count{verb="POST",kind="AuthConfig"}"#,
            r#"keyward_objects{kind="VirtualService",state="Accepted"}"#,
            r#"keyward_key_uses_total{namespace="team",name="alice"}"#,
        ] {
            self.reaches(name, |value| value >= 1.0);
        }
        let refused = r#"keyward_refused_objects{kind="Gateway"}"#;
        let nacks = r#"keyward_xds_nacks_total{type="listener"}"#;
        self.reaches(refused, |value| value == 0.0);
        self.reaches(nacks, |value| value == 0.0);
        let gateway = json!({
            "apiVersion": "gateway.keyward.io/v1", "kind": "Gateway",
            "metadata": { "namespace": "team", "name": "nowhere" },
            "spec": { "bindAddress": "192.0.2.1", "bindPort": 9, "httpGateway": {} },
        });
        self.stack.rest().apply(&gateway).unwrap();
        self.reaches(refused, |value| value == 1.0);
        self.reaches(nacks, |value| value >= 1.0);
        self.reaches(r#"keyward_objects{kind="Gateway",state="Rejected"}"#, |value| value == 1.0);
        self.stack.rest().delete("Gateway", "team", "nowhere").unwrap();
        self.reaches(refused, |value| value == 0.0);
    }

    /// What Envoy shows of the filter's decisions, by AuthConfig and reason.
    fn decisions(&self) -> anyhow::Result<BTreeMap<(String, String), u64>> {
        let text = self.stats()?;
        let mut all = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("keyward_decisions{")) {
            let (labels, value) = line.split_once("} ").context("no value")?;
            let label = |name: &str| {
                let found = labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\""));
                Ok::<_, anyhow::Error>(
                    found.with_context(|| line.to_owned())?.trim_end_matches('"').to_owned(),
                )
            };
            ensure!(labels.split(',').count() == 2, "{line}");
            all.insert((label("auth_config")?, label("reason")?), value.parse()?);
        }
        Ok(all)
    }

    /// Makes requests; each is counted and logged as it should be.
    fn check_requests(&self, requests: &[Logged]) {
        // What was asked before is shown within a second.
        let mut seen = (BTreeMap::new(), Instant::now());
        let before = self.until("the counts to rest", || {
            let now = self.decisions()?;
            if now != seen.0 {
                seen = (now, Instant::now());
            }
            ensure!(seen.1.elapsed() > Duration::from_millis(1_200), "they move");
            Ok(seen.0.clone())
        });
        for request in requests {
            let (answer, _) = self.stack.send(request.host, request.path, &request.headers).unwrap();
            assert_eq!(answer.status, request.status, "{}\n{}", request.path, self.stack.logs());
        }
        let mut expected = before;
        for request in requests {
            if let (Some(auth_config), Some(reason)) = (request.auth_config, request.reason) {
                *expected.entry((auth_config.to_owned(), reason.to_owned())).or_default() += 1;
            }
        }
        self.until("all decisions to be shown", || {
            let shown = self.decisions()?;
            ensure!(shown == expected, "{shown:?}\nand not\n{expected:?}");
            Ok(())
        });
        self.until("all requests to be logged", || self.check_log(requests));
    }

    fn check_log(&self, requests: &[Logged]) -> anyhow::Result<()> {
        let log = std::fs::read_to_string(&self.log)?;
        for key in [KEY, OFF_KEY, WRONG_KEY, LATE_KEY] {
            assert!(!log.contains(key), "{log}");
        }
        let lines = log.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        for request in requests {
            let path = request.path.split('?').next().unwrap_or_default();
            let line = lines.iter().find(|line| line["path"] == path);
            let line = line.with_context(|| format!("{path} is not logged"))?;
            for (field, expected) in [
                ("host", json!(request.host)),
                ("method", json!("GET")),
                ("status", json!(request.status)),
                ("identity", json!(request.identity)),
                ("key_id", json!(request.key.map(key_id))),
                ("auth_config", json!(request.auth_config)),
                ("reason", json!(request.reason)),
                (
                    "upstream",
                    if request.status == 200 { json!("echo_test") } else { line["upstream"].clone() },
                ),
            ] {
                assert_eq!(line[field], expected, "{field} of {line}");
            }
            for field in ["time", "protocol", "client", "details", "route", "request_id"] {
                assert!(line[field].is_string(), "{field} of {line}");
            }
            for field in ["duration_ms", "bytes_received", "bytes_sent"] {
                assert!(line[field].is_u64(), "{field} of {line}");
            }
        }
        Ok(())
    }

    /// Every metric that the dashboard and the alerts ask for is there, under its name.
    fn check_dashboard_and_alerts(&self) {
        let (ours, envoys) = (self.metrics().unwrap(), self.stats().unwrap());
        for key in [KEY, OFF_KEY, WRONG_KEY, LATE_KEY] {
            assert!(!ours.contains(key) && !envoys.contains(key));
        }
        promtool(&["check", "metrics"], Some(&ours));
        promtool(&["check", "rules", "alerts.yaml"], None);
        promtool(&["test", "rules", "alerts_test.yaml"], None);
        let known: BTreeSet<&str> =
            names(&ours).into_iter().chain(names(&envoys)).chain(OF_PROMETHEUS).collect();
        let of_listener =
            |line: &str| line.starts_with("envoy_http_downstream_rq_xx{") && line.contains(",listener=\"");
        assert!(envoys.lines().any(of_listener), "{envoys}");
        let dashboard: Value = serde_json::from_str(&read(&observability("grafana/keyward.json"))).unwrap();
        let alerts: Value = serde_saphyr::from_str(&read(&observability("prometheus/alerts.yaml"))).unwrap();
        let mut all = Vec::new();
        expressions(&dashboard, "dashboard", &mut all);
        let of_dashboard = all.len();
        expressions(&alerts, "alerts", &mut all);
        assert!(of_dashboard > 30 && all.len() > of_dashboard + 15, "{} and {}", of_dashboard, all.len());
        for (at, expression) in &all {
            let metrics = metrics_of(expression);
            assert!(!metrics.is_empty(), "{at}: {expression}");
            for metric in metrics {
                assert!(known.contains(metric.as_str()), "{at}: there is no {metric}, for {expression}");
            }
        }
        // Prometheus reads the expressions of the dashboard too, with Grafana's words replaced.
        let rules: Vec<Value> = (0..of_dashboard)
            .map(|at| {
                let expression = all[at].1.replace("$__rate_interval", "5m");
                json!({ "record": format!("dashboard:{at}"), "expr": expression.replace('$', "") })
            })
            .collect();
        let file = self.stack.folder().join("dashboard.yaml");
        std::fs::write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string())
            .unwrap();
        promtool(&["check", "rules", &file.display().to_string()], None);
    }
}

#[test]
fn metrics_of_an_expression_are_found() {
    let of = |expression: &str| metrics_of(expression).into_iter().collect::<Vec<_>>();
    assert_eq!(
        of("sum by (a_b, c) (rate(x_total{y=~\"z|w\"}[5m])) / sum(v) > 0.5 and u"),
        ["u", "v", "x_total"]
    );
    assert_eq!(of("histogram_quantile(0.99, sum by (le) (rate(h_bucket[5m])))"), ["h_bucket"]);
    assert_eq!(of("sum(a{b=\"c\"}) or vector(0)"), ["a"]);
}

#[test]
fn metrics_dashboard_alerts_and_access_log_show_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::start(folder.path());
    at_once(&scene.stack, HOST, Some(KEY), Ok("alice"));
    eventually(&scene.stack, ANYWHERE, None, Err(401));
    let with = |name: &str, value: &str| Headers::new().with(name, value);
    let none = || Logged {
        host: HOST,
        path: "/",
        headers: Headers::new(),
        status: 401,
        identity: None,
        key: None,
        auth_config: Some("team/keys"),
        reason: Some("missing"),
    };
    let allowed =
        || Logged { status: 200, identity: Some("alice"), key: Some(KEY), reason: Some("allowed"), ..none() };
    let anywhere = || Logged { host: ANYWHERE, auth_config: Some("team/anywhere"), ..allowed() };
    let forged = || with("x-user-id", "root").with("x-envoy-original-path", "/forged?key=x");
    scene.check_requests(&[
        Logged { path: "/allowed?x=1", headers: with("api-key", KEY), ..allowed() },
        Logged { path: "/allowed-forged", headers: forged().with("api-key", KEY), ..allowed() },
        Logged { path: "/missing", headers: forged(), ..none() },
        Logged { path: "/unknown", headers: with("api-key", WRONG_KEY), reason: Some("unknown"), ..none() },
        Logged {
            path: "/off",
            headers: with("api-key", OFF_KEY),
            key: Some(OFF_KEY),
            reason: Some("disabled"),
            ..none()
        },
        Logged { path: "/in-query?a=b&key=alice-key-that-nobody-may-see", ..anywhere() },
        Logged { path: "/in-cookie", headers: with("cookie", &format!("key={KEY}")), ..anywhere() },
        Logged {
            path: "/wrong-in-query?key=some-key-that-nobody-has",
            headers: with("referer", &format!("http://x/?key={WRONG_KEY}")),
            status: 401,
            identity: None,
            key: None,
            reason: Some("unknown"),
            ..anywhere()
        },
        Logged {
            path: "/two?key=some-key-that-nobody-has",
            headers: with("x-key", KEY),
            status: 401,
            identity: None,
            key: None,
            reason: Some("ambiguous"),
            ..anywhere()
        },
        Logged {
            host: OPEN_HOST,
            path: "/open?key=some-key-that-nobody-has",
            headers: forged(),
            identity: None,
            key: None,
            auth_config: None,
            reason: None,
            ..allowed()
        },
    ]);
    scene.check_metrics();
    scene.check_dashboard_and_alerts();
}
