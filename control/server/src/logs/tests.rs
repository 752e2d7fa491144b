use super::*;

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| &*line.text).collect()
}

#[test]
fn what_is_read_goes_on_where_it_ended() {
    let ring = Ring::default();
    assert_eq!(ring.read(0), Read { lines: Vec::new(), missed: 0, next: 0 });
    ring.push("a", false);
    ring.push("b", true);
    let read = ring.read(0);
    assert_eq!((texts(&read.lines), read.next), (vec!["a", "b"], 2));
    ring.push("c", false);
    assert_eq!(texts(&ring.read(read.next).lines), ["c"]);
    // A number that is not yet one is no mistake.
    assert!(ring.read(9).lines.is_empty());
}

#[test]
fn a_tail_counts_the_lines_that_are_asked_for() {
    let ring = Ring::default();
    for (text, is_error) in [("a", true), ("b", false), ("c", true), ("d", false)] {
        ring.push(text, is_error);
    }
    let tail = |most, errors_only| ring.tail(most, errors_only);
    assert_eq!((tail(0, false), tail(1, false), tail(2, false), tail(usize::MAX, false)), (4, 3, 2, 0));
    assert_eq!((tail(1, true), tail(2, true), tail(9, true)), (2, 0, 0));
}

#[test]
fn a_ring_is_bounded_by_lines_and_by_bytes_and_says_what_is_gone() {
    let ring = Ring::default();
    for number in 0..MAX_LINES + 5 {
        ring.push(&number.to_string(), false);
    }
    let read = ring.read(2);
    assert_eq!((read.lines.len(), read.missed), (MAX_LINES, 3));
    assert_eq!(&*read.lines[0].text, "5");
    assert_eq!(read.next, (MAX_LINES + 5) as u64);
    let long = "o".repeat(MAX_BYTES / 2 - 1);
    for _ in 0..3 {
        ring.push(&long, false);
    }
    assert_eq!(ring.read(0).lines.len(), 2);
}

#[tokio::test]
async fn who_follows_is_woken_by_the_next_line() {
    let ring = Ring::default();
    ring.push("a", false);
    let mut changes = ring.changes();
    let next = ring.read(0).next;
    let later = ring.clone();
    let pushing = tokio::spawn(async move { later.push("b", false) });
    tokio::time::timeout(std::time::Duration::from_secs(10), changes.wait_for(|count| *count > next))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(texts(&ring.read(next).lines), ["b"]);
    pushing.await.unwrap();
}
