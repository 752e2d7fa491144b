use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::wire::{Usage, uses};

const INTERVAL: u32 = 10_000;

/// Table, revision, digest: how often and when last.
type Uses = BTreeMap<(String, u64, Digest), (u32, u32)>;

fn digest(number: u32) -> Digest {
    crate::key::digest(&number.to_le_bytes())
}

fn decode(message: &[u8]) -> Usage {
    match ClientMessage::decode(message).expect("a message").kind {
        Some(Kind::Usage(usage)) => usage,
        other => panic!("not a report: {other:?}"),
    }
}

/// All reports that can be sent on a stream.
fn sent(reporter: &mut Reporter, stream: u32) -> Vec<Usage> {
    std::iter::from_fn(|| reporter.next(stream).map(decode)).collect()
}

fn told(reports: &[Usage]) -> Uses {
    let mut all = Uses::new();
    for table in reports.iter().flat_map(|report| &report.tables) {
        for (digest, count, last) in uses(&table.uses).expect("whole uses") {
            let entry = all.entry((table.table.clone(), table.revision, digest)).or_insert((0, 0));
            *entry = (entry.0 + count, entry.1.max(last));
        }
    }
    all
}

fn seqs(reports: &[Usage]) -> Vec<u64> {
    reports.iter().map(|report| report.seq).collect()
}

/// One whose server takes reports on stream 1.
fn open() -> Reporter {
    let mut reporter = Reporter::new();
    reporter.on_ack(1, 0);
    reporter
}

fn uses_of(
    table: &str,
    revision: u64,
    number: u32,
    count: u32,
    last: u32,
) -> ((String, u64, Digest), (u32, u32)) {
    ((table.to_owned(), revision, digest(number)), (count, last))
}

#[test]
fn each_use_is_told_once_and_with_the_time_of_the_last() {
    let mut reporter = open();
    reporter.set_time(5_999);
    for _ in 0..3 {
        reporter.count("t", &digest(1));
    }
    reporter.count("u", &digest(1));
    reporter.set_time(7_000);
    reporter.count("t", &digest(1));
    reporter.count("t", &digest(2));
    reporter.close(9_999, INTERVAL, |_| 4);
    assert_eq!(sent(&mut reporter, 1), [], "not before it is time");
    reporter.close(10_000, INTERVAL, |table| if table == "t" { 4 } else { 6 });
    let reports = sent(&mut reporter, 1);
    assert_eq!(seqs(&reports), [1]);
    let expected = [uses_of("t", 4, 1, 4, 7), uses_of("t", 4, 2, 1, 7), uses_of("u", 6, 1, 1, 5)];
    assert_eq!(told(&reports), Uses::from(expected));
    reporter.on_ack(1, 1);
    reporter.close(30_000, INTERVAL, |_| 4);
    assert_eq!(sent(&mut reporter, 1), [], "nothing was used since");
}

#[test]
fn a_report_is_sent_again_on_another_stream_until_it_is_stored() {
    let mut reporter = open();
    reporter.count("t", &digest(1));
    reporter.close(10_000, INTERVAL, |_| 4);
    let first = sent(&mut reporter, 1);
    assert_eq!(sent(&mut reporter, 1), [], "once on a stream");
    // What is used meanwhile waits for the next report.
    reporter.count("t", &digest(2));
    reporter.close(20_000, INTERVAL, |_| 4);
    assert_eq!(sent(&mut reporter, 2), [], "not before the server takes reports there");
    reporter.on_ack(2, 0);
    assert_eq!(sent(&mut reporter, 2), first);
    reporter.on_ack(2, 1);
    assert_eq!(sent(&mut reporter, 2), []);
    reporter.close(21_000, INTERVAL, |_| 4);
    let next = sent(&mut reporter, 2);
    assert_eq!((seqs(&next), told(&next)), (vec![2], Uses::from([uses_of("t", 4, 2, 1, 0)])));
    // The server knows it already, on yet another stream.
    reporter.on_ack(3, 2);
    assert_eq!(sent(&mut reporter, 3), []);
}

#[test]
fn uses_before_a_change_are_told_with_the_revision_before_it() {
    let mut reporter = open();
    for key in [1, 2, 2] {
        reporter.count("t", &digest(key));
    }
    reporter.seal("t", &digest(1), 4);
    reporter.seal("t", &digest(9), 4);
    reporter.seal("u", &digest(2), 4);
    for key in [1, 2, 3] {
        reporter.count("t", &digest(key));
    }
    reporter.seal_all("t", 6);
    reporter.count("t", &digest(3));
    reporter.close(10_000, INTERVAL, |_| 8);
    let expected = [
        uses_of("t", 4, 1, 1, 0),
        uses_of("t", 6, 1, 1, 0),
        uses_of("t", 6, 2, 3, 0),
        uses_of("t", 6, 3, 1, 0),
        uses_of("t", 8, 3, 1, 0),
    ];
    assert_eq!(told(&sent(&mut reporter, 1)), Uses::from(expected));
}

