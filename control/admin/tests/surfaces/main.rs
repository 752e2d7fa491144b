//! The ports as a client sees them, over a socket.

mod debug;
mod kit;

use serde_json::json;

use crate::kit::{Port, debug_port, dev_port, snapshots_port};

#[tokio::test]
async fn the_index_lists_every_endpoint_in_a_line() {
    let expected = [
        (
            debug_port(false),
            vec![
                "/logging",
                "/metrics",
                "/debug/pprof/profile",
                "/debug/pprof/heap",
                "/debug/tasks",
                "/zpages/tracez",
                "/zpages/rpcz",
            ],
        ),
        (debug_port(true), vec!["/logging", "/metrics", "/snapshots/input", "/snapshots/keys"]),
        (snapshots_port(), vec!["/snapshots/edge", "/snapshots/proxies", "/snapshots/xds"]),
        (dev_port(), vec!["/xds", "/xds/{key}", "/api"]),
    ];
    for (router, paths) in expected {
        let port = Port::open(router).await;
        let response = port.send("GET", "/", "look", "").await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/plain; charset=utf-8".parse().unwrap())
        );
        let text = response.text().await.unwrap();
        for path in paths {
            assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some(path)), "{path}: {text}");
        }
        let html = port
            .client
            .get(format!("{}/", port.base))
            .header("accept", "text/html,*/*")
            .send()
            .await
            .unwrap();
        assert!(html.text().await.unwrap().starts_with("<!doctype html>"));
    }
    let (_, text) = Port::open(debug_port(false)).await.get("/").await;
    assert!(!text.as_str().unwrap().contains("/snapshots"), "{text}");
}

