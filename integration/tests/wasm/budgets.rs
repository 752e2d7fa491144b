//! What a request and a change of keys cost, against the budgets in `testdata/filter/budgets.yaml`.

use std::collections::BTreeMap;

use keyward_filter_core::config::FilterConfig;
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::wasm_host::{Host, Vm};
use serde::Deserialize;

use crate::kit::{
    ROUTE, config, delta, entries, json, many_entries, open_stream, send, send_snapshot, start, version,
    with_key,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Budgets {
    /// Units of fuel by what is done.
    fuel: BTreeMap<String, u64>,
    /// Calls across the border of the VM, both directions, by what is done.
    calls: BTreeMap<String, u64>,
    /// Bytes of the VM's memory by what it holds.
    memory: BTreeMap<String, u64>,
}

/// What was measured, by kind and by what was done.
#[derive(Default)]
struct Measured {
    values: BTreeMap<(&'static str, String), u64>,
}

/// Headers such as a browser sends, so that a look-up among them costs what it costs.
fn usual_headers() -> Headers {
    Headers::new()
        .with("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
        .with("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
        .with("accept-language", "en-US,en;q=0.5")
        .with("accept-encoding", "gzip, deflate, br, zstd")
        .with("x-forwarded-for", "192.0.2.1")
        .with("x-request-id", "5f2b0f0e-6f5f-4c3c-9d0a-2a8f3c9a8f21")
}

fn filled(count: u64) -> Vm {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    let mut all = many_entries(count - 1);
    all.extend(entries(&[("alice-key-0123456789abcdef012345", "alice")]));
    send_snapshot(&mut vm, stream, &all);
    vm
}

fn measure_requests(measured: &mut Measured, count: u64) {
    let mut vm = filled(count);
    let requests = [
        ("allowed", usual_headers().with("api-key", "alice-key-0123456789abcdef012345")),
        ("denied-unknown", usual_headers().with("api-key", "wrong-key-0123456789abcdef012345")),
        ("denied-missing", usual_headers()),
        ("denied-damaged", usual_headers().with("api-key", "kw_key0123456789abcdef01_2345678")),
    ];
    for (name, headers) in requests {
        // The first request of its kind grows maps; what counts is all the others.
        vm.round_trip(ROUTE, headers.clone()).unwrap();
        let exchange = vm.round_trip(ROUTE, headers).unwrap();
        measured.note("fuel", format!("{name}-at-{count}-keys"), exchange.fuel);
        if count == 1 {
            measured.note("calls", name.to_owned(), exchange.total_calls());
        }
    }
    measured.note("memory", format!("{count}-keys"), u64::try_from(vm.memory_size()).unwrap());
}

/// The same where an access log shows what was decided.
fn measure_access_log(measured: &mut Measured) {
    let config = FilterConfig { access_log: true, ..config(1) };
    let mut vm = Vm::start(&Host::load().unwrap(), &json(&config)).unwrap();
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("alice-key-0123456789abcdef012345", "alice")]));
    let headers = usual_headers().with("api-key", "alice-key-0123456789abcdef012345");
    vm.round_trip(ROUTE, headers.clone()).unwrap();
    let exchange = vm.round_trip(ROUTE, headers).unwrap();
    measured.note("fuel", "allowed-and-logged".to_owned(), exchange.fuel);
    measured.note("calls", "allowed-and-logged".to_owned(), exchange.total_calls());
}

fn measure_changes(measured: &mut Measured) {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    let before = many_entries(100_000);
    let ((), fuel) = vm
        .fuel_of(|vm| {
            send_snapshot(vm, stream, &before);
            Ok(())
        })
        .unwrap();
    measured.note("fuel", "snapshot-of-100000-keys".to_owned(), fuel);
    let mut after = before.clone();
    after.extend(entries(&[("new-key", "newcomer")]));
    // The delta is made from the added entry alone: comparing both lists would take the test long.
    let added = entries(&[("new-key", "newcomer")]);
    let keyward_filter_core::wire::server_message::Kind::Delta(mut change) = delta((1, &[]), (2, &added))
    else {
        panic!("not a delta")
    };
    change.from = Some(version(1, &before));
    change.to = Some(version(2, &after));
    let ((), fuel) = vm
        .fuel_of(|vm| {
            send(vm, stream, keyward_filter_core::wire::server_message::Kind::Delta(change));
            Ok(())
        })
        .unwrap();
    measured.note("fuel", "one-key-added-to-100000".to_owned(), fuel);
    let exchange = vm.round_trip(ROUTE, with_key("new-key")).unwrap();
    assert_eq!(exchange.outcome.identity(), Some(b"newcomer".as_slice()));
}

#[test]
fn everything_stays_within_its_budget() {
    let mut measured = Measured::default();
    measure_requests(&mut measured, 1);
    measure_requests(&mut measured, 100_000);
    measure_access_log(&mut measured);
    measure_changes(&mut measured);

    let file = paths::testdata("filter").join("budgets.yaml");
    let budgets: Budgets = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut wrong = measured.compare("fuel", &budgets.fuel);
    wrong.extend(measured.compare("calls", &budgets.calls));
    wrong.extend(measured.compare("memory", &budgets.memory));
    for ((kind, what), value) in &measured.values {
        eprintln!("{kind:>6} {value:>12}  {what}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// === impl Measured ===

impl Measured {
    fn note(&mut self, kind: &'static str, what: String, value: u64) {
        self.values.insert((kind, what), value);
    }

    /// What is over its budget, or has none; and budgets so far above what was measured that they
    /// would not notice a loss of a third.
    fn compare(&self, kind: &str, budgets: &BTreeMap<String, u64>) -> Vec<String> {
        let mut wrong = Vec::new();
        for ((_, what), value) in self.values.iter().filter(|((other, _), _)| *other == kind) {
            match budgets.get(what) {
                None => wrong.push(format!("{kind} of {what}: {value}, and there is no budget")),
                Some(budget) if value > budget => {
                    wrong.push(format!("{kind} of {what}: {value}, over the budget of {budget}"));
                }
                Some(budget) if value.saturating_mul(3) < budget.saturating_mul(2) => {
                    wrong.push(format!("{kind} of {what}: {value}; lower the budget of {budget}"));
                }
                Some(_) => {}
            }
        }
        let known = |what: &&String| self.values.keys().any(|(other, name)| *other == kind && name == *what);
        wrong.extend(
            budgets
                .keys()
                .filter(|what| !known(what))
                .map(|what| format!("{kind} of {what} is not measured")),
        );
        wrong
    }
}
