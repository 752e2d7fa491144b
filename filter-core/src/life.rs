//! When a key is valid, and what else there is to say of one that is not plain.
//!
//! ```text
//! 0xff flags [ not before ] [ expires at ]
//! ```
//!
//! Flags: 1 disabled, 2 not before, 4 expires at, 8 of any shape. It stands at the beginning of a record,
//! and only of one that needs it. No text begins with its first byte: a filter that knows no lives refuses
//! such a record and keeps what it has. Times are milliseconds since 1970 in six bytes, little endian,
//! which is enough until the year 10889.

/// Begins a life.
const MARK: u8 = 0xff;
/// The key is refused whatever the time is.
const DISABLED: u8 = 1;
/// There is a time before which the key is not valid.
const NOT_BEFORE: u8 = 2;
/// There is a time from which on the key is not valid.
const EXPIRES_AT: u8 = 4;
/// The key need not look like one.
const ANY_SHAPE: u8 = 8;
/// Bytes of a time.
const TIME_LEN: usize = 6;
/// The latest time; a later one is as good as this.
const LATEST: u64 = (1 << (8 * TIME_LEN)) - 1;

/// When a key is valid, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Life {
    /// Not before then.
    pub not_before: Option<u64>,
    /// Not from then on.
    pub expires_at: Option<u64>,
    /// Not for now, whatever the time is.
    pub disabled: bool,
    /// The key may look like a damaged one of those that are made here ([`crate::generated`]), or nobody
    /// knows what it looks like.
    pub any_shape: bool,
}

/// Why a key that is known is not valid now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lapse {
    /// Somebody switched it off.
    Disabled,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
}

// === impl Life ===

impl Life {
    /// Of a key that is always valid.
    pub const ALWAYS: Self = Self { not_before: None, expires_at: None, disabled: false, any_shape: false };
    /// Of a key that never is.
    pub(crate) const OVER: Self = Self { expires_at: Some(0), ..Self::ALWAYS };

