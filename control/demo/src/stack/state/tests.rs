//! The state file and the lock, in a folder of their own.

use super::{Lock, State};
use crate::stack::Ports;
use crate::stack::process::ProcessId;

#[test]
fn a_state_is_read_as_it_was_written() {
    let data = tempfile::tempdir().unwrap();
    assert_eq!(State::read(data.path()), None);
    let id = ProcessId::current().unwrap();
    let ports = Ports { gateway: 1, rest: 2, xds: 3, admin: 4, snapshots: 6, upstream: 5 };
    let state = State { ports, envoy: Some("/bin/envoy".into()), serve: id, upstream: id, foreground: None };
    state.write(data.path()).unwrap();
    assert_eq!(State::read(data.path()), Some(state));
    State::remove(data.path());
    assert_eq!(State::read(data.path()), None);
}

#[test]
fn a_torn_state_is_no_state() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("demo.json"), b"{\"ports\": {").unwrap();
    assert_eq!(State::read(data.path()), None);
}

#[test]
fn one_command_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let lock = Lock::take(data.path()).unwrap();
    let error = Lock::take(data.path()).unwrap_err().to_string();
    assert!(error.starts_with("another command is starting or stopping this stack"), "{error}");
    drop(lock);
    Lock::take(data.path()).unwrap();
}
