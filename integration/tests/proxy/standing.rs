//! `keyward proxy status` where things are not well: a proxy that refuses something, and one that does not answer.

use std::net::TcpListener;

use anyhow::{Context as _, ensure};
use keyward_integration::stack::{Options, Process, Proxy, Stack};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::kit::Site;

const ROLE: &str = "keyward-system~gateway-proxy";
/// The node id of an Envoy that nobody supervises.
const NODE: &str = "test-proxy";

/// What stands in the matrix for a type of configuration of the proxy: its heading says where in the line.
fn cell(status: &str, heading: &str) -> anyhow::Result<String> {
    let mut lines = status.lines();
    let headings = lines.next().context("no headings")?;
    let at = headings.find(heading).with_context(|| format!("no {heading} in {headings}"))?;
    let row = lines.next().filter(|row| row.starts_with(NODE)).with_context(|| status.to_owned())?;
    let rest = row.get(at..).unwrap_or_default();
    Ok(rest.split("   ").next().unwrap_or_default().trim().to_owned())
}

/// Waits until that is like this; answers with all of the status.
fn shows(site: &Site, heading: &str, pattern: &str) -> String {
    let pattern = Regex::new(&format!("^{pattern}$")).unwrap();
    site.soon(&format!("{heading} to be {pattern}"), || {
        let status = site.say(&["proxy", "status"]);
        let cell = cell(&status, heading)?;
        ensure!(pattern.is_match(&cell), "it is {cell:?}:\n{status}");
        Ok(status)
    })
}

fn signal(process: &Process, signal: Signal) {
    kill_process(Pid::from_raw(process.pid().unwrap()).unwrap(), signal).unwrap();
}

fn upstream(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
        "metadata": { "namespace": "team", "name": name },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 9 }] } },
    })
}

fn service(upstream: &str) -> serde_json::Value {
    json!({
        "apiVersion": "gateway.keyward.io/v1", "kind": "VirtualService",
        "metadata": { "namespace": "team", "name": "site" },
        "spec": { "virtualHost": { "domains": ["site.test"], "routes": [{
            "matchers": [{ "prefix": "/" }],
            "routeAction": { "single": { "upstream": { "namespace": "team", "name": upstream } } },
        }] } },
    })
}

#[test]
fn what_a_proxy_refuses_and_what_it_does_not_answer_stand_in_the_matrix() {
    let site = Site { stack: Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap() };
    let rest = site.stack.rest();
    rest.apply(&upstream("first")).unwrap();
    rest.apply(&service("first")).unwrap();
    // Somebody else listens where the default Gateway is to.
    let taken = TcpListener::bind(site.stack.gateway()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let envoy = Proxy::new(site.stack.admin()).start(folder.path(), ROLE, site.stack.xds()).unwrap();

    let status = shows(&site, "LISTENERS", r"NACKED [1-9]\d*s");
    assert!(cell(&status, "CLUSTERS").unwrap().starts_with("SYNCED "), "{status}");
    assert_eq!(cell(&status, "SECRETS").unwrap(), "NOT SENT", "{status}");
    let refused =
        Regex::new(&format!(r"(?m)^{NODE} +listeners +\S+: .*cannot bind '{}'", site.stack.gateway()));
    assert!(refused.unwrap().is_match(&status), "{status}");
    // To a program the same, with the time since when.
    let json: serde_json::Value =
        serde_json::from_str(&site.say(&["proxy", "status", "-o", "json"])).unwrap();
    let types = json["proxies"][0]["configurationTypes"].as_array().unwrap();
    let listeners = types.iter().find(|it| it["type"] == "listeners").unwrap();
    assert!(listeners["error"].as_str().is_some_and(|error| error.contains("cannot bind")), "{json}");
    assert!(listeners["since"].is_string(), "{json}");
    drop(taken);
    let status = shows(&site, "LISTENERS", r"SYNCED \d+s");
    assert!(!status.contains("REFUSES"), "{status}");

    // It runs no more, and its connection stands.
    signal(&envoy, Signal::STOP);
    rest.apply(&upstream("second")).unwrap();
    rest.apply(&service("second")).unwrap();
    let status = shows(&site, "CLUSTERS", r"STALE [1-9]\d*s");
    assert!(cell(&status, "LISTENERS").unwrap().starts_with("SYNCED "), "{status}");
    signal(&envoy, Signal::CONT);
    shows(&site, "CLUSTERS", r"SYNCED \d+s");
    shows(&site, "ROUTES", r"SYNCED \d+s");
}
