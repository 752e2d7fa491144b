//! Tests of the filter's `.wasm`, the very file that Envoy loads, in wasmtime.

mod artifact;
mod budgets;
mod cases;
mod configuration;
mod decisions;
mod fuzz;
mod kit;
mod life;
mod link;
mod shared;
mod standalone;
mod usage;
mod waiting;
