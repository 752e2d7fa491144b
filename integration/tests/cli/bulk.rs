//! Many keys at once: an import that is interrupted, in three ways, and one that is confirmed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{anyhow, ensure};
use keyward_integration::paths;
use keyward_integration::stack::{Options, Process, Stack, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::life::{HOST, Site, confirms, does, everywhere, start_with};

/// So many that no machine is done with them before it is looked at.
const ROWS: usize = 10_000;
/// When this many are there, it is in the middle.
const SOME: usize = 200;
/// How long an import of all rows may take, with other tests on the machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A control server without an Envoy, and a file for it.
struct Bulk {
    stack: Stack,
    file: PathBuf,
    log: PathBuf,
}

fn file(folder: &Path, rows: usize) -> PathBuf {
    let path = folder.join("keys.csv");
    let mut text = "name,namespace,labels,api-key,expires-at\n".to_owned();
    for row in 0..rows {
        let _ = writeln!(text, "user-{row},bulk,team=demo,bulk-key-{row},2099-01-01T00:00:00Z");
    }
    std::fs::write(&path, text).unwrap();
    path
}

// === impl Bulk ===

impl Bulk {
    fn new() -> Self {
        let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
        let file = file(stack.folder(), ROWS);
        let log = stack.folder().join("import.log");
        Self { stack, file, log }
    }

    /// Starts an import, and returns when it is in the middle.
    fn begin(&self) -> Process {
        let mut command = Command::new(paths::keyward().unwrap());
        command
            .args(["secret", "apikey", "import"])
            .arg(&self.file)
            .env("KEYWARD_SERVER", format!("http://{}", self.stack.rest().address()))
            .env("HOME", self.stack.folder());
        let process = Process::start(&mut command, &self.log).unwrap();
        let path = format!("/api/v1/namespaces/bulk/secrets/user-{SOME}");
        let began = wait::until(PATIENCE, "some rows to be there", || {
            let status = self.stack.rest().call("GET", &path, None)?.status;
            ensure!(status == 200, "user-{SOME}: {status}\n{}", process.output());
            Ok(())
        });
        began.unwrap_or_else(|error| panic!("{error:#}\n{}", self.stack.logs()));
        process
    }

    fn ended(&self, mut process: Process) -> ExitStatus {
        let ended = wait::until(PATIENCE, "the import to end", || {
            process.ended()?.ok_or_else(|| anyhow!("it runs: {}", process.output()))
        });
        ended.unwrap_or_else(|error| panic!("{error:#}\n{}", self.stack.logs()))
    }

    /// How many are there. Each is whole.
    #[track_caller]
    fn there(&self) -> usize {
        let text = does(
            &self.stack,
            &["secret", "apikey", "export", "-n", "bulk", "--with-keys", "--format", "jsonl"],
        );
        let mut there = 0;
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = row["name"].as_str().unwrap();
            let number = name.strip_prefix("user-").unwrap();
            assert_eq!(row["api-key"], format!("bulk-key-{number}"), "{name}");
            assert_eq!(row["labels"]["team"], "demo", "{name}");
            assert_eq!(row["expires-at"], "2099-01-01T00:00:00Z", "{name}");
            there += 1;
        }
        there
    }

    /// Runs the same command again; answers with what it created and what it found.
    #[track_caller]
    fn again(&self) -> (u64, u64) {
        let file = self.file.to_str().unwrap();
        let said = does(&self.stack, &["secret", "apikey", "import", file, "-o", "json"]);
        let tally: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(tally["notReached"], 0, "{tally}");
        (tally["created"].as_u64().unwrap(), tally["unchanged"].as_u64().unwrap())
    }

    /// Whatever stopped the import in the middle: it is gone on with, and nobody has told a key.
    #[track_caller]
    fn goes_on(&self) {
        let before = self.there();
        assert!((SOME..ROWS).contains(&before), "{before} rows were there, which is not in the middle");
        let (created, unchanged) = self.again();
        assert_eq!(usize::try_from(created + unchanged), Ok(ROWS));
        assert_eq!(usize::try_from(unchanged), Ok(before), "nothing is made twice");
        assert_eq!(self.there(), ROWS);
        assert_eq!(self.again(), (0, u64::try_from(ROWS).unwrap()));
        let said = std::fs::read_to_string(&self.log).unwrap();
        for (who, text) in [("the import", said), ("the server", self.stack.logs())] {
            assert!(!text.contains("bulk-key-"), "{who} has told a key");
        }
    }
}

#[test]
fn a_killed_import_is_gone_on_with() {
    let bulk = Bulk::new();
    bulk.begin().kill().unwrap();
    bulk.goes_on();
}

#[test]
fn an_interrupted_import_ends_well_and_says_how_to_go_on() {
    let bulk = Bulk::new();
    let process = bulk.begin();
    kill_process(Pid::from_raw(process.pid().unwrap()).unwrap(), Signal::INT).unwrap();
    assert_eq!(bulk.ended(process).code(), Some(1));
    let said = std::fs::read_to_string(&bulk.log).unwrap();
    for part in ["NOT REACHED", "error: interrupted: ", "hint: the same command goes on where it ended"] {
        assert!(said.contains(part), "{said}");
    }
    bulk.goes_on();
}

#[test]
fn an_import_survives_the_death_of_the_server() {
    let mut bulk = Bulk::new();
    let process = bulk.begin();
    bulk.stack.kill_server().unwrap();
    assert_eq!(bulk.ended(process).code(), Some(1));
    let said = std::fs::read_to_string(&bulk.log).unwrap();
    for part in ["error: ", "hint: the same command goes on where it ended"] {
        assert!(said.contains(part), "{said}");
    }
    bulk.stack.start_server().unwrap();
    bulk.goes_on();
}

#[test]
fn an_import_that_waits_returns_when_every_worker_has_the_keys() {
    let stack = start_with(&Site { domain: HOST, labels: json!({ "team": "demo" }) });
    let file = file(stack.folder(), 1000);
    let file = file.to_str().unwrap();
    everywhere(&stack, "bulk-key-999", Err(401));
    confirms(&stack, &["secret", "apikey", "import", file, "--wait=30s"]);
    everywhere(&stack, "bulk-key-0", Ok("user-0"));
    everywhere(&stack, "bulk-key-999", Ok("user-999"));
    // Nothing is written, and it is confirmed all the same.
    confirms(&stack, &["secret", "apikey", "import", file, "--wait=30s"]);
}
