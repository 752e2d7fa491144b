use super::*;

#[test]
fn who_waited_long_enough_is_taken_out_once() {
    let mut lot = Lot::default();
    for (context, until) in [(7, 300), (3, 100), (5, 200)] {
        assert_eq!(lot.enter(context, until, ()), Ok(()));
    }
    assert_eq!(lot.expire(99), []);
    assert_eq!(lot.expire(200), [(3, ()), (5, ())]);
    assert_eq!(lot.expire(200), []);
    assert_eq!(lot.waiting(), [(7, ())]);
}

#[test]
fn who_left_is_not_found_again() {
    let mut lot = Lot::default();
    assert_eq!(lot.enter(1, 100, "config"), Ok(()));
    assert_eq!(lot.leave(1), Some("config"));
    assert_eq!(lot.leave(1), None);
    assert_eq!(lot.expire(u64::MAX), []);
    assert!(lot.is_empty());
}

#[test]
fn there_is_room_for_so_many_and_no_more() {
    let mut lot = Lot::default();
    for context in 0..u32::try_from(CAPACITY).expect("a small number") {
        assert_eq!(lot.enter(context, 100, ()), Ok(()));
    }
    assert_eq!(lot.enter(u32::MAX, 100, ()), Err(Full));
    assert_eq!(lot.leave(0), Some(()));
    assert_eq!(lot.enter(u32::MAX, 100, ()), Ok(()));
    assert_eq!(lot.len(), CAPACITY);
}
