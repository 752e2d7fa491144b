//! Keys and private keys, where everything is shown and everything is logged.

use anyhow::ensure;
use keyward_integration::headers::Headers;

use crate::kit::{HOST, KEY, Site, certificate};

/// Requests with the key in every place in which one may stand, right and wrong.
fn traffic(site: &Site) {
    let requests: [(&str, Headers); 7] = [
        ("/", Headers::new().with("api-key", KEY)),
        ("/", Headers::new().with("authorization", format!("Bearer {KEY}"))),
        ("/", Headers::new().with("cookie", format!("key={KEY}"))),
        (&format!("/?key={KEY}"), Headers::new()),
        ("/", Headers::new().with("api-key", format!("{KEY}-wrong"))),
        ("/", Headers::new().with("api-key", KEY).with("te", KEY).with("connection", "te, api-key")),
        (&format!("/{KEY}//x/../y"), Headers::new().with("api-key", KEY).with("x-request-id", KEY)),
    ];
    for (path, headers) in requests {
        site.stack.send(HOST, path, &headers).unwrap();
    }
}

fn log(site: &Site) -> String {
    std::fs::read_to_string(site.stack.data().join("envoy/envoy.log")).unwrap()
}

pub(crate) fn no_level_lets_a_key_into_the_log(site: &Site) {
    for level in ["debug", "trace"] {
        let (code, said) = site.ask("POST", &format!("/logging?level={level}"));
        assert!(code == 200 && said.contains("note: these stay at info"), "{code} {said}");
        assert_eq!((site.level("upstream"), site.level("connection")), (level.to_owned(), level.to_owned()));
        for logger in ["http", "http2", "router", "rbac", "filter", "wasm", "client", "misc"] {
            assert_eq!(site.level(logger), "info", "{logger}");
        }
        let before = log(site).len();
        traffic(site);
        site.soon("lines at this level", || {
            let log = log(site);
            let fresh = log.get(before..).unwrap_or_default();
            ensure!(fresh.lines().any(|line| line.starts_with(level)), "none in {} bytes", fresh.len());
            Ok(())
        });
    }
    assert_eq!(site.ask("POST", "/logging?level=warning").0, 200);
    let kept = site.soon("the log to be kept", || {
        let (_, kept) = site.rest("/keyward/v1/logs?component=gateway-proxy");
        ensure!(kept.contains(" trace "), "no line of that level in {} bytes", kept.len());
        Ok(kept)
    });
    for (what, text) in
        [("the log of the proxy", log(site)), ("what is kept of it", kept), ("all", site.stack.logs())]
    {
        let line = text.lines().find(|line| line.to_lowercase().contains(KEY));
        assert_eq!(line, None, "a key in {what}");
    }
}

pub(crate) fn a_logger_that_writes_requests_writes_to_the_file_alone(site: &Site) {
    let (code, said) = site.ask("POST", "/logging?http=debug");
    assert!(code == 200 && said.contains("note: the logger http writes whole requests"), "{code} {said}");
    assert_eq!(site.level("http"), "debug");
    traffic(site);
    let kept = site.soon("the line to be passed on", || {
        let (_, kept) = site.rest("/keyward/v1/logs?component=gateway-proxy");
        ensure!(kept.contains("[http] (may hold an API key"), "no such line in {} bytes", kept.len());
        Ok(kept)
    });
    assert_eq!(site.ask("POST", "/logging?level=warning").0, 200);
    assert!(log(site).contains("request headers complete"), "nothing was logged");
    let line = kept.lines().find(|line| line.to_lowercase().contains(KEY));
    assert_eq!(line, None, "a key in what is kept of the log");
}

pub(crate) fn nothing_that_is_shown_holds_a_key(site: &Site) {
    let private = certificate("web.key");
    let encoded = private.lines().find(|line| !line.starts_with('-')).unwrap();
    for path in [
        "/config_dump?include_eds",
        "/certs",
        "/stats",
        "/clusters",
        "/server_info",
        "/runtime",
        "/init_dump",
    ] {
        let (code, said) = site.ask("GET", path);
        assert_eq!(code, 200, "{path}");
        assert!(!said.contains(KEY) && !said.contains("PRIVATE KEY") && !said.contains(encoded), "{path}");
    }
    let (_, dump) = site.ask("GET", "/config_dump");
    assert!(
        dump.contains("\"tls:team/web\"") && dump.contains("W3JlZGFjdGVkXQ=="),
        "its key is not redacted"
    );
}
