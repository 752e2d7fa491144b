//! Faults on demand, to prove that a broken or bypassed filter denies. Only in test builds.

use proxy_wasm::hostcalls;
use proxy_wasm::types::MapType;

/// The request header that asks for a fault: `trap` or `bypass`.
const HEADER: &str = "x-keyward-fault";

/// Whether the request asks to pass undecided. Does not return if it asks for a trap.
pub(crate) fn bypasses() -> bool {
    match hostcalls::get_map_value_bytes(MapType::HttpRequestHeaders, HEADER) {
        Ok(Some(fault)) if fault == b"trap" => trap(),
        Ok(Some(fault)) => fault == b"bypass",
        _ => false,
    }
}

#[expect(clippy::panic, reason = "a trap is what was asked for")]
fn trap() -> ! {
    panic!("a trap was asked for")
}
