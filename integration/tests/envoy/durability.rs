//! What was acknowledged is there, however often the control server is killed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyward_integration::stack::{Options, Rest, Stack};
use serde_json::Value;

use crate::kit::{base64, secret};

const KILLS: u64 = 50;
const WRITERS: u64 = 4;

/// What may be stored under a name: the value that was acknowledged last, and the ones tried since,
/// of which nobody knows. `None` stands for a deletion, or for nothing yet.
#[derive(Debug, Clone, Default)]
struct Possible {
    acknowledged: Option<u64>,
    tried: Vec<Option<u64>>,
}

/// Writes without pause: creations, replacements and deletions of a few names of its own.
fn write(rest: Rest, writer: u64, stop: &AtomicBool, acknowledged: &AtomicU64) -> BTreeMap<String, Possible> {
    let mut names: BTreeMap<String, Possible> = BTreeMap::new();
    for step in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{writer}-{}", step % 7);
        let possible = names.entry(name.clone()).or_default();
        // Every third write of a name deletes it.
        let value = (step / 7 % 3 != 2).then_some(step);
        let done = match value {
            Some(value) => rest.apply(&secret(&name, &format!("key-{value}"))).map(|_| ()),
            None => rest.delete("Secret", "team", &name),
        };
        match done {
            Ok(()) => {
                *possible = Possible { acknowledged: value, tried: Vec::new() };
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            // An answer that never came, or a name that was not there to delete.
            Err(_) => {
                possible.tried.push(value);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
    names
}

fn stored(rest: Rest, name: &str) -> Option<u64> {
    let object: Value = rest.get("Secret", "team", name).ok()?;
    let key = object.pointer("/data/api-key").and_then(Value::as_str).unwrap();
    let known = |value: &u64| base64(format!("key-{value}").as_bytes()) == key;
    Some((0..1_000_000).find(known).expect("a value that was written"))
}

#[test]
fn every_acknowledged_write_survives_fifty_kills() {
    let mut stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let all = Arc::new(Mutex::new(BTreeMap::new()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (stop, acknowledged, all) = (Arc::clone(&stop), Arc::clone(&acknowledged), Arc::clone(&all));
            let rest = stack.rest();
            std::thread::spawn(move || {
                let names = write(rest, writer, &stop, &acknowledged);
                all.lock().unwrap().extend(names);
            })
        })
        .collect();
    for kill in 0..KILLS {
        // From right after the start to well into the writing.
        std::thread::sleep(Duration::from_millis(5 + kill * 37 % 90));
        stack.kill_server().unwrap();
        stack.start_server().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
    let acknowledged = acknowledged.load(Ordering::Relaxed);
    assert!(acknowledged > KILLS, "only {acknowledged} writes were acknowledged in all");
    let names = all.lock().unwrap().clone();
    let mut lost = Vec::new();
    for (name, possible) in &names {
        let found = stored(stack.rest(), name);
        if found != possible.acknowledged && !possible.tried.contains(&found) {
            lost.push(format!("{name} holds {found:?}, may hold {possible:?}"));
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    eprintln!("{acknowledged} writes acknowledged over {KILLS} kills");
}
