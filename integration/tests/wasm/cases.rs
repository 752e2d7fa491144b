//! The cases in `testdata/filter`, with the filter alone.

use keyward_integration::cases::{Case, On, Plane, WasmPlane, run};
use keyward_integration::paths::case_dirs;
use keyward_integration::wasm_host::Host;
use serde_json::json;

#[test]
fn every_case_holds_in_wasmtime() {
    let host = Host::load_by_itself().unwrap();
    let mut failures = Vec::new();
    let mut ran = 0;
    for folder in case_dirs("filter").unwrap() {
        let case = Case::read(&folder).unwrap();
        if !case.runs(On::Wasm) {
            continue;
        }
        let mut plane = WasmPlane::new(host.clone());
        plane.apply(&echo()).unwrap();
        if let Err(error) = run(&case, &mut plane) {
            failures.push(format!("{error:#}"));
        }
        ran += 1;
    }
    assert!(ran > 10, "only {ran} cases were found");
    assert!(failures.is_empty(), "{} of {ran} cases fail:\n{}", failures.len(), failures.join("\n"));
}

/// The Upstream that cases count on. Nothing of it matters to the filter.
fn echo() -> serde_json::Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "namespace": "test", "name": "echo" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 1 }] } },
    })
}
