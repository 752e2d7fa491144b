//! The port itself.

use keyward_integration::headers::Headers;
use serde_json::Value;

use crate::kit::Site;

/// The loggers that can be set selectively.
const LOGGERS: [&str; 45] = [
    "admin",
    "aws",
    "cache_filter",
    "client",
    "config",
    "connection",
    "conn_handler",
    "decompression",
    "dns",
    "envoy_bug",
    "ext_authz",
    "ext_proc",
    "file",
    "filter",
    "forward_proxy",
    "grpc",
    "happy_eyeballs",
    "health_checker",
    "http",
    "http2",
    "init",
    "io",
    "jwt",
    "kafka",
    "lua",
    "main",
    "mongo",
    "multi_connection",
    "oauth2",
    "quic",
    "pool",
    "rate_limit_quota",
    "rbac",
    "redis",
    "router",
    "runtime",
    "stats",
    "secret",
    "tap",
    "testing",
    "thrift",
    "tracing",
    "upstream",
    "udp",
    "wasm",
];

fn kinds(dump: &str) -> Vec<String> {
    let dump: Value = serde_json::from_str(dump).unwrap();
    let configs = dump["configs"].as_array().unwrap();
    let kind = |config: &Value| config["@type"].as_str()?.rsplit('.').next().map(str::to_owned);
    configs.iter().filter_map(kind).collect()
}

pub(crate) fn the_rows_of_the_table(site: &Site) {
    for method in ["POST", "GET"] {
        let (code, dump) = site.ask(method, "/config_dump");
        assert!(code == 200 && kinds(&dump).contains(&"ListenersConfigDump".to_owned()), "{code}");
        assert!(!kinds(&dump).contains(&"EndpointsConfigDump".to_owned()));
        let (code, dump) = site.ask(method, "/config_dump?include_eds");
        assert!(code == 200 && kinds(&dump).contains(&"EndpointsConfigDump".to_owned()), "{code}");
    }
    let (code, list) = site.ask("GET", "/logging");
    assert_eq!(code, 200);
    for name in LOGGERS {
        assert!(list.contains(&format!("  {name}: ")), "no {name} in {list}");
        // Each can be set, those that write requests to a level at which they do not.
        assert_eq!(site.ask("POST", &format!("/logging?{name}=error")).0, 200, "{name}");
        assert_eq!(site.level(name), "error");
    }
    let (code, list) = site.ask("POST", "/logging?level=info");
    assert!(code == 200 && !list.contains(": error"), "{code} {list}");
    assert_eq!((site.level("main"), site.level("http")), ("info".to_owned(), "info".to_owned()));
    assert_eq!(site.ask("POST", "/logging?upstream=debug").0, 200);
    assert_eq!((site.level("upstream"), site.level("main")), ("debug".to_owned(), "info".to_owned()));
    assert_eq!(site.ask("POST", "/logging?paths=upstream:warning,main:warning").0, 200);
    assert_eq!(site.ask("POST", "/logging?level=warning").0, 200);
    // Everything else passes.
    for (path, part) in [
        ("/ready", "LIVE"),
        ("/server_info", "\"gateway-proxy\""),
        ("/stats?filter=server.live", "server.live: 1"),
        ("/stats/prometheus", "# TYPE envoy_"),
        ("/clusters", "keyward-control"),
        ("/listeners", "listener-"),
        ("/certs", "certificates"),
        ("/help", "admin commands are"),
        ("/", "<!DOCTYPE html>"),
    ] {
        let (code, said) = site.ask("GET", path);
        assert!(code == 200 && said.contains(part), "{path}: {code} {said}");
    }
    assert_eq!(site.ask("POST", "/reset_counters"), (200, "OK\n".to_owned()));
    // Nobody but the server reaches the admin of Envoy itself.
    let socket = site.stack.data().join("envoy/admin.sock");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&socket).unwrap());
    assert_eq!(mode & 0o777, 0o600, "{}", socket.display());
}

pub(crate) fn mistakes_get_the_answers_of_envoy(site: &Site) {
    for (method, path, code, part) in [
        ("POST", "/logging?nonesuch=debug", 400, "unknown logger name"),
        ("POST", "/logging?level=loud", 400, "unknown logger level"),
        ("POST", "/logging?level=WARNING", 400, "unknown logger level"),
        ("POST", "/logging?http=loud", 400, "unknown logger level"),
        ("POST", "/logging?level=info&http=info", 400, "invalid number of parameters"),
        ("GET", "/logging?level=info", 405, "POST required"),
        ("PUT", "/logging?level=info", 405, "POST required"),
        ("GET", "/quitquitquit", 405, "POST required"),
        ("GET", "/healthcheck/fail", 405, "POST required"),
        ("GET", "/nonesuch", 404, "invalid path"),
        ("POST", "//logging?level=info", 404, "no such path"),
        ("GET", "/config_dump?resource=nonesuch", 404, "nonesuch"),
    ] {
        let (got, said) = site.ask(method, path);
        assert!(got == code && said.contains(part), "{method} {path}: {got} {said}");
    }
    assert_eq!(site.level("http"), "warning");
}

pub(crate) fn pages_from_elsewhere_are_refused(site: &Site) {
    for headers in [
        Headers::new().with("host", "rebound.example"),
        Headers::new().with("host", "localhost").with("origin", "http://evil.example"),
        Headers::new().with("host", "localhost").with("sec-fetch-site", "cross-site"),
    ] {
        for (method, path) in [("GET", "/config_dump"), ("POST", "/quitquitquit"), ("GET", "/ready")] {
            assert_eq!(site.ask_with(method, path, &headers).0, 403, "{method} {path} {headers:?}");
        }
    }
    // What a proxy sent on comes from somebody else.
    let forwarded = Headers::new().with("host", "localhost").with("x-forwarded-for", "192.0.2.1");
    assert_eq!(site.ask_with("GET", "/config_dump", &forwarded).0, 401);
}

pub(crate) fn logs_are_read_over_rest(site: &Site) {
    let (code, control) = site.rest("/keyward/v1/logs");
    assert!(code == 200 && control.contains("keyward serves"), "{code} {control}");
    assert!(control.contains("asked of the proxy's admin"), "no line of who changed levels: {control}");
    assert!(!control.contains("\u{1b}["), "colours: {control}");
    let (code, last) = site.rest("/keyward/v1/logs?component=control&tail=1");
    assert!(code == 200 && last.lines().count() == 1, "{code} {last}");
    assert_eq!(site.rest("/keyward/v1/logs?tail=0"), (200, String::new()));
    let (code, errors) = site.rest("/keyward/v1/logs?errorsOnly=true");
    assert!(code == 200 && errors.lines().all(|line| line.contains("ERROR")), "{code} {errors}");
    let (code, proxy) = site.rest("/keyward/v1/logs?component=gateway-proxy");
    assert!(code == 200 && proxy.contains(" [admin] change log level"), "{code} {proxy}");
    for query in ["component=envoy", "tail=x", "follow=maybe", "errorsOnly=1", "since=1h"] {
        let (code, said) = site.rest(&format!("/keyward/v1/logs?{query}"));
        assert!(code == 400 && said.contains("\"reason\":\"BadRequest\""), "{query}: {code} {said}");
    }
}
