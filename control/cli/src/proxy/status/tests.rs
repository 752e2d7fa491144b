use serde_json::json;

use super::*;

#[test]
fn each_proxy_has_a_row_and_each_worker_and_each_refusal() {
    let worker = |name: &str, state: &str, lag: u64| {
        json!({
            "name": name, "state": state, "build": "0.1.0", "revision": "7", "lagMilliseconds": lag,
            "lastAcknowledged": (lag == 0).then_some("2026-01-01T00:00:00.000Z"), "tables": {},
        })
    };
    let answer = json!({
        "synced": false, "workers": 2, "confirmed": 1, "message": "1 of 2 workers lags", "proxies": [{
            "node": "edge", "role": "a~b", "configuration": "Rejected",
            "workers": [worker("w1", "Synced", 0), worker("w2", "Behind", 1200)],
        }],
    });
    let standing = json!({ "components": [], "proxies": [{
        "node": "edge", "role": "a~b", "connected": true,
        "types": [
            { "type": "clusters", "state": "NACKED", "since": "2026-01-01T00:00:00Z", "error": "x_y: no\n good" },
            { "type": "listeners", "state": "SYNCED", "since": "2026-01-01T01:00:00Z", "version": "1" },
            { "type": "routes", "state": "STALE", "since": "2026-01-01T01:59:48Z" },
        ],
    }] });
    let merged = with_standing(answer.clone(), &standing);
    assert_eq!(merged["proxies"][0]["configurationTypes"][1]["state"], "SYNCED");
    assert_eq!(merged["proxies"][0]["workers"], answer["proxies"][0]["workers"]);
    let answer: Answer = serde_json::from_value(answer).unwrap();
    let standing: Standing = serde_json::from_value(standing).unwrap();
    let expected = "\
PROXY   ROLE   LISTENERS    ROUTES      FILTERS    CLUSTERS    ENDPOINTS   SECRETS
edge    a~b    SYNCED 60m   STALE 12s   NOT SENT   NACKED 2h   NOT SENT    NOT SENT

PROXY   WORKER   KEYS     FILTER   REVISION   LAG       LAST ACKNOWLEDGED
edge    w1       SYNCED   0.1.0    7          0 ms      2026-01-01T00:00:00.000Z
edge    w2       BEHIND   0.1.0    7          1200 ms   -

PROXY   REFUSES    WHY
edge    clusters   x_y: no good";
    assert_eq!(tables(&answer, &standing, "2026-01-01T02:00:00Z".parse().unwrap()), expected);
}
