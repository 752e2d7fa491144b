use super::*;

#[test]
fn a_time_to_wait_is_read_or_refused() {
    for (text, milliseconds) in [("5s", 5_000), ("500ms", 500), ("1m", 60_000)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["", "5", "0s", "61s", "-1s", "soon"] {
        assert!(duration(text).is_err(), "{text}");
    }
}
