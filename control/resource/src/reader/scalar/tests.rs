//! Tests of single values.

use super::*;

#[test]
fn spans_of_time() {
    let right = [
        ("0", 0),
        ("0s", 0),
        ("5s", 5_000_000_000),
        ("1.5s", 1_500_000_000),
        ("1500ms", 1_500_000_000),
        (".5s", 500_000_000),
        ("1m30s", 90_000_000_000),
        ("2h", 7_200_000_000_000),
        ("10us", 10_000),
        ("10µs", 10_000),
        ("0.000000001s", 1),
        ("0.0000000019s", 1),
    ];
    for (text, nanos) in right {
        assert_eq!(parse_duration(text), Some(Duration::from_nanos(nanos)), "{text}");
    }
    let wrong = ["", "5", "s", "-5s", "5 s", "1..5s", "1.5.5s", "1e3s", "5x", "5sec", "1d", ".s", "+1s"];
    for text in wrong {
        assert_eq!(parse_duration(text), None, "{text}");
    }
    assert_eq!(parse_duration(&"9".repeat(400)), None);
    assert_eq!(parse_duration(&format!("{}s", "9".repeat(19))), None);
}
