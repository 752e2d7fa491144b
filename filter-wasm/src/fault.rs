//! Faults on demand, to prove that a broken or bypassed filter denies. Only in test builds.

use keyward_filter_abi::call::{self, Map};

/// The request header that asks for a fault: `trap` or `bypass`.
const HEADER: &str = "x-keyward-fault";

/// Whether the request asks to pass undecided. Does not return if it asks for a trap.
pub(crate) fn bypasses() -> bool {
    match call::header(Map::Request, HEADER) {
        Some(fault) if fault == b"trap" => trap(),
        Some(fault) => fault == b"bypass",
        None => false,
    }
}

#[expect(clippy::panic, reason = "a trap is what was asked for")]
fn trap() -> ! {
    panic!("a trap was asked for")
}