#[test]
fn a_tally_that_fills_up_is_told_early_and_in_bounded_messages() {
    let mut reporter = open();
    let mut key = 0;
    while !reporter.is_filling() {
        reporter.count("t", &digest(key));
        key += 1;
    }
    reporter.close(1, INTERVAL, |_| 4);
    let mut messages = Vec::new();
    while let Some(message) = reporter.next(1) {
        messages.push(message.to_vec());
    }
    assert!(messages.len() > 10 && messages.iter().all(|message| message.len() < 64 * 1024));
    let reports: Vec<Usage> = messages.iter().map(|message| decode(message)).collect();
    assert!(seqs(&reports).into_iter().eq(1..=reports.len() as u64), "{:?}", seqs(&reports));
    let told = told(&reports);
    assert_eq!(told.len(), usize::try_from(key).expect("a small number"));
    assert!(told.values().all(|(count, _)| *count == 1));
}

#[test]
fn what_is_too_much_is_lost_and_said_so() {
    let mut reporter = open();
    let most = u32::try_from(MAX_KEYS).expect("a small number");
    for key in 0..most + 7 {
        reporter.count("t", &digest(key));
    }
    // Keys that are in it are counted still.
    reporter.count("t", &digest(1));
    assert_eq!((reporter.take_lost(), reporter.take_lost()), (7, 0));
    reporter.close(1, INTERVAL, |_| 4);
    let told = told(&sent(&mut reporter, 1));
    assert_eq!(told.len(), MAX_KEYS);
    assert_eq!(told[&("t".to_owned(), 4, digest(1))].0, 2);
    // With the server away a second tally fills up, and no third.
    for key in 0..most + 7 {
        reporter.count("t", &digest(key));
    }
    reporter.close(99_999, INTERVAL, |_| 4);
    assert_eq!(reporter.take_lost(), 7);
    assert!(!reporter.is_filling(), "there is no use in hurrying");
}

#[derive(Debug, Clone)]
enum Step {
    Use(usize, u32),
    Seal(usize, u32),
    SealAll(usize),
    Close,
    Cut,
    Ack,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3_usize, 0..200_u32).prop_map(|(table, key)| Step::Use(table, key)),
        2 => (0..3_usize, 0..200_u32).prop_map(|(table, key)| Step::Seal(table, key)),
        1 => (0..3_usize).prop_map(Step::SealAll),
        1 => Just(Step::Close),
        1 => Just(Step::Cut),
        1 => Just(Step::Ack),
    ]
}

proptest! {
    /// A server that counts each number once ends up with exactly what was used, at the revision at which
    /// it was, whatever the streams and the tables do.
    #[test]
    fn nothing_is_lost_and_nothing_is_counted_twice(steps in prop::collection::vec(step(), 0..400)) {
        let tables = ["t", "u", "v"];
        let (mut reporter, mut expected) = (open(), Uses::new());
        let (mut stored, mut last, mut stream, mut now) = (Vec::new(), 0, 1, 0);
        // Each key of each table is at a revision of its own, which moves on when it is sealed.
        let mut revisions = [10_u64; 3];
        let mut receive = |reporter: &mut Reporter, stream: u32, last: &mut u64| {
            for report in sent(reporter, stream) {
                if report.seq > *last {
                    *last = report.seq;
                    stored.push(report);
                }
            }
        };
        let end = [Step::Close, Step::Ack, Step::Close, Step::Ack];
        let mut uncounted: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        let settle = |table: usize, key: u32, count: u32, revision: u64, expected: &mut Uses| {
            let entry = expected.entry((tables[table].to_owned(), revision, digest(key))).or_insert((0, 0));
            entry.0 += count;
        };
        for step in steps.into_iter().chain(end) {
            match step {
                Step::Use(table, key) => {
                    reporter.count(tables[table], &digest(key));
                    *uncounted.entry((table, key)).or_default() += 1;
                }
                Step::Seal(table, key) => {
                    reporter.seal(tables[table], &digest(key), revisions[table]);
                    if let Some(count) = uncounted.remove(&(table, key)) {
                        settle(table, key, count, revisions[table], &mut expected);
                    }
                    revisions[table] += 1;
                }
                Step::SealAll(table) => {
                    reporter.seal_all(tables[table], revisions[table]);
                    let all: Vec<_> = uncounted.extract_if(.., |(of, _), _| *of == table).collect();
                    for ((_, key), count) in all {
                        settle(table, key, count, revisions[table], &mut expected);
                    }
                    revisions[table] += 1;
                }
                Step::Close => {
                    now += 10_000;
                    let before = reporter.seq;
                    let at = |table: &str| revisions[tables.iter().position(|it| *it == table).expect("one")];
                    reporter.close(now, INTERVAL, at);
                    if reporter.seq > before {
                        for ((table, key), count) in std::mem::take(&mut uncounted) {
                            settle(table, key, count, revisions[table], &mut expected);
                        }
                    }
                    receive(&mut reporter, stream, &mut last);
                }
                Step::Cut => {
                    // What was acknowledged last may be lost with the stream.
                    stream += 1;
                    reporter.on_ack(stream, last);
                    receive(&mut reporter, stream, &mut last);
                }
                Step::Ack => reporter.on_ack(stream, last),
            }
        }
        let counted: Uses = told(&stored).into_iter().map(|(key, (count, _))| (key, (count, 0))).collect();
        prop_assert_eq!(counted, expected);
    }
}
