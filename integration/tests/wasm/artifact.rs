//! The file itself: what it imports, what it exports, how large it is.

use std::collections::BTreeSet;

use keyward_filter_core::capability::CAPABILITIES;
use keyward_integration::paths;
use wasmparser::{Parser, Payload};

/// How large the file may be, in bytes. It stands in Envoy's configuration, base64 in its dumps, and
/// is compiled on Envoy's main thread. A tenth of it is what only a written configuration needs that has
/// several configs, expressions and lists, and what a worker without room does.
const SIZE_BUDGET: usize = 470_000;

fn wasm() -> Vec<u8> {
    std::fs::read(paths::filter_wasm().unwrap()).unwrap()
}

/// Imports and exports of functions.
fn functions(wasm: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.unwrap();
                    let module = import.module;
                    assert!(matches!(module, "env" | "wasi_snapshot_preview1"), "imports from {module}");
                    imports.insert(import.name.to_owned());
                }
            }
            Payload::ExportSection(section) => {
                exports.extend(section.into_iter().map(|export| export.unwrap().name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

#[test]
fn it_imports_its_capabilities_and_nothing_else() {
    let (imports, _) = functions(&wasm());
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let host_calls = CAPABILITIES.iter().copied().filter(|name| !name.starts_with("proxy_on_"));
    let allowed = names(&host_calls.collect::<Vec<_>>());
    let unused: Vec<_> = allowed.difference(&imports).collect();
    assert!(unused.is_empty(), "allowed and not imported: {unused:?}");
    let extra: Vec<_> = imports.difference(&allowed).collect();
    assert!(extra.is_empty(), "imported and not allowed: {extra:?}");
}

#[test]
fn nothing_beyond_the_capabilities_is_ever_called() {
    let mut vm = crate::kit::start();
    let early = vm.request(crate::kit::ROUTE, crate::kit::with_key("alice-key")).unwrap();
    let stream = crate::kit::open_stream(&mut vm);
    crate::kit::send_snapshot(&mut vm, stream, &crate::kit::entries(&[("alice-key", "alice")]));
    vm.end(early.id).unwrap();
    crate::kit::ask(&mut vm, "alice-key").unwrap();
    crate::kit::ask(&mut vm, "wrong").unwrap_err();
    vm.grpc_message(stream, b"\xff").unwrap();
    assert!(vm.configure(&crate::kit::json(&crate::kit::config(2))).unwrap());
    vm.advance(std::time::Duration::from_secs(10)).unwrap();
    let called: BTreeSet<&str> = vm.calls().keys().copied().collect();
    let known: BTreeSet<&str> = CAPABILITIES.iter().copied().chain(["malloc"]).collect();
    let extra: Vec<_> = called.difference(&known).collect();
    assert!(extra.is_empty(), "{extra:?}");
    assert!(called.len() > 15, "hardly anything was called: {called:?}");
}

#[test]
fn it_exports_every_callback_that_it_is_allowed() {
    let (_, exports) = functions(&wasm());
    let callbacks = CAPABILITIES.iter().filter(|name| name.starts_with("proxy_on_"));
    let missing: Vec<_> = callbacks.filter(|name| !exports.contains(**name)).collect();
    assert!(missing.is_empty(), "allowed and not there: {missing:?}");
    for needed in ["memory", "_initialize", "proxy_abi_version_0_2_1", "proxy_on_memory_allocate"] {
        assert!(exports.contains(needed), "{needed} is missing");
    }
}

#[test]
fn it_fits_its_size_budget() {
    let size = wasm().len();
    assert!(size <= SIZE_BUDGET, "{size} bytes, budget {SIZE_BUDGET}");
}

#[test]
fn it_holds_no_faults_to_inject() {
    let wasm = wasm();
    let fault = b"x-keyward-fault";
    assert!(!wasm.windows(fault.len()).any(|window| window == fault), "the test build is in place");
}
