//! Real processes, marked as those of a stack.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{MARK, ProcessId, Role, find, role, stop};

/// A marked process, killed at the end of the test whatever happens.
struct Marked(Child);

impl Marked {
    fn shell(data: &Path, script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env(MARK, data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The script says a line when its traps are set.
        let mut line = [0; 3];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        Self(child)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// They wait without a process of their own, which would be marked too, and without an `exec`, in the
// middle of which a process shows no environment.
const POLITE: &str = "echo go; read -r never";
const DEAF: &str = "trap '' TERM; echo go; read -r never";

fn pids(data: &Path) -> Vec<i32> {
    find(data).into_iter().map(|found| found.id.pid).collect()
}

#[tokio::test]
async fn finds_what_is_marked_with_this_folder_and_nothing_else() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mine = Marked::shell(one.path(), POLITE);
    let foreign = Marked::shell(other.path(), POLITE);
    assert_eq!(pids(one.path()), [mine.pid()]);
    assert_eq!(pids(other.path()), [foreign.pid()]);

    stop(&find(one.path()), Duration::from_secs(10)).await.unwrap();
    assert_eq!(pids(one.path()), [0; 0]);
    assert_eq!(pids(other.path()), [foreign.pid()]);
}

#[tokio::test]
async fn kills_what_does_not_listen() {
    let data = tempfile::tempdir().unwrap();
    let deaf = Marked::shell(data.path(), DEAF);
    let begin = Instant::now();
    let found: Vec<_> = find(data.path()).into_iter().filter(|found| found.id.pid == deaf.pid()).collect();
    stop(&found, Duration::from_millis(200)).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(200));
    assert_eq!(pids(data.path()), [0; 0]);
}

#[test]
fn a_process_that_waits_to_be_collected_is_not_alive() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let begin = Instant::now();
    while ProcessId::of(pid).is_some() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(ProcessId::of(pid), None);
    child.wait().unwrap();
}

#[test]
fn a_later_process_with_the_same_number_is_another() {
    let this = ProcessId::current().unwrap();
    assert!(this.is_alive());
    assert!(!ProcessId { started: this.started + 1, ..this }.is_alive());
}

#[test]
fn roles_are_told_by_the_command_line() {
    for (line, wanted, name) in [
        (&b"/x/keyward\0serve\0--data\0/d\0"[..], Role::Serve, "keyward serve"),
        (b"/x/keyward\0demo-upstream\0", Role::Upstream, "keyward demo-upstream"),
        (b"/x/keyward\0demo\0tethered\0--parent\x007\0--\0serve\0", Role::Serve, "keyward serve"),
        (b"/x/.tools/envoy\0--config-path\0serve\0", Role::Other, "envoy"),
        (b"", Role::Other, ""),
    ] {
        assert_eq!(role(line), (wanted, name.to_owned()));
    }
}