#[tokio::test]
async fn levels_are_read_and_set() {
    let port = Port::open(debug_port(false)).await;
    assert_eq!(port.get("/logging").await, (200, json!({ "level": "info", "targets": {} })));
    for level in ["debug", "info", "warn", "error", "trace", "DEBUG"] {
        let (code, now) = port.put("/logging", &json!({ "level": level }).to_string()).await;
        assert_eq!((code, &now["level"]), (200, &json!(level.to_lowercase())));
    }
    let (code, now) = port.put("/logging", r#"{"targets":{"keyward_server::control":"trace"}}"#).await;
    assert_eq!(
        (code, now),
        (200, json!({ "level": "debug", "targets": { "keyward_server::control": "trace" } }))
    );
    let (code, now) =
        port.put("/logging", r#"{"level":"warn","targets":{"keyward_server::control":null}}"#).await;
    assert_eq!((code, now), (200, json!({ "level": "warn", "targets": {} })));
}

#[tokio::test]
async fn bad_levels_are_refused_with_those_that_are_accepted() {
    let port = Port::open(debug_port(false)).await;
    for body in [
        "",
        "x",
        "[]",
        "{}",
        "\"debug\"",
        r#"{"level":"loud"}"#,
        r#"{"level":""}"#,
        r#"{"level":4}"#,
        r#"{"level":null}"#,
        r#"{"level":"debug","x":1}"#,
        r#"{"targets":{"a":"loud"}}"#,
    ] {
        let (code, answer) = port.put("/logging", body).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(code == 400 && error.contains("debug, info, warn, error, trace"), "{body}: {code} {answer}");
    }
    for body in [r#"{"targets":[]}"#, r#"{"targets":{"a=b,c":"info"}}"#, r#"{"targets":{"":"info"}}"#] {
        let (code, answer) = port.put("/logging", body).await;
        assert!(code == 400 && answer["error"].is_string(), "{body}: {code} {answer}");
    }
    assert_eq!(port.get("/logging").await.1["level"], "info");
}

#[tokio::test]
async fn snapshots_come_in_the_envelope() {
    let port = Port::open(snapshots_port()).await;
    for (path, which) in
        [("/snapshots/input", "Input"), ("/snapshots/edge", "Edge"), ("/snapshots/xds", "Xds")]
    {
        assert_eq!(port.get(path).await, (200, json!({ "status": "revision 7", "data": which })));
    }
    let failed = |why: &str| json!({ "status": "failed", "data": null, "error": why });
    assert_eq!(port.get("/snapshots/proxies").await, (503, failed("nothing is translated yet")));
    assert_eq!(port.get("/snapshots/keys?pretty").await, (500, failed("it is broken")));
    let lines =
        async |path: &str| port.send("GET", path, "operate", "").await.text().await.unwrap().lines().count();
    assert_eq!((lines("/snapshots/input").await, lines("/snapshots/input?pretty").await), (1, 4));
}

#[tokio::test]
async fn snapshots_are_on_the_debug_port_only_where_they_are_wanted() {
    assert_eq!(Port::open(debug_port(false)).await.get("/snapshots/input").await.0, 404);
    assert_eq!(Port::open(debug_port(true)).await.get("/snapshots/input").await.0, 200);
}

#[tokio::test]
async fn dev_mode_shows_roles_their_snapshots_and_the_objects_and_calls_itself_deprecated() {
    let port = Port::open(dev_port()).await;
    assert_eq!(port.get("/xds").await.1["data"], json!(["a~one", "b~two"]));
    assert_eq!(port.get("/xds/a~one").await.1["data"], json!(["one"]));
    assert_eq!(port.get("/xds/a%7Eone").await.0, 200);
    assert_eq!(port.get("/api").await.1["data"], "Input");
    let (code, answer) = port.get("/xds/nobody").await;
    assert!(code == 404 && answer["error"].as_str().unwrap().contains("nobody"), "{answer}");
    for (method, path) in
        [("GET", "/"), ("GET", "/xds"), ("GET", "/xds/nobody"), ("GET", "/x"), ("POST", "/api")]
    {
        let response = port.send(method, path, "operate", "").await;
        assert_eq!(response.headers()["deprecation"], "@1795219200", "{method} {path}");
        assert_eq!(response.headers()["link"], "<http://127.0.0.1:9095/>; rel=\"successor-version\"");
    }
}

#[tokio::test]
async fn wrong_methods_and_parameters_are_refused() {
    for (router, paths) in [
        (
            debug_port(true),
            vec![
                ("/", "GET,HEAD"),
                ("/logging", "GET,HEAD,PUT"),
                ("/metrics", "GET,HEAD"),
                ("/debug/pprof/profile", "GET,HEAD"),
                ("/debug/pprof/heap", "GET,HEAD"),
                ("/debug/tasks", "GET,HEAD"),
                ("/zpages/tracez", "GET,HEAD"),
                ("/zpages/rpcz", "GET,HEAD"),
                ("/snapshots/keys", "GET,HEAD"),
            ],
        ),
        (snapshots_port(), vec![("/", "GET,HEAD"), ("/snapshots/input", "GET,HEAD")]),
        (
            dev_port(),
            vec![("/", "GET,HEAD"), ("/xds", "GET,HEAD"), ("/xds/a~one", "GET,HEAD"), ("/api", "GET,HEAD")],
        ),
    ] {
        let port = Port::open(router).await;
        for (path, methods) in paths {
            for method in ["POST", "DELETE", "PATCH"] {
                let response = port.send(method, path, "operate", "").await;
                assert_eq!(response.status(), 405, "{method} {path}");
                let allow = response.headers().get("allow").map(|allow| allow.to_str().unwrap().to_owned());
                assert_eq!(allow.as_deref(), Some(methods), "{method} {path}");
                let (_, answer) = Port::read(response).await;
                assert!(answer["error"].is_string(), "{method} {path}: {answer}");
            }
            for query in ["pretty=maybe", "prety", "level=debug"] {
                let (code, answer) = port.get(&format!("{path}?{query}")).await;
                assert!(code == 400 && answer["error"].is_string(), "{path}?{query}: {code} {answer}");
            }
        }
        let (code, answer) = port.get("/nothing").await;
        assert!(code == 404 && answer["error"].is_string(), "{answer}");
    }
}

#[tokio::test]
async fn data_and_changes_need_an_operator() {
    for (router, open, closed) in [
        (
            debug_port(true),
            vec!["/", "/logging", "/metrics", "/debug/tasks", "/zpages/tracez", "/zpages/rpcz"],
            vec!["/snapshots/input", "/snapshots/keys", "/debug/pprof/profile", "/debug/pprof/heap"],
        ),
        (
            snapshots_port(),
            vec!["/"],
            vec!["/snapshots/input", "/snapshots/edge", "/snapshots/proxies", "/snapshots/xds"],
        ),
        (dev_port(), vec!["/"], vec!["/xds", "/xds/a~one", "/api"]),
    ] {
        let port = Port::open(router).await;
        for path in open.iter().chain(&closed) {
            let code = port.send("GET", path, "nobody", "").await.status();
            assert_eq!(code, 401, "{path}");
            let expected = if open.contains(path) { 200 } else { 403 };
            let response = port.send("GET", path, "look", "").await;
            assert_eq!(response.status(), expected, "{path}");
        }
    }
    let port = Port::open(debug_port(false)).await;
    let (code, answer) = Port::read(port.send("PUT", "/logging", "look", r#"{"level":"trace"}"#).await).await;
    assert!(code == 403 && answer["error"].is_string(), "{answer}");
    assert_eq!(port.get("/logging").await.1["level"], "info");
}

#[tokio::test]
async fn metrics_say_that_they_are_open_metrics() {
    let port = Port::open(debug_port(false)).await;
    let request = port.client.get(format!("{}/metrics", port.base));
    let request = request.header("accept", "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let response = request.header("x-word", "look").send().await.unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert_eq!(response.text().await.unwrap(), "# EOF\n");
}
