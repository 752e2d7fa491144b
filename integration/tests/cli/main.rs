//! The command line against a real control server: the sessions in `testdata/cli`, and the life of a key on
//! the real Envoy.

mod bulk;
mod explain;
mod life;
mod many;
mod mask;
mod readme;
mod run;
mod sessions;
mod tls;
mod version;
