//! Reads single values: numbers in bounds, spans of time, one of several words.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::{Node, Object, quoted};

/// Longer spans of time are a slip: ten years.
const MAX_DURATION: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Shorter ones would be no time at all to the proxy, which often counts in milliseconds, and zero
/// often means no limit there.
const MIN_DURATION: Duration = Duration::from_millis(1);

/// The names of units, with their nanoseconds.
type Units = [(&'static str, u128)];

/// `ms` before `m`.
const UNITS: &Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// The units of times that are long.
const LONG_UNITS: &Units =
    &[("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000)];

/// The unit at the beginning of a text, its nanoseconds, and the rest of the text.
fn unit<'t>(text: &'t str, units: &Units) -> Option<(u128, &'t str)> {
    units.iter().find_map(|(unit, nanos)| text.strip_prefix(unit).map(|rest| (*nanos, rest)))
}

/// A span of time such as `1.5s`, `200ms`, `1m30s` or `0`; what is below a nanosecond is cut.
fn parse_duration(text: &str) -> Option<Duration> {
    parse_in(text, UNITS)
}

/// A span of time in days, hours, minutes or seconds, such as `1d` or `1h30m`.
pub(crate) fn parse_long_duration(text: &str) -> Option<Duration> {
    parse_in(text, LONG_UNITS)
}

fn parse_in(text: &str, units: &Units) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        // No number here has more digits than this, whatever its unit.
        if (whole.is_empty() && part.is_empty()) || whole.len() > 18 || part.len() > 18 || part.contains('.')
        {
            return None;
        }
        let (nanos, tail) = unit(tail, units)?;
        let digits = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
        let scale = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
        let fraction = digits(part)?.checked_mul(nanos)?.checked_div(scale)?;
        total = total.checked_add(digits(whole)?.checked_mul(nanos)?)?.checked_add(fraction)?;
        rest = tail;
    }
    if text.is_empty() {
        return None;
    }
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(total % 1_000_000_000).ok()?))
}

/// Notes that a number is out of bounds.
fn out_of<T: Display>(node: &Node<'_>, what: &str, range: &RangeInclusive<T>) {
    node.invalid(format_args!("must be {what} between {} and {}", range.start(), range.end()));
}

// === impl Node ===

impl Node<'_> {
    /// A whole number in these bounds.
    pub(crate) fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let Value::Number(number) = self.value else { return self.wrong_type("a whole number") };
        let found = number.as_i64().filter(|number| range.contains(number));
        if found.is_none() {
            out_of(self, "a whole number", &range);
        }
        found
    }

    /// A whole number in these bounds that has 64 bits in the original product: as there, its digits may
    /// stand in quotes, because not every reader of JSON keeps so many.
    pub(crate) fn long(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let Value::String(text) = self.value else { return self.integer(range) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.wrong_type("a whole number, or its digits in quotes");
        }
        let found = text.parse().ok().filter(|number| range.contains(number));
        if found.is_none() {
            out_of(self, "a whole number", &range);
        }
        found
    }

    /// A whole number in these bounds, of 32 bits and not negative.
    pub(crate) fn unsigned(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let found = self.integer(i64::from(*range.start())..=i64::from(*range.end()))?;
        u32::try_from(found).ok()
    }

    /// Any number in these bounds.
    pub(crate) fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let Value::Number(number) = self.value else { return self.wrong_type("a number") };
        let found = number.as_f64().filter(|number| range.contains(number));
        if found.is_none() {
            out_of(self, "a number", &range);
        }
        found
    }

    /// A span of time; zero is one.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let Value::String(text) = self.value else {
            return self.wrong_type("a string such as \"1.5s\", \"200ms\" or \"1m30s\"");
        };
        match parse_duration(text) {
            None => {
                self.invalid("must be a span of time such as \"1.5s\", \"200ms\" or \"1m30s\"");
                None
            }
            Some(found) if found > MAX_DURATION => {
                self.invalid("must be at most 87600h (ten years)");
                None
            }
            Some(found) if found < MIN_DURATION && !found.is_zero() => {
                self.invalid("must be 0s, or at least 1ms");
                None
            }
            found => found,
        }
    }

    /// A span of time, not zero.
    pub(crate) fn positive_duration(&self) -> Option<Duration> {
        let found = self.duration()?;
        if found.is_zero() {
            self.invalid("must be more than 0s");
            return None;
        }
        Some(found)
    }

    /// One of these words, and what it stands for.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.string()?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.unsupported(format_args!("supported values: {}", quoted(&words)));
        }
        found.map(|(_, found)| *found)
    }
}

// === impl Object ===

impl<'a> Object<'a> {
    /// A field that may be missing; the outer `None` is a mistake.
    pub(crate) fn maybe<'b, T>(
        &'b self,
        key: &'b str,
        read: impl FnOnce(Node<'b>) -> Option<T>,
    ) -> Option<Option<T>> {
        self.or(key, None, |node| read(node).map(Some))
    }

    /// A boolean that may be missing, or else a default.
    pub(crate) fn flag(&self, key: &str, default: bool) -> Option<bool> {
        self.or(key, default, |node| node.boolean())
    }

    /// A string that may be missing; an empty one counts as missing, as in the original product.
    pub(crate) fn text(&self, key: &str) -> Option<Option<String>> {
        let text = self.or(key, "", |node| node.string())?;
        Some((!text.is_empty()).then(|| text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
