//! Tests of statuses.

use super::*;

const NO_PROXIES: &BTreeMap<String, Report> = &BTreeMap::new();

fn saying(report: Option<&Report>) -> Saying<'_> {
    Saying { system_namespace: "keyward-system", generation: 3, report, proxies: NO_PROXIES }
}

fn report(state: State, reasons: &[&str]) -> Report {
    Report { state, reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect() }
}

#[test]
fn it_is_pending_until_there_is_a_report() {
    let status = saying(None).status(None, "2026-01-01T00:00:00Z");
    assert_eq!(
        status,
        json!({
            "state": "Pending",
            "reason": Saying::NOT_YET,
            "observedGeneration": 3,
            "statuses": {
                "keyward-system": { "state": "Pending", "reason": Saying::NOT_YET, "reportedBy": "keyward" },
            },
            "conditions": [{
                "type": "Accepted",
                "status": "Unknown",
                "reason": "Pending",
                "message": Saying::NOT_YET,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 3,
            }],
        })
    );
}

#[test]
fn what_is_not_looked_at_says_why() {
    let pending = report(State::Pending, &["nobody watches its namespace"]);
    let status = saying(Some(&pending)).status(None, "t");
    assert_eq!((&status["state"], &status["reason"]), (&json!("Pending"), &json!(pending.reasons[0])));
    assert_eq!(status["conditions"][0]["status"], "Unknown");
}

#[test]
fn a_condition_keeps_its_time_until_it_changes() {
    let warned = report(State::Warning, &["one", "two"]);
    let rejected = report(State::Rejected, &["three"]);
    let first = saying(Some(&warned)).status(None, "t1");
    assert_eq!((&first["state"], &first["reason"]), (&json!("Warning"), &json!("one; two")));
    let accepted = report(State::Accepted, &[]);
    let second = saying(Some(&accepted)).status(Some(&first), "t2");
    assert_eq!(second["conditions"][0]["lastTransitionTime"], "t1", "served before and after");
    let third = saying(Some(&rejected)).status(Some(&second), "t3");
    assert_eq!(third["conditions"][0]["lastTransitionTime"], "t3");
    assert_eq!(third["conditions"][0]["status"], "False");
}

#[test]
fn every_proxy_has_its_say() {
    let proxies = BTreeMap::from([("gateway-proxy".to_owned(), report(State::Rejected, &["bad"]))]);
    let accepted = report(State::Accepted, &[]);
    let status = Saying { proxies: &proxies, ..saying(Some(&accepted)) }.status(None, "t");
    let said = &status["statuses"]["keyward-system"]["subresourceStatuses"];
    assert_eq!(said["*v1.Proxy.gateway-proxy_keyward-system"]["reason"], "bad");
}

#[test]
fn long_reasons_are_cut() {
    let many: Vec<String> = (0..500).map(|index| format!("reason number {index}")).collect();
    let report = Report { state: State::Warning, reasons: many };
    let status = saying(Some(&report)).status(None, "t");
    let reason = status["reason"].as_str().expect("a reason");
    assert!(reason.len() < MAX_REASON_LEN + 32 && reason.ends_with(" more"), "{reason}");
}