    /// Appends it to a record that begins; nothing for a key that is always valid.
    pub(crate) fn pack(self, record: &mut Vec<u8>) {
        if self == Self::ALWAYS {
            return;
        }
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.disabled, DISABLED)
            | flag(self.not_before.is_some(), NOT_BEFORE)
            | flag(self.expires_at.is_some(), EXPIRES_AT)
            | flag(self.any_shape, ANY_SHAPE);
        record.extend_from_slice(&[MARK, flags]);
        for time in [self.not_before, self.expires_at].into_iter().flatten() {
            record.extend(time.min(LATEST).to_le_bytes().into_iter().take(TIME_LEN));
        }
    }

    /// Takes the life off a record: nothing if it cannot be read, and then nobody knows when the key is
    /// valid.
    pub(crate) fn split(record: &[u8]) -> Option<(Self, &[u8])> {
        let Some((&MARK, rest)) = record.split_first() else { return Some((Self::ALWAYS, record)) };
        let (flags, mut rest) = rest.split_first()?;
        if *flags == 0 || *flags > DISABLED | NOT_BEFORE | EXPIRES_AT | ANY_SHAPE {
            return None;
        }
        let mut time = |flag: u8| {
            if flags & flag == 0 {
                return Some(None);
            }
            let (bytes, after) = rest.split_first_chunk::<TIME_LEN>()?;
            rest = after;
            Some(Some(bytes.iter().rev().fold(0, |time, byte| time << 8 | u64::from(*byte))))
        };
        let (not_before, expires_at) = (time(NOT_BEFORE)?, time(EXPIRES_AT)?);
        let (disabled, any_shape) = (flags & DISABLED != 0, flags & ANY_SHAPE != 0);
        Some((Self { not_before, expires_at, disabled, any_shape }, rest))
    }

    /// Looks for one thing alone in a record that was read before.
    pub(crate) fn has_any_shape(record: &[u8]) -> bool {
        matches!(record, [MARK, flags, ..] if flags & ANY_SHAPE != 0)
    }

    /// Whether a key with this life is refused at a moment at which it was valid with the other one.
    pub(crate) fn narrows(self, other: Self) -> bool {
        let ends = |life: Self| life.expires_at.unwrap_or(u64::MAX);
        let begins = |life: Self| life.not_before.unwrap_or(0);
        !other.disabled && (self.disabled || ends(self) < ends(other) || begins(self) > begins(other))
    }

    /// Whether the key is valid at no moment at which it is not with the other one.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.disabled || !(other.disabled || other.narrows(self))
    }

    /// Whether the key is valid. Asks for the time only if that depends on it, and without one the key
    /// is not.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn check(self, now: impl FnOnce() -> Option<u64>) -> Result<(), Lapse> {
        if self.disabled {
            return Err(Lapse::Disabled);
        }
        if self.not_before.is_none() && self.expires_at.is_none() {
            return Ok(());
        }
        let now = now();
        if self.expires_at.is_some_and(|end| now.is_none_or(|now| now >= end)) {
            return Err(Lapse::Expired);
        }
        if self.not_before.is_some_and(|begin| now.is_none_or(|now| now < begin)) {
            return Err(Lapse::NotYetValid);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any life that a record can hold.
    pub(crate) fn any_life() -> impl Strategy<Value = Life> {
        let time = || prop::option::of(0..=LATEST);
        (time(), time(), any::<bool>(), any::<bool>()).prop_map(
            |(not_before, expires_at, disabled, any_shape)| Life {
                not_before,
                expires_at,
                disabled,
                any_shape,
            },
        )
    }

    #[test]
    fn the_packed_form_is_fixed() {
        let packed = |life: Life| {
            let mut record = Vec::new();
            life.pack(&mut record);
            record
        };
        let (not_before, expires_at) = (Some(0x0102_0304_0506), Some(u64::MAX));
        assert_eq!(packed(Life::ALWAYS), b"");
        assert_eq!(packed(Life { disabled: true, ..Life::ALWAYS }), b"\xff\x01");
        assert_eq!(packed(Life { not_before, ..Life::ALWAYS }), b"\xff\x02\x06\x05\x04\x03\x02\x01");
        assert_eq!(packed(Life { expires_at, ..Life::ALWAYS }), b"\xff\x04\xff\xff\xff\xff\xff\xff");
        assert_eq!(packed(Life { any_shape: true, ..Life::ALWAYS }), b"\xff\x08");
        let all = Life { not_before, expires_at, disabled: true, any_shape: true };
        assert_eq!(packed(all).len(), 2 + 6 + 6);
        assert_eq!(packed(all).get(1), Some(&15));
    }

    #[test]
    fn a_key_is_valid_from_its_first_to_before_its_last_millisecond() {
        let life = Life { not_before: Some(10), expires_at: Some(20), ..Life::ALWAYS };
        for (now, expected) in [
            (Some(0), Err(Lapse::NotYetValid)),
            (Some(9), Err(Lapse::NotYetValid)),
            (Some(10), Ok(())),
            (Some(19), Ok(())),
            (Some(20), Err(Lapse::Expired)),
            (Some(u64::MAX), Err(Lapse::Expired)),
            (None, Err(Lapse::Expired)),
        ] {
            assert_eq!(life.check(|| now), expected, "{now:?}");
            let disabled = Life { disabled: true, ..life };
            assert_eq!(disabled.check(|| now), Err(Lapse::Disabled), "{now:?}");
        }
        assert_eq!(Life { expires_at: None, ..life }.check(|| None), Err(Lapse::NotYetValid));
        assert_eq!(Life::OVER.check(|| Some(0)), Err(Lapse::Expired));
    }

    proptest! {
        #[test]
        fn what_is_not_narrower_is_valid_whenever_the_other_was(
            one in any_life(), other in any_life(), moments in prop::collection::vec(0..=LATEST, 8),
        ) {
            let near = [one, other].into_iter().flat_map(|life| [life.not_before, life.expires_at]).flatten();
            let near = near.flat_map(|time| [time.saturating_sub(1), time, time + 1]);
            let lost = near.chain(moments).any(|now| {
                other.check(|| Some(now)).is_ok() && one.check(|| Some(now)).is_err()
            });
            prop_assert!(!lost || one.narrows(other));
            prop_assert!(!one.narrows(one));
        }
    }

    #[test]
    fn the_clock_is_not_asked_where_it_does_not_matter() {
        let disabled = Life { disabled: true, expires_at: Some(9), ..Life::ALWAYS };
        for life in [Life::ALWAYS, disabled, Life { any_shape: true, ..Life::ALWAYS }] {
            let _ = life.check(|| panic!("nobody needs the time"));
        }
    }
}
