//! When a key is valid.

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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use keyward_filter_core::time;
    use proptest::prelude::*;

    proptest! {
        /// Secrets are read by the filter's own rules, and their times are shown by those of a library.
        #[test]
        fn a_time_is_what_the_library_takes_it_for(
            date in (1970..=9999_u16, 1..=12_u8, 1..=31_u8),
            clock in (0..24_u8, 0..60_u8, 0..=60_u8),
            fraction in "(\\.[0-9]{1,9})?",
            zone in "Z|z|[+-](0[0-9]|1[0-9]|2[0-3]):[0-5][0-9]",
        ) {
            let ((year, month, day), (hour, minute, second)) = (date, clock);
            let text =
                format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}");
            let theirs = text.parse::<Timestamp>().ok();
            let theirs = theirs.map(|time| u64::try_from(time.as_millisecond()).unwrap_or(0));
            prop_assert_eq!(time::milliseconds(&text), theirs, "{}", text);
        }
    }
}
