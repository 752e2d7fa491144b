//! Holds what came back, and what arrived, against what was expected.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use hyper::HeaderMap;

use super::certificates;
use super::client::{Answered, Outcome};
use super::hosts::{Arrival, HOST_HEADER};
use super::model::{Expect, Seen};
use super::pattern::Pattern;

/// What came of one request.
pub(super) struct Observed {
    pub(super) outcome: Outcome,
    pub(super) arrived: Vec<Arrival>,
}

fn headers(what: &str, wanted: &BTreeMap<String, Pattern>, found: &HeaderMap) -> anyhow::Result<()> {
    for (name, pattern) in wanted {
        let values: Vec<&[u8]> =
            found.get_all(name).iter().map(hyper::header::HeaderValue::as_bytes).collect();
        pattern.check(&format!("{what} {name}"), &values)?;
    }
    Ok(())
}

/// Checks one answer by itself.
pub(super) fn one(expect: &Expect, observed: &Observed) -> anyhow::Result<()> {
    let Observed { outcome, arrived } = observed;
    session(expect, outcome)?;
    let answered = match (&outcome.result, &expect.error) {
        (Ok(answered), None) => answered,
        (Ok(answered), Some(error)) => bail!("status {} instead of the error {error}", answered.status),
        (Err(failure), Some(error)) => {
            ensure!(failure.stage == error, "the error is {failure}, not {error}");
            return Ok(());
        }
        (Err(failure), None) => bail!("there is no answer: {failure}"),
    };
    if let Some(status) = expect.status {
        let body = String::from_utf8_lossy(&answered.body);
        ensure!(answered.status == status, "status is {}, not {status}: {body}", answered.status);
    }
    headers("response header", &expect.headers, &answered.headers)?;
    if let Some(body) = &expect.body {
        body.check("body", &[&answered.body])?;
    }
    let least = u128::from(expect.at_least_ms);
    let took = outcome.took.as_millis();
    ensure!(took >= least, "the answer took {took} ms, not {least}");
    let answered_by = host(answered);
    if let Some(wanted) = &expect.upstream {
        ensure!(answered_by == *wanted, "answered by {answered_by:?}, not by {wanted:?}");
        if wanted.is_none() {
            ensure!(arrived.is_empty(), "it arrived at {:?}", places(arrived));
        }
    }
    let copies = |arrival: &&Arrival| expect.shadow.contains(&arrival.at);
    for shadow in &expect.shadow {
        ensure!(arrived.iter().any(|arrival| arrival.at == *shadow), "no copy arrived at {shadow}");
    }
    if let Some(wanted) = &expect.copied {
        for copy in arrived.iter().filter(copies) {
            seen(wanted, copy).with_context(|| format!("as {} saw the copy", copy.at))?;
        }
    }
    let attempts: Vec<&Arrival> = arrived.iter().filter(|arrival| !copies(arrival)).collect();
    if let Some(wanted) = expect.attempts {
        ensure!(
            attempts.len() == wanted,
            "{} attempts arrived, not {wanted}: {:?}",
            attempts.len(),
            places(arrived)
        );
    }
    if let Some(wanted) = &expect.seen {
        let last = attempts.last().context("no host saw it")?;
        seen(wanted, last).with_context(|| format!("as {} saw it", last.at))?;
    }
    Ok(())
}

fn session(expect: &Expect, outcome: &Outcome) -> anyhow::Result<()> {
    if let Some(name) = &expect.certificate {
        let shown = outcome.session.certificate.as_ref().context("the gateway showed no certificate")?;
        let right = certificates::chain(name)?.first() == Some(shown);
        ensure!(right, "the gateway showed another certificate than {name}");
    }
    if let Some(alpn) = &expect.alpn {
        let agreed = outcome.session.alpn.as_ref();
        ensure!(agreed == Some(alpn), "agreed on {agreed:?}, not on {alpn}");
    }
    Ok(())
}

fn seen(wanted: &Seen, arrival: &Arrival) -> anyhow::Result<()> {
    let texts = [
        ("method", &wanted.method, Some(&arrival.method)),
        ("path", &wanted.path, Some(&arrival.path)),
        ("host", &wanted.host, arrival.authority.as_ref()),
        ("server name", &wanted.sni, arrival.peer.sni.as_ref()),
    ];
    for (what, pattern, found) in texts {
        if let Some(pattern) = pattern {
            pattern.check(what, found.as_slice())?;
        }
    }
    headers("request header", &wanted.headers, &arrival.headers)?;
    if let Some(body) = &wanted.body {
        body.check("request body", &[&arrival.body])?;
    }
    if let Some(http) = wanted.http {
        ensure!(arrival.http == http, "HTTP/{}, not HTTP/{http}", arrival.http);
    }
    if let Some(certificate) = wanted.client_certificate {
        let shown = arrival.peer.certificate;
        ensure!(shown == certificate, "a client certificate: {shown}, not {certificate}");
    }
    Ok(())
}

fn host(answered: &Answered) -> Option<String> {
    Some(answered.headers.get(HOST_HEADER)?.to_str().ok()?.to_owned())
}

fn places(arrived: &[Arrival]) -> Vec<&str> {
    arrived.iter().map(|arrival| arrival.at.as_str()).collect()
}

/// Checks all repetitions together.
pub(super) fn all(expect: &Expect, observed: &[Observed]) -> anyhow::Result<()> {
    let mut by_host: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_status: BTreeMap<String, usize> = BTreeMap::new();
    for answered in observed.iter().filter_map(|one| one.outcome.result.as_ref().ok()) {
        *by_host.entry(host(answered).unwrap_or_else(|| "none".to_owned())).or_default() += 1;
        *by_status.entry(answered.status.to_string()).or_default() += 1;
    }
    shares("host", &expect.shares, &by_host, expect.tolerance)?;
    shares("status", &expect.statuses, &by_status, expect.tolerance)?;
    if expect.same_upstream {
        ensure!(
            by_host.len() == 1 && !by_host.contains_key("none"),
            "answered by {by_host:?}, not by one host"
        );
    }
    Ok(())
}

/// Holds counts against shares. Nothing else may have a share.
fn shares(
    what: &str,
    wanted: &BTreeMap<String, usize>,
    found: &BTreeMap<String, usize>,
    tolerance: usize,
) -> anyhow::Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    for (name, share) in wanted {
        let count = found.get(name).copied().unwrap_or_default();
        ensure!(count.abs_diff(*share) <= tolerance, "{what} {name} has {count}, not {share}: {found:?}");
    }
    let stranger = found.keys().find(|name| !wanted.contains_key(*name));
    if let Some(stranger) = stranger {
        bail!("{what} {stranger} has a share as well: {found:?}");
    }
    Ok(())
}
