//! Tests of the whole: the real control server with the real Envoy. Each has its own.

mod admin;
mod answers;
mod bypass;
mod cases;
mod debug;
mod durability;
mod gone;
mod guard;
mod http2;
mod kit;
mod metrics;
mod model;
mod mtls;
mod observability;
mod own_ports;
mod proxies;
mod refusals;
mod rollout;
mod secrets;
mod survival;
mod sync;
mod tls;
mod usage;
