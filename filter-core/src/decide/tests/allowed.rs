//! Routes that allow only some of those whose keys are valid.

use super::*;

/// Two steps, each with its list; either is enough.
fn listed() -> FilterConfig {
    let step = |header: &str, table: &str| Step {
        allowed: Some(format!("{table}@1")),
        ..super::step(header, table)
    };
    let one = Policy::of(step("api-key", "partners"));
    let steps = vec![step("api-key", "partners"), step("x-staff-key", "staff")];
    let either = Policy::new(steps.clone(), Some(Rule::Any(vec![Rule::Step(0), Rule::Step(1)])));
    let every = Policy::new(steps, None);
    let policies = [("ns/one@1", one), ("ns/either@1", either), ("ns/every@1", every)];
    FilterConfig {
        policies: policies.map(|(auth_id, policy)| (auth_id.to_owned(), policy)).into(),
        ..config()
    }
}

/// The keys of bob and of eve are on the lists.
fn lists() -> Fixed {
    let mut tables = tables();
    tables.0.insert("partners@1", table(&[("k2", "bob")]));
    tables.0.insert("staff@1", table(&[("k1", "eve")]));
    tables
}

fn check(route: &str, headers: &[(&str, &[u8])], expected: &str) {
    check_with(&listed(), &lists(), route, headers, expected);
}

#[test]
fn only_who_is_on_the_list_passes_and_only_who_has_a_valid_key_learns_of_it() {
    check("ns/one@1|r", &[("api-key", b"k2")], "bob");
    check("ns/one@1|r", &[("api-key", b"k1")], "Forbid(NotAllowed)");
    check("ns/one@1|r", &[("api-key", b"zz")], "Deny(Unknown)");
    check("ns/one@1|r", &[], "Deny(Missing)");
}

#[test]
fn the_list_is_asked_for_the_identity_that_results() {
    check("ns/either@1|r", &[("api-key", b"k2"), ("x-staff-key", b"zz")], "bob");
    // The first key is valid, and so nobody looks at the second.
    check("ns/either@1|r", &[("api-key", b"k1"), ("x-staff-key", b"k1")], "Forbid(NotAllowed)");
    check("ns/either@1|r", &[("api-key", b"zz"), ("x-staff-key", b"k1")], "eve");
    check("ns/every@1|r", &[("api-key", b"k1"), ("x-staff-key", b"k1")], "ann eve");
}

#[test]
fn a_list_that_still_names_the_last_owner_of_a_key_allows_nobody_else() {
    let mut tables = lists();
    tables.0.insert("partners", table(&[("k2", "mallory")]));
    check_with(&listed(), &tables, "ns/one@1|r", &[("api-key", b"k2")], "Forbid(NotAllowed)");
}

#[test]
fn a_key_that_is_no_longer_valid_is_of_no_use_on_a_list() {
    let mut tables = lists();
    tables.0.insert("partners", table(&[("k1", "ann")]));
    check_with(&listed(), &tables, "ns/one@1|r", &[("api-key", b"k2")], "Deny(Unknown)");
}

#[test]
fn without_the_list_nobody_is_judged() {
    let mut tables = lists();
    tables.0.remove("partners@1");
    check_with(&listed(), &tables, "ns/one@1|r", &[("api-key", b"k2")], "Wait");
    assert_eq!(listed().policies["ns/one@1"].tables().collect::<Vec<_>>(), ["partners", "partners@1"]);
}
