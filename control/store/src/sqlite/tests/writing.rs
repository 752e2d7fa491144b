//! The writer: one transaction for many, and a failure of the storage.

use std::fs;
use std::path::Path;

use tokio::sync::{mpsc, oneshot, watch};

use super::{check_integrity, folder};
use crate::contract::body;
use crate::error::StoreError;
use crate::record::{Key, Revision};
use crate::sqlite::open::{self, Opened};
use crate::sqlite::writer::{self, Operation, Request, Written};

type Answered = oneshot::Receiver<Result<Written, StoreError>>;

fn create(name: &str, bytes: usize) -> (Request, Answered) {
    let (answer, answered) = oneshot::channel();
    let key = Key::new("Secret", "default", name);
    (
        Request::Write { operation: Operation::Create { key, body: body(&"x".repeat(bytes)) }, answer },
        answered,
    )
}

/// Gives all requests to a writer before it starts, and lets it finish.
fn write_all(opened: Opened, requests: Vec<Request>) -> Revision {
    let (sender, queue) = mpsc::channel(writer::QUEUE);
    for request in requests {
        sender.try_send(request).expect("there is room");
    }
    drop(sender);
    let (publish, head) = watch::channel(opened.revision);
    writer::start(opened, queue, publish).expect("a thread").join().expect("it does not panic");
    *head.borrow()
}

/// Counts the commits in the write-ahead log beside a file, by its format: after a header of 32
/// bytes come frames, and the one that ends a transaction says in its second word how many pages
/// the file then has. Frames of an earlier use of the log have other salts.
fn commits(path: &Path) -> usize {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let log = fs::read(path.with_extension("db-wal")).expect("a write-ahead log");
    let Some(header) = log.get(..HEADER) else { return 0 };
    let page_size = u32::from_be_bytes(header[8..12].try_into().expect("four bytes"));
    let frame_size = FRAME_HEADER + usize::try_from(page_size).expect("a page fits into memory");
    log[HEADER..]
        .chunks_exact(frame_size)
        .take_while(|frame| frame[8..16] == header[16..24])
        .filter(|frame| frame[4..8] != [0; 4])
        .count()
}

#[test]
fn what_waits_is_written_in_one_transaction() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    let opened = open::open(&path).expect("open");
    // A reader in the middle of a transaction keeps SQLite from clearing the write-ahead log away.
    let other = rusqlite::Connection::open(&path).expect("open");
    other.execute_batch("BEGIN").expect("a transaction");
    other.query_row("SELECT revision FROM state", [], |_| Ok(())).expect("a read");
    let before = commits(&path);
    let (mut requests, answers): (Vec<_>, Vec<_>) =
        (0..100).map(|number| create(&number.to_string(), 10)).unzip();
    // A write that is refused does not stop its neighbours.
    let (again, refused) = create("7", 10);
    requests.insert(50, again);
    assert_eq!(write_all(opened, requests), Revision(100));
    let revisions: Vec<u64> = answers
        .into_iter()
        .map(|mut answer| answer.try_recv().expect("answered").expect("written").revision.0)
        .collect();
    assert_eq!(revisions, (1..=100).collect::<Vec<_>>());
    let refused = { refused }.try_recv().expect("answered");
    assert!(matches!(refused, Err(StoreError::AlreadyExists { .. })), "{refused:?}");
    assert_eq!(commits(&path), before + 1);
    drop(other);
    check_integrity(&path);
}

#[test]
fn a_full_disk_fails_the_batch_and_nothing_else() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    let opened = open::open(&path).expect("open");
    let pages = |connection: &rusqlite::Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).expect("a number of pages")
    };
    let used = pages(&opened.connection, "page_count");
    opened.connection.pragma_update(None, "max_page_count", used + 4).expect("a limit");
    let (small, fits) = create("small", 10);
    let (large, too_large) = create("large", 100_000);
    assert_eq!(write_all(opened, vec![small, large]), Revision(0));
    for answer in [fits, too_large] {
        let failed = { answer }.try_recv().expect("answered");
        assert!(matches!(failed, Err(StoreError::Backend { .. })), "{failed:?}");
    }

    let opened = open::open(&path).expect("it opens again");
    assert_eq!(opened.revision, Revision(0));
    let (small, fits) = create("small", 10);
    assert_eq!(write_all(opened, vec![small]), Revision(1));
    { fits }.try_recv().expect("answered").expect("there is room again");
    check_integrity(&path);
}
