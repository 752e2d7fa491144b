use super::*;

fn stream(since: u64) -> Stream {
    Stream { number: 1, root: 1, reported: 0, accepted: true, since }
}

/// Milliseconds that a link stays closed, seen from `now`.
fn delay(link: &Link, now: u64) -> u64 {
    (0..=LONGEST_DELAY_MS)
        .find(|delay| link.is_due(now + delay))
        .expect("a link is due within the longest delay")
}

#[test]
fn delays_double_up_to_the_longest_and_stay_within_half_of_it() {
    for seed in 0..100 {
        let mut link = Link::new(seed);
        assert!(link.is_due(0));
        for full in [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000] {
            link.closed(1_000);
            let delay = delay(&link, 1_000);
            assert!((full / 2..=full).contains(&delay), "{delay} of {full}");
        }
    }
}

#[test]
fn workers_do_not_come_back_all_at_once() {
    let delays: std::collections::BTreeSet<u64> = (0..64)
        .map(|seed| {
            let mut link = Link::new(seed);
            (0..8).for_each(|_| link.closed(0));
            delay(&link, 0)
        })
        .collect();
    assert!(delays.len() > 50, "64 workers share {} delays", delays.len());
}

#[test]
fn a_stream_that_lasted_starts_over() {
    let mut link = Link::new(1);
    (0..10).for_each(|_| link.closed(0));
    link.opened(stream(10_000));
    assert!(!link.is_due(u64::MAX));
    link.closed(10_000 + LONGEST_DELAY_MS + 1);
    assert!(delay(&link, 10_000 + LONGEST_DELAY_MS + 1) <= SHORTEST_DELAY_MS);
}

#[test]
fn a_stream_that_is_accepted_and_cut_off_again_and_again_slows_down() {
    let mut link = Link::new(1);
    for _ in 0..10 {
        link.opened(stream(0));
        link.closed(100);
    }
    assert!(delay(&link, 100) >= LONGEST_DELAY_MS / 2);
}

#[test]
fn a_stream_that_is_given_up_is_replaced_at_once() {
    let mut link = Link::new(1);
    assert_eq!(link.release(), None);
    link.opened(stream(0));
    assert_eq!(link.release(), Some(stream(0)));
    assert!(link.is_due(0));
    assert_eq!(link.stream(), None);
}

#[test]
fn even_a_very_long_outage_ends() {
    let mut link = Link::new(1);
    link.failures = u32::MAX - 1;
    link.closed(0);
    link.closed(0);
    assert!(delay(&link, 0) <= LONGEST_DELAY_MS);
}
