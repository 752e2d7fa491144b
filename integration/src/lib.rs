//! What the tests of Keyward stand on: a wasmtime host for the filter, the cases that are data,
//! and a kit that runs the real control server with the real Envoy.
//!
//! It is not part of the product, and nothing of the product depends on it.

pub mod cases;
pub mod examples;
pub mod headers;
pub mod paths;
pub mod routing;
pub mod session;
pub mod stack;
pub mod wasm_host;
