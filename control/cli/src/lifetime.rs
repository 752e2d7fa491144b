//! Lengths of time as people write them: `90d`.

use jiff::SignedDuration;

#[cfg(test)]
mod tests;

/// Reads a whole number and a unit: s, m, h, d, w or y (365 days).
pub(crate) fn lifetime(text: &str) -> Result<SignedDuration, String> {
    const LONGEST: i64 = 100 * 365 * 24 * 3600;
    let wrong =
        || format!("{text:?} is no length of time: write a number and s, m, h, d, w or y, such as 90d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        'y' => 365 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let number = text.strip_suffix(unit).unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let total = number.parse::<i64>().ok().and_then(|number| number.checked_mul(seconds));
    match total {
        Some(total) if (1..=LONGEST).contains(&total) => Ok(SignedDuration::from_secs(total)),
        _ => Err(format!("{text:?} is too long or nothing: at most 100y")),
    }
}
