//! Times as RFC 3339 writes them, in milliseconds since 1970.

/// The days before 1970, from the beginning of the year 1 on.
const DAYS_TO_1970: u64 = 719_162;

/// The last time that there is, 9999-12-30T22:00:00.999Z: a day later, somewhere on earth, a year has five
/// digits, and none of those who show times could write it.
const LAST: u64 = 253_402_207_200_999;

/// Reads a time, to the millisecond. A time before 1970 counts as 1970, and a leap second as the one
/// before it. One after 9999-12-30T22:00:00Z, or with an offset of a day, is none.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    let (t, rest) = rest.split_first()?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [year @ .., b'-', m0, m1, b'-', d0, d1] = date else { return None };
    let (year, month, day) = (number(year)?, number(&[*m0, *m1])?, number(&[*d0, *d1])?);
    let (hour, minute, second) = clock(time)?;
    let (fraction, zone) = fraction(rest)?;
    let (east, hours, minutes) = offset(zone)?;
    let valid = t.eq_ignore_ascii_case(&b'T')
        && (1..=days_of(year, month)?).contains(&day)
        && (hour < 24 && minute < 60 && second <= 60)
        && (hours < 24 && minutes < 60);
    if !valid {
        return None;
    }
    let days = days_before(year, month)?.saturating_add(day).saturating_sub(1);
    let local = seconds(days.saturating_mul(24).saturating_add(hour), minute).saturating_add(second.min(59));
    let off = seconds(hours, minutes);
    let utc = if east { local.saturating_sub(off) } else { local.saturating_add(off) };
    let since = utc.checked_sub(DAYS_TO_1970.saturating_mul(86_400));
    let time = since.map_or(0, |since| since.saturating_mul(1_000).saturating_add(fraction));
    (time <= LAST).then_some(time)
}

fn number(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for digit in digits {
        let value = char::from(*digit).to_digit(10)?;
        number = number.checked_mul(10)?.checked_add(u64::from(value))?;
    }
    Some(number)
}

fn clock(time: &[u8]) -> Option<(u64, u64, u64)> {
    let [h0, h1, b':', m0, m1, b':', s0, s1] = time else { return None };
    Some((number(&[*h0, *h1])?, number(&[*m0, *m1])?, number(&[*s0, *s1])?))
}

/// Milliseconds of a fraction of a second, if there is one, and what follows it.
fn fraction(rest: &[u8]) -> Option<(u64, &[u8])> {
    let Some(rest) = rest.strip_prefix(b".") else { return Some((0, rest)) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let (digits, zone) = rest.split_at_checked(count)?;
    let mut first = [b'0'; 3];
    for (to, digit) in first.iter_mut().zip(digits) {
        *to = *digit;
    }
    Some((number(&first)?, zone))
}

/// Whether it is east of Greenwich, and by how many hours and minutes.
fn offset(zone: &[u8]) -> Option<(bool, u64, u64)> {
    match zone {
        [zulu] if zulu.eq_ignore_ascii_case(&b'Z') => Some((true, 0, 0)),
        [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
            Some((*sign == b'+', number(&[*h0, *h1])?, number(&[*m0, *m1])?))
        }
        _ => None,
    }
}

fn seconds(hours: u64, minutes: u64) -> u64 {
    hours.saturating_mul(60).saturating_add(minutes).saturating_mul(60)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> Option<u64> {
    match month {
        2 => Some(if is_leap(year) { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// The days from the beginning of the year 1 to that of a month. The year 0 counts as the year 1: both
/// are long before 1970.
fn days_before(year: u64, month: u64) -> Option<u64> {
    let full = year.saturating_sub(1);
    let leaps = (full / 4).saturating_sub(full / 100).saturating_add(full / 400);
    let mut days = full.saturating_mul(365).saturating_add(leaps);
    for month in 1..month {
        days = days.saturating_add(days_of(year, month)?);
    }
    Some(days)
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
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("2000-02-29T23:59:59Z", Some(951_868_799_000)),
            ("1969-12-31T23:59:59Z", Some(0)),
            ("1970-01-01T00:30:00+01:00", Some(0)),
            ("1969-12-31T23:30:00-01:00", Some(1_800_000)),
            ("0000-02-29T00:00:00Z", Some(0)),
            ("9999-12-30T22:00:00.999Z", Some(LAST)),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
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
            "2026-11-21T10:00:00+24:00",
            "2026-11-21T10:00:00Z[UTC]",
            "9999-12-30T22:00:01Z",
            "9999-12-31T00:00:00Z",
            "2026-02-30T10:00:00Z",
            "2025-02-29T10:00:00Z",
            "2026-00-10T10:00:00Z",
            "2026-13-10T10:00:00Z",
            "2026-11-00T10:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T10:60:00Z",
            "2026-11-21T10:00:61Z",
            "+026-11-21T10:00:00Z",
            "20261121T100000Z",
            "1795255200",
            "2026-11-21T10:00:0\u{fc}Z",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
