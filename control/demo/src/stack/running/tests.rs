//! What is asked for beside what runs.

use super::{check, differences};
use crate::stack::process::ProcessId;
use crate::stack::state::State;
use crate::stack::{Ports, UpArgs};

const PORTS: Ports = Ports { gateway: 1, rest: 2, xds: 3, admin: 4, snapshots: 6, upstream: 5 };

fn asked(ports: Ports, envoy: Option<&str>) -> UpArgs {
    UpArgs { detach: true, data: ".".into(), ports, envoy: envoy.map(Into::into) }
}

fn running() -> State {
    let id = ProcessId::current().unwrap();
    State { ports: PORTS, envoy: None, serve: id, upstream: id, foreground: None }
}

#[test]
fn what_was_asked_for_is_no_difference() {
    assert_eq!(differences(&running(), &asked(PORTS, None), true), Vec::<String>::new());
}

#[test]
fn every_difference_is_named() {
    let ports = Ports { gateway: 7, upstream: 8, ..PORTS };
    assert_eq!(
        differences(&running(), &asked(ports, Some("/e")), false),
        [
            "has the gateway on port 1, not 7",
            "has the echo upstream on port 5, not 8",
            "has the usual one as its Envoy, not /e",
            "is of another build of keyward",
        ]
    );
}

#[test]
fn a_process_runs_the_program_that_it_was_started_from() {
    assert!(ProcessId::current().unwrap().runs_this_program());
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let id = ProcessId::of(i32::try_from(other.id()).unwrap()).unwrap();
    // A child runs our program until its `exec`, which `spawn` waits for.
    assert!(!id.runs_this_program());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn an_upstream_that_ended_breaks_the_stack() {
    let mut ended = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let upstream = ProcessId::of(i32::try_from(ended.id()).unwrap()).unwrap();
    ended.kill().unwrap();
    ended.wait().unwrap();
    let data = tempfile::tempdir().unwrap();
    let error = check(&State { upstream, ..running() }, data.path()).await.unwrap_err().to_string();
    assert_eq!(error, "the echo upstream has ended");
}
