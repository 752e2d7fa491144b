use serde_json::json;

use super::*;
use crate::headers::Headers;

fn scene(headers: &[(&str, &str)], anonymous: bool) -> Scene {
    let mut all = Headers::default();
    headers.iter().for_each(|(name, value)| all.add(name, value.as_bytes()));
    let mut scene = Scene::new(all, "a/b|r", 0);
    scene.anonymous = anonymous;
    scene
}

fn rules(principals: &Value) -> Value {
    json!({ "policies": { "it": { "permissions": [{ "any": true }], "principals": principals } } })
}

fn word(outcome: Result<(), Stop>) -> &'static str {
    match outcome {
        Ok(()) => "passes",
        Err(Stop::Guarded) => "stopped",
        Err(Stop::Untold(_)) => "untold",
        Err(_) => "something else",
    }
}

#[test]
fn nobody_passes_the_guard_without_an_identity_unless_the_filter_says_so() {
    let identified = json!({ "header": { "name": "x-user-id", "presentMatch": true } });
    let anonymous =
        json!({ "filterState": { "key": ANONYMOUS_STATE, "stringMatch": { "exact": ANONYMOUS } } });
    let strict = json!({ "rules": rules(&json!([identified])) });
    let lenient = json!({ "rbac": { "rules": rules(&json!([identified, anonymous])) } });
    for (own, scene, expected) in [
        (None, scene(&[("x-user-id", "ann")], false), "passes"),
        (None, scene(&[], false), "stopped"),
        (None, scene(&[], true), "stopped"),
        (Some(&lenient), scene(&[], true), "passes"),
        (Some(&lenient), scene(&[], false), "stopped"),
        (Some(&lenient), scene(&[("x-user-id", "ann")], false), "passes"),
    ] {
        assert_eq!(word(guard(own, &strict, &scene)), expected);
    }
}

#[test]
fn a_guard_that_is_not_known_is_not_taken_for_one_that_is() {
    let person = scene(&[("x-user-id", "ann")], false);
    let known = json!([{ "header": { "name": "x-user-id", "presentMatch": true } }]);
    let others = [
        json!({}),
        json!({ "rules": rules(&json!([{ "any": true }])) }),
        json!({ "rules": rules(&json!([{ "header": { "name": "x-user-id", "stringMatch": {} } }])) }),
        json!({ "rules": { "action": "DENY", "policies": rules(&known)["policies"] } }),
        json!({ "rules": { "policies": { "it": { "permissions": [], "principals": known } } } }),
    ];
    for other in others {
        assert_eq!(word(guard(None, &other, &person)), "untold", "{other}");
    }
}

#[test]
fn faults_are_for_all_for_some_or_for_none() {
    let abort = |numerator: u32, denominator: &str| {
        let percentage = json!({ "numerator": numerator, "denominator": denominator });
        json!({ "abort": { "httpStatus": 503, "percentage": percentage } })
    };
    assert!(matches!(fault(&abort(1_000_000, "MILLION")), Err(Stop::Fault(503))));
    assert!(matches!(fault(&abort(100, "HUNDRED")), Err(Stop::Fault(503))));
    let some = fault(&abort(250_000, "MILLION")).ok().flatten();
    assert_eq!(some, Some(Fault { status: 503, percent: 25.0 }));
    assert!(matches!(fault(&abort(0, "MILLION")), Ok(None)));
    assert!(matches!(fault(&json!({ "delay": {} })), Ok(None)));
    for unknown in [json!({ "headers": [] }), json!({ "abort": { "grpcStatus": 1 } }), abort(1, "DOZEN")] {
        assert!(matches!(fault(&unknown), Err(Stop::Untold(_))), "{unknown}");
    }
}
