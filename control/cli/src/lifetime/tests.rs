use super::*;

#[test]
fn a_length_of_time_is_a_number_and_a_unit() {
    for (text, seconds) in
        [("1s", 1), ("90m", 5400), ("24h", 86_400), ("90d", 7_776_000), ("2w", 1_209_600), ("1y", 31_536_000)]
    {
        assert_eq!(lifetime(text), Ok(SignedDuration::from_secs(seconds)), "{text}");
    }
    for text in [
        "",
        "d",
        "90",
        "-1d",
        "+1d",
        "1.5d",
        "1 d",
        "0d",
        "101y",
        "99999999999999999999d",
        "9999999999999999w",
        "1ä",
    ] {
        assert!(lifetime(text).is_err(), "{text:?}");
    }
}
