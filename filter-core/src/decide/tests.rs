use std::cell::Cell;
use std::collections::BTreeMap;

use super::*;
use crate::table::Builder;
use crate::wire::{entry_hash, pack_entry};

struct Fixed(BTreeMap<&'static str, Table>);

impl Tables for Fixed {
    fn table(&self, name: &str) -> Option<&Table> {
        self.0.get(name)
    }
}

fn table(entries: &[(&str, &str)]) -> Table {
    let entries: BTreeMap<_, _> =
        entries.iter().map(|(key, who)| (key::digest(key.as_bytes()), *who)).collect();
    let mut packed = Vec::new();
    let mut sum = 0_u64;
    for (digest, who) in &entries {
        pack_entry(&mut packed, digest, who);
        sum = sum.wrapping_add(entry_hash(digest, who));
    }
    let mut builder = Builder::new(entries.len() as u64);
    builder.append(&packed).expect("entries in order");
    builder.finish(sum).expect("a whole snapshot")
}

fn config() -> FilterConfig {
    let policy = |header: &str, table: &str| Policy {
        key_header: header.to_owned(),
        table: table.to_owned(),
        forward_key: false,
    };
    FilterConfig {
        version: 1,
        role: "default~gateway".to_owned(),
        control_cluster: "control".to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 5_000,
        policies: BTreeMap::from([
            ("ns/partners".to_owned(), policy("api-key", "partners")),
            ("ns/staff".to_owned(), policy("x-staff-key", "staff")),
            ("ns/late".to_owned(), policy("api-key", "late")),
        ]),
    }
}

fn tables() -> Fixed {
    Fixed(BTreeMap::from([
        ("partners", table(&[("k1", "ann"), ("k2", "bob")])),
        ("staff", table(&[("k1", "eve")])),
    ]))
}

/// Decides with one header in the request.
fn check(route: &str, header: (&str, &[u8]), expected: &str) {
    let (config, tables) = (config(), tables());
    let value = |name: &str| (name == header.0).then(|| header.1.to_vec());
    let verdict = match decide(&config, &tables, Some(route.as_bytes()), value) {
        Verdict::Allow(permit) => {
            assert_eq!(permit.key(), header.1);
            permit.identity().to_owned()
        }
        other => format!("{other:?}"),
    };
    assert_eq!(verdict, expected, "{route} with {header:?}");
}

#[test]
fn a_valid_key_is_its_owner() {
    check("ns/partners|r", ("api-key", b"k1"), "ann");
    check("ns/partners|r", ("api-key", b"k2"), "bob");
}

#[test]
fn the_route_says_whose_keys_and_which_header() {
    check("ns/staff|r", ("x-staff-key", b"k1"), "eve");
    check("ns/staff|r", ("x-staff-key", b"k2"), "Deny(Unknown)");
    check("ns/staff|r", ("api-key", b"k1"), "Deny(Missing)");
}

#[test]
fn no_value_but_the_exact_one_is_accepted() {
    for value in [&b"k"[..], b"k1 ", b" k1", b"K1", b"k1\0", b"k1,k2", b"\xff\xfe", &[b'k'; 8 * 1024]] {
        check("ns/partners|r", ("api-key", value), "Deny(Unknown)");
    }
}

#[test]
fn an_empty_value_is_no_value() {
    check("ns/partners|r", ("api-key", b""), "Deny(Missing)");
    check("ns/partners|r", ("other", b"k1"), "Deny(Missing)");
}

#[test]
fn a_route_without_a_policy_that_exists_lets_nobody_pass() {
    check("ns/gone|r", ("api-key", b"k1"), "Forbid(UnknownPolicy)");
    check("|r", ("api-key", b"k1"), "Forbid(UnknownPolicy)");
    check("ns/partners", ("api-key", b"k1"), "Forbid(NoPolicyNamed)");
    check("", ("api-key", b"k1"), "Forbid(NoPolicyNamed)");
    let (config, tables) = (config(), tables());
    let verdict = decide(&config, &tables, None, |_| Some(b"k1".to_vec()));
    assert_eq!(verdict, Verdict::Forbid(Forbidden::NoPolicyNamed));
}

#[test]
fn without_its_table_nobody_is_judged_not_even_without_a_key() {
    check("ns/late|r", ("api-key", b"k1"), "Wait");
    check("ns/late|r", ("other", b"k1"), "Wait");
}

#[test]
fn a_header_is_read_once_and_only_when_it_decides() {
    let (config, tables) = (config(), tables());
    for (route, reads) in [("ns/partners|r", 1), ("ns/late|r", 0), ("ns/gone|r", 0)] {
        let read = Cell::new(0);
        let value = |_: &str| {
            read.set(read.get() + 1);
            None
        };
        decide(&config, &tables, Some(route.as_bytes()), value);
        assert_eq!(read.get(), reads, "{route}");
    }
}

#[test]
fn a_permit_does_not_print_the_key() {
    let (config, tables) = (config(), tables());
    let verdict = decide(&config, &tables, Some(b"ns/partners|r"), |_| Some(b"k1".to_vec()));
    assert_eq!(format!("{verdict:?}"), r#"Allow(Permit { identity: "ann", .. })"#);
}
