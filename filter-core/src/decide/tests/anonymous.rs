//! Policies by which requests without a key pass.

use super::*;

/// The step for `api-key` is anonymous, that for `x-staff-key` only where that is said.
fn config() -> FilterConfig {
    let partners = || Step { anonymous: true, ..step("api-key", "partners") };
    let staff = |anonymous| Step { anonymous, ..step("x-staff-key", "staff") };
    let of = |staff, rule| Policy::new(vec![partners(), staff], rule);
    let any = |steps: [usize; 2]| Some(Rule::Any(steps.map(Rule::Step).into()));
    let not = |step| Rule::Not(Box::new(Rule::Step(step)));
    let policies = [
        ("ns/one", Policy::of(partners())),
        ("ns/every", of(staff(false), None)),
        ("ns/none", of(staff(true), None)),
        ("ns/either", of(staff(false), any([0, 1]))),
        ("ns/other", of(staff(false), any([1, 0]))),
        ("ns/but", of(staff(false), Some(Rule::All(vec![Rule::Step(0), not(1)])))),
        ("ns/absent", of(staff(false), Some(not(0)))),
    ];
    FilterConfig {
        policies: policies.map(|(auth_id, policy)| (auth_id.to_owned(), policy)).into(),
        ..super::config()
    }
}

fn check(policy: &str, partner: &[u8], staff: &[u8], expected: &str) {
    let headers = [("api-key", partner), ("x-staff-key", staff)];
    check_with(&config(), &tables(), &format!("{policy}|r"), &headers, expected);
}

#[test]
fn who_brings_no_key_is_nobody_and_a_wrong_one_is_still_wrong() {
    check("ns/one", b"", b"", "nobody");
    check("ns/one", b"k1", b"", "ann");
    check("ns/one", b"zz", b"", "Deny(Unknown)");
    // A header that no step looks at.
    check("ns/one", b"", b"zz", "nobody");
}

#[test]
fn a_step_that_demands_a_key_goes_on_demanding_it() {
    check("ns/every", b"", b"", "Deny(Missing)");
    check("ns/every", b"", b"k1", "eve");
    check("ns/every", b"k1", b"k1", "ann eve");
    check("ns/every", b"k1", b"", "Deny(Missing)");
    check("ns/every", b"zz", b"k1", "Deny(Unknown)");
    check("ns/none", b"", b"", "nobody");
    check("ns/none", b"k1", b"", "ann");
    check("ns/none", b"", b"k1", "eve");
    check("ns/none", b"zz", b"", "Deny(Unknown)");
    check("ns/none", b"zz", b"k1", "Deny(Unknown)");
}

#[test]
fn a_valid_key_gives_its_identity_wherever_the_rule_names_it() {
    for policy in ["ns/either", "ns/other"] {
        check(policy, b"", b"", "nobody");
        check(policy, b"k1", b"", "ann");
        check(policy, b"", b"k1", "eve");
        // The step that is anonymous would be enough; but this is no request without a key.
        check(policy, b"", b"zz", "Deny(Unknown)");
        check(policy, b"zz", b"", "Deny(Unknown)");
        check(policy, b"zz", b"zz", "Deny(Unknown)");
    }
}

#[test]
fn what_a_rule_excludes_is_not_made_anonymous() {
    check("ns/but", b"", b"", "nobody");
    check("ns/but", b"k1", b"", "ann");
    check("ns/but", b"", b"zz", "Deny(Unknown)");
    check("ns/but", b"", b"k1", "Deny(Missing)");
    for partner in [&b""[..], b"zz", b"k1"] {
        let expected = if partner == b"zz" { "Deny(Unknown)" } else { "Deny(Missing)" };
        check("ns/absent", partner, b"", expected);
    }
}

#[test]
fn a_policy_is_open_when_no_key_at_all_is_enough() {
    let open = |policy: &str| config().policies[policy].is_open();
    for policy in ["ns/one", "ns/none", "ns/either", "ns/other", "ns/but"] {
        assert!(open(policy), "{policy}");
    }
    for policy in ["ns/every", "ns/absent"] {
        assert!(!open(policy), "{policy}");
    }
    let closed = super::config();
    assert!(closed.policies.values().all(|policy| !policy.is_open()));
}
