use super::*;

#[test]
fn a_bar_says_how_far_how_fast_and_how_long_yet() {
    for (done, rows, seconds, expected) in [
        (0, 100, 0, "[------------------------------] 0 of 100, 0 a second"),
        (50, 100, 5, "[###############---------------] 50 of 100, 10 a second, 5 s left"),
        (100, 100, 8, "[##############################] 100 of 100, 12 a second"),
    ] {
        assert_eq!(bar(done, rows, Duration::from_secs(seconds)), expected);
    }
}
