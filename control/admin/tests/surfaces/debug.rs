//! Profiles, tasks, spans and calls.

use serde_json::json;

use crate::kit::{Port, debug_port};

#[tokio::test]
async fn a_profile_is_taken_as_it_is_asked_for() {
    let port = Port::open(debug_port(false)).await;
    for (path, expected) in [
        ("/debug/pprof/profile", "10 99 Pprof"),
        ("/debug/pprof/profile?seconds=60&frequency=1000", "60 1000 Pprof"),
        ("/debug/pprof/profile?seconds=1&frequency=1&format=folded", "1 1 Folded"),
        ("/debug/pprof/heap", "heap"),
    ] {
        let response = port.send("GET", path, "operate", "").await;
        let kind =
            if path.contains("folded") { "text/plain; charset=utf-8" } else { "application/octet-stream" };
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &kind.parse().unwrap())
        );
        assert_eq!(response.text().await.unwrap(), expected, "{path}");
    }
}

#[tokio::test]
async fn what_no_profile_can_be_taken_of_is_refused_with_what_can() {
    let port = Port::open(debug_port(false)).await;
    for (path, code, why) in [
        ("/debug/pprof/profile?seconds=0", 400, "from 1 to 60"),
        ("/debug/pprof/profile?seconds=61", 400, "from 1 to 60"),
        ("/debug/pprof/profile?seconds=ten", 400, "from 1 to 60"),
        ("/debug/pprof/profile?frequency=0", 400, "from 1 to 1000"),
        ("/debug/pprof/profile?frequency=1001", 400, "from 1 to 1000"),
        ("/debug/pprof/profile?format=svg", 400, "pprof or folded"),
        ("/debug/pprof/profile?second=5", 400, "seconds, frequency, format"),
        ("/debug/pprof/profile?seconds=5&seconds=6", 400, "twice"),
        ("/debug/pprof/profile?seconds=59", 429, "another one"),
        ("/debug/pprof/heap?seconds=5", 400, "there is format"),
        ("/debug/pprof/heap?format=svg", 400, "pprof or folded"),
        ("/debug/pprof/heap?format=folded", 503, "nothing is sampled"),
    ] {
        let (got, answer) = port.get(path).await;
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(got == code && error.contains(why), "{path}: {got} {answer}");
    }
}

#[tokio::test]
async fn tasks_are_shown_to_programs_and_to_people() {
    let port = Port::open(debug_port(false)).await;
    let (_, report) = port.get("/debug/tasks").await;
    assert_eq!(report["runtime"]["workers"], json!([{ "busyMilliseconds": 12, "parks": 3 }]));
    assert_eq!(report["tasks"][0]["name"], "control loop");
    assert_eq!(report["tasks"][0]["state"], "waiting");
    let (_, text) = port.get("/debug/tasks?format=text").await;
    let text = text.as_str().unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("control loop  waiting  2026-11-21T00:00:00Z")),
        "{text}"
    );
    assert_eq!(port.get("/debug/tasks?format=html").await.0, 400);
}

#[tokio::test]
async fn spans_are_counted_by_latency_and_some_are_shown() {
    let port = Port::open(debug_port(false)).await;
    let (code, answer) = port.get("/zpages/tracez").await;
    assert_eq!((code, answer["data"].as_array().map(Vec::len)), (200, Some(2)), "{answer}");
    let (write, translate) = (&answer["data"][0], &answer["data"][1]);
    assert_eq!(
        (&write["name"], &write["running"], &write["failed"]),
        (&json!("store.write"), &json!(0), &json!(0))
    );
    let latencies = write["latencies"].as_array().unwrap();
    let counts: Vec<u64> = latencies.iter().filter_map(|of| of["count"].as_u64()).collect();
    assert_eq!((counts.len(), counts.iter().sum::<u64>()), (9, 1));
    assert_eq!((&latencies[0]["bucket"], &latencies[8]["bucket"]), (&json!(">0s"), &json!(">100s")));
    assert_eq!((&translate["name"], &translate["failed"]), (&json!("translate"), &json!(1)));

    let (_, failed) = port.get("/zpages/tracez?name=translate&which=failed").await;
    assert_eq!(
        (failed["data"].as_array().map(Vec::len), &failed["data"][0]["failed"]),
        (Some(1), &json!(true))
    );
    assert_eq!(failed["data"][0]["trace"].as_str().map(str::len), Some(32));
    let bucket = counts.iter().position(|count| *count == 1).unwrap();
    let path = format!("/zpages/tracez?name=store.write&which={bucket}");
    assert_eq!(port.get(&path).await.1["data"][0]["fields"], json!({ "kind": "<b>&Secret</b>" }));
    assert_eq!(port.get("/zpages/tracez?name=store.write").await.1["data"], json!([]), "none is under way");

    let (_, page) = port.get(&format!("{path}&format=html")).await;
    let page = page.as_str().unwrap();
    assert!(page.contains("kind=&lt;b&gt;&amp;Secret&lt;/b&gt;") && !page.contains("<b>"), "{page}");
    let (_, page) = port.get("/zpages/tracez?format=html").await;
    assert!(page.as_str().unwrap().contains("?name=translate&amp;which=failed"), "{page}");

    for (path, code) in
        [("name=nobody", 404), ("name=translate&which=9", 400), ("which=often", 400), ("format=svg", 400)]
    {
        let (got, answer) = port.get(&format!("/zpages/tracez?{path}")).await;
        assert!(got == code && answer["error"].is_string(), "{path}: {got} {answer}");
    }
}

#[tokio::test]
async fn calls_are_counted_by_method() {
    let port = Port::open(debug_port(false)).await;
    let (_, answer) = port.get("/zpages/rpcz").await;
    let one = &answer["data"][0];
    assert_eq!((&one["side"], &one["method"], &one["begun"]), (&json!("grpc"), &json!("a.B/C"), &json!(1)));
    assert_eq!((&one["running"], &one["failed"], &one["sentBytes"]), (&json!(0), &json!(0), &json!(0)));
    let (_, page) = port.get("/zpages/rpcz?format=html").await;
    assert!(page.as_str().unwrap().contains("<td>a.B/C<td"), "{page}");
}
