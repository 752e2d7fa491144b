//! Throws bytes at everything in the filter that reads bytes from others: the key stream, its
//! packed entries, request headers and the plugin configuration.
//!
//! Each target replays `testdata/fuzz/<target>/*` and then runs new inputs for
//! `KEYWARD_FUZZ_SECONDS` (default 1). A target does not only look for panics: it has a model of
//! what must come out. An input that fails is written beside the seeds and so becomes a test.
//! `KEYWARD_FUZZ_SEED` repeats a run.

mod config;
mod engine;
mod headers;
mod key_stream;

use engine::fuzz;

#[test]
fn key_stream() {
    fuzz("key-stream", key_stream::generate, key_stream::run);
}

#[test]
fn packed_entries() {
    fuzz("entries", key_stream::generate_entries, key_stream::run_entries);
}

#[test]
fn request_headers() {
    fuzz("headers", headers::generate, headers::run);
}

#[test]
fn plugin_configuration() {
    fuzz("config", config::generate, config::run);
}
