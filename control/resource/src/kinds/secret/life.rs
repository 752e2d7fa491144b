//! When a key is valid.

use jiff::Timestamp;

/// When a key is valid, in milliseconds since 1970; a time before that counts as 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyLife {
    /// From then on.
    pub not_before: Option<u64>,
    /// Before then.
    pub expires_at: Option<u64>,
    /// Not for now, whatever the time is.
    pub disabled: bool,
}

/// Reads a time as RFC 3339 writes it, to the millisecond.
pub(super) fn time(text: &str) -> Option<u64> {
    is_rfc3339(text).then(|| text.parse::<Timestamp>().ok())?.map(milliseconds)
}

fn milliseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0)
}

/// The parser takes more than the RFC does: other separators, short forms, names of time zones.
fn is_rfc3339(text: &str) -> bool {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        shape => byte.eq_ignore_ascii_case(shape),
    };
    let Some((time, rest)) = text.as_bytes().split_at_checked(SHAPE.len()) else { return false };
    let zone = match rest.split_first() {
        Some((b'.', rest)) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            rest.get(digits..).unwrap_or_default()
        }
        _ => rest,
    };
    let offset = |zone: &[u8]| zone.len() == 6 && zone.iter().zip(b"+dd:dd").skip(1).all(fits);
    let named = match zone {
        [zulu] => zulu.eq_ignore_ascii_case(&b'Z'),
        [b'+' | b'-', ..] => offset(zone),
        _ => false,
    };
    named && time.iter().zip(SHAPE).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_the_rfc_says() {
        // Section 5.8 of RFC 3339, and its neighbourhood.
        for (text, expected) in [
            ("1985-04-12T23:20:50.52Z", Some(482_196_050_520)),
            ("1996-12-19T16:39:57-08:00", Some(851_042_397_000)),
            ("1990-12-31T15:59:60-08:00", Some(662_687_999_000)),
            ("2026-11-21t10:00:00z", Some(1_795_255_200_000)),
            ("2026-11-21T10:00:00.123456789+00:30", Some(1_795_253_400_123)),
            ("1969-12-31T23:59:59Z", Some(0)),
            ("9999-12-30T00:00:00Z", Some(253_402_128_000_000)),
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_time_is_none() {
        for text in [
            "",
            "tomorrow",
            "2026-11-21",
            "2026-11-21T10:00:00",
            "2026-11-21T10:00Z",
            "2026-11-21 10:00:00Z",
            "2026-11-21T10:00:00.Z",
            "2026-11-21T10:00:00,5Z",
            "2026-11-21T10:00:00+01",
            "2026-11-21T10:00:00+0100",
            "2026-11-21T10:00:00Z[UTC]",
            "2026-11-21T10:00:00+01:00[Europe/Berlin]",
            "2026-02-30T10:00:00Z",
            "2026-11-21T24:00:00Z",
            "20261121T100000Z",
            "+002026-11-21T10:00:00Z",
            "1795255200",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
