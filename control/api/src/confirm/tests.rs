use super::*;

#[test]
fn a_wait_is_a_bounded_duration() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (value, expected) in [
        ("", seconds(5)),
        ("true", seconds(5)),
        ("5s", seconds(5)),
        ("500ms", Some(Duration::from_millis(500))),
        ("1m", seconds(60)),
        ("0s", seconds(0)),
        ("0", None),
        ("false", None),
    ] {
        assert_eq!(wait(value).expect(value), expected, "{value}");
    }
    for value in ["-1s", "61s", "soon", "5", "1h"] {
        assert_eq!(wait(value).expect_err(value).code, 400, "{value}");
    }
}
