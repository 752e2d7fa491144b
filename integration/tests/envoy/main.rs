//! Tests of the whole: the real control server with the real Envoy. Each has its own.

mod cases;
mod durability;
mod guard;
mod kit;
mod survival;
