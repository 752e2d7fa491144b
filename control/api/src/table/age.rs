//! Ages as `kubectl` shows them: `42s`, `5m30s`, `3h`, `12d`.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago a time was that an object holds.
#[must_use]
pub fn since(time: Option<&str>, now: Timestamp) -> String {
    match time.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(time) => shown(now.as_second() - time.as_second()),
        None => "<unknown>".to_owned(),
    }
}

/// The younger, the finer: two units while the first is a small number, then one.
fn shown(seconds: i64) -> String {
    match seconds {
        // The clocks of two machines differ a little.
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds, (MINUTE, 'm'), (1, 's')),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, (HOUR, 'h'), (MINUTE, 'm')),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, (DAY, 'd'), (HOUR, 'h')),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds, (YEAR, 'y'), (DAY, 'd')),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn two(seconds: i64, large: (i64, char), small: (i64, char)) -> String {
    let (whole, rest) = (seconds / large.0, seconds % large.0 / small.0);
    if rest == 0 { format!("{whole}{}", large.1) } else { format!("{whole}{}{rest}{}", large.1, small.1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubernetes() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(shown(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn what_is_no_time_has_no_age() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(since(None, now), "<unknown>");
        assert_eq!(since(Some("yesterday"), now), "<unknown>");
        assert_eq!(since(Some("1969-12-31T23:59:00Z"), now), "60s");
    }
}
