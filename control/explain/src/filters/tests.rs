use keyward_filter_core::capability::{ANONYMOUS, ANONYMOUS_STATE};
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

fn condition(input: &Value, value: &Value) -> Value {
    json!({
        "predicate": { "singlePredicate": { "input": { "typedConfig": input }, "valueMatch": value } },
        "onMatch": { "action": { "typedConfig": { "@type": "type.googleapis.com/a.SkipFilter" } } },
    })
}

fn identified() -> Value {
    let input =
        json!({ "@type": "type.googleapis.com/a.HttpRequestHeaderMatchInput", "headerName": "x-user-id" });
    condition(&input, &json!({ "safeRegex": { "regex": "\\C*" } }))
}

fn anonymous(value: &str) -> Value {
    let input = json!({ "@type": "type.googleapis.com/a.FilterStateInput", "key": ANONYMOUS_STATE });
    condition(&input, &json!({ "exact": value }))
}

fn sparing(conditions: &[Value]) -> Value {
    json!({
        "extensionConfig": { "typedConfig": { "@type": "type.googleapis.com/a.RBAC", "rules": {} } },
        "xdsMatcher": { "matcherList": { "matchers": conditions } },
    })
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
    let strict = sparing(&[identified()]);
    let lenient = sparing(&[identified(), anonymous(ANONYMOUS)]);
    for (own, scene, expected) in [
        (None, scene(&[("x-user-id", "ann")], false), "passes"),
        (None, scene(&[], false), "stopped"),
        (None, scene(&[], true), "stopped"),
        (Some(&lenient), scene(&[], true), "passes"),
        (Some(&lenient), scene(&[], false), "stopped"),
        (Some(&lenient), scene(&[("x-user-id", "ann")], false), "passes"),
        (Some(&sparing(&[anonymous("perhaps")])), scene(&[], true), "stopped"),
        (Some(&sparing(&[])), scene(&[("x-user-id", "ann")], false), "stopped"),
    ] {
        assert_eq!(word(guard::pass(own, &strict, &scene)), expected);
    }
}

#[test]
fn a_guard_that_is_not_known_is_not_taken_for_one_that_is() {
    let person = scene(&[("x-user-id", "ann")], false);
    let known = || sparing(&[identified()]);
    let with = |pointer: &str, value: Value| {
        let mut other = known();
        *other.pointer_mut(pointer).expect(pointer) = value;
        other
    };
    let condition = "/xdsMatcher/matcherList/matchers/0";
    let others = [
        json!({}),
        json!({ "rules": {} }),
        with("/extensionConfig/typedConfig/rules", json!({ "policies": { "it": {} } })),
        with("/extensionConfig/typedConfig/@type", json!("type.googleapis.com/a.Other")),
        with(&format!("{condition}/onMatch/action/typedConfig/@type"), json!("type.googleapis.com/a.Other")),
        with(&format!("{condition}/predicate/singlePredicate/valueMatch"), json!({ "exact": "ann" })),
        with(&format!("{condition}/predicate"), json!({ "notMatcher": {} })),
        with("/xdsMatcher", json!({ "matcherTree": {} })),
    ];
    assert_eq!(word(guard::pass(None, &known(), &person)), "passes");
    for other in others {
        assert_eq!(word(guard::pass(None, &other, &person)), "untold", "{other}");
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
