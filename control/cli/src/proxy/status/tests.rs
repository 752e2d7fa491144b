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
            "types": {
                "listeners": { "state": "Synced", "held": 1 },
                "clusters": { "state": "Nacked", "held": 1, "refused": [{ "name": "x_y", "message": "no\n good" }] },
                "routes": { "state": "Stale", "held": 0 },
            },
            "workers": [worker("w1", "Synced", 0), worker("w2", "Behind", 1200)],
        }],
    });
    let answer: Answer = serde_json::from_value(answer).unwrap();
    let expected = "\
PROXY   ROLE   LISTENERS   ROUTES   VIRTUAL HOSTS   FILTERS    CLUSTERS   ENDPOINTS   SECRETS
edge    a~b    SYNCED      STALE    NOT SENT        NOT SENT   NACKED     NOT SENT    NOT SENT

PROXY   WORKER   KEYS     FILTER   REVISION   LAG       LAST ACKNOWLEDGED
edge    w1       SYNCED   0.1.0    7          0 ms      2026-01-01T00:00:00.000Z
edge    w2       BEHIND   0.1.0    7          1200 ms   -

PROXY   REFUSES        WHY
edge    clusters/x_y   no good";
    assert_eq!(tables(&answer), expected);
}
