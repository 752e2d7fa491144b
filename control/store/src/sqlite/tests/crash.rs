//! Kills: whatever was acknowledged is there afterwards.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::{check_integrity, folder};
use crate::contract::{body, events};
use crate::record::{Event, Key, Revision};
use crate::sqlite::SqliteStore;
use crate::store::Store;
use crate::tests::runtime;

/// Tells the child where the store is and which round this is.
const STORE: &str = "KEYWARD_TEST_CRASH_STORE";
const ROUND: &str = "KEYWARD_TEST_CRASH_ROUND";
const ROUNDS: u64 = 20;
const WRITERS: usize = 8;
const THIS_TEST: &str = "sqlite::tests::crash::every_acknowledged_write_outlives_a_kill";

/// A line of the child: this writer's write with this number has this revision.
#[derive(Debug)]
struct Acknowledged {
    key: Key,
    number: u64,
    revision: Revision,
}

/// Every fifth write of a writer deletes its object, the others put their number into it.
async fn write(store: &SqliteStore, key: Key, number: u64) -> Revision {
    let text = body(&number.to_string());
    match number % 5 {
        0 => store.create(key, text).await.expect("create").revision,
        4 => store.delete(key, None).await.expect("delete").0,
        _ => store.update(key, None, text).await.expect("update").revision,
    }
}

/// Writes without end, and says so after each write.
async fn child(path: &Path, round: &str) {
    let store = Arc::new(SqliteStore::open(path).await.expect("the store opens"));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, name) = (Arc::clone(&store), format!("r{round}-w{writer}"));
            tokio::spawn(async move {
                for number in 0.. {
                    let key = Key::new("Secret", "default", name.as_str());
                    let revision = write(&store, key, number).await;
                    writeln!(std::io::stdout(), "ack {name} {number} {revision}")
                        .expect("the parent listens");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("it writes until it is killed");
    }
}

/// Starts the child, kills it after `acks` lines, and gives all lines that it said.
fn write_and_kill(path: &Path, round: u64, acks: usize) -> Vec<Acknowledged> {
    let mut child = Command::new(env::current_exe().expect("this binary"))
        .args([THIS_TEST, "--exact", "--nocapture", "--test-threads=1"])
        .env(STORE, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut said = Vec::new();
    let mut line = String::new();
    while lines.read_line(&mut line).expect("text") > 0 {
        // The last line may be cut off: then it is not an acknowledgement.
        if let Some(line) = line.strip_suffix('\n').and_then(|line| line.strip_prefix("ack ")) {
            said.push(parse(line));
            if said.len() == acks {
                child.kill().expect("the child is killed");
            }
        }
        line.clear();
    }
    let status = child.wait().expect("the child has ended");
    assert!(!status.success() && said.len() >= acks, "round {round}: {status} after {} writes", said.len());
    said
}

fn parse(line: &str) -> Acknowledged {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("three words");
    let key = Key::new("Secret", "default", next());
    let number = next().parse().expect("a number");
    Acknowledged { key, number, revision: Revision(next().parse().expect("a revision")) }
}

/// Compares the log with everything that was ever acknowledged.
async fn check(path: &Path, all: &[Acknowledged]) {
    let store = SqliteStore::open(path).await.expect("the store opens after a kill");
    let head = store.revision().await.expect("revision");
    let count = usize::try_from(head.0).expect("small");
    let log = events(&mut store.watch(Revision(0)).await.expect("watch"), count).await;
    let mut standing: BTreeMap<&Key, &Event> = BTreeMap::new();
    for (event, expected) in log.iter().zip(1..) {
        assert_eq!(event.revision().0, expected, "the log has no gap");
        standing.insert(event.key(), event);
    }
    for write in all {
        let index = usize::try_from(write.revision.0).expect("small") - 1;
        let event = log.get(index).unwrap_or_else(|| panic!("{write:?} is lost"));
        assert_eq!(*event.key(), write.key, "{write:?}");
        match event {
            Event::Put { record, .. } => assert_eq!(*record.body, *write.number.to_string().as_bytes()),
            Event::Delete { .. } => assert_eq!(write.number % 5, 4, "{write:?}"),
        }
    }
    // What stands is what the log says.
    for (key, event) in standing {
        let expected = match event {
            Event::Put { record, .. } => Some(record),
            Event::Delete { .. } => None,
        };
        assert_eq!(store.get(key.clone()).await.expect("get").as_ref(), expected);
    }
}

#[test]
fn every_acknowledged_write_outlives_a_kill() {
    if let (Ok(path), Ok(round)) = (env::var(STORE), env::var(ROUND)) {
        return runtime().block_on(child(Path::new(&path), &round));
    }
    let folder = folder();
    let path = folder.path().join("keyward.db");
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        // From a kill at the very first write to one after hundreds.
        let acks = usize::try_from(1 + round * round * 37 % 400).expect("small");
        all.extend(write_and_kill(&path, round, acks));
        runtime().block_on(check(&path, &all));
        check_integrity(&path);
    }
    let least = usize::try_from(ROUNDS).expect("small");
    assert!(all.len() > least * 20, "only {} writes", all.len());
}
