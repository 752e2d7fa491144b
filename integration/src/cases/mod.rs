//! Cases of the filter's behaviour as data: `testdata/filter/<case>/{resources.yaml,case.yaml}`.
//!
//! `resources.yaml` is what a user applies; the Upstream `test/echo` is there already. `case.yaml`
//! says what is then sent and what comes of it. Requests go to the host `<case>.test` unless they
//! say otherwise. The same case runs on every [`Plane`]: in wasmtime, with the pure crates of the
//! control server in between, and on the real Envoy behind the real control server.

mod bytes;
mod check;
mod model;
mod pure_control;
mod run;
mod wasm_plane;

pub use check::Answer;
pub use model::{Case, Expect, On, Request, Step};
pub use pure_control::{Plugin, PureControl};
pub use run::{Plane, clean_up, run};
pub use wasm_plane::WasmPlane;
