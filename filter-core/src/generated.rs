//! Keys that Keyward makes: `kw_<random>_<checksum>`.
//!
//! The random part is at least 22 digits of base 62, the checksum six: the CRC-32 of all before its
//! underscore. It tells a key that was mistyped or cut off from one that nobody has, and tools that
//! look for lost keys find these by their form. It proves nothing: anybody can make one.

/// How all of them begin.
pub const PREFIX: &str = "kw_";
/// The least length of the random part: 22 digits of base 62 hold 128 bits.
pub const RANDOM_LEN: usize = 22;
/// The length of the checksum: 6 digits of base 62 hold 32 bits.
const CHECKSUM_LEN: usize = 6;
/// The digits of base 62, in the order of their bytes.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What a key looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As one that was made here.
    Generated,
    /// It begins like one that was made here, and is none: mistyped, cut off, or from elsewhere after all.
    Damaged,
    /// As anything else.
    Foreign,
}

/// Makes a key of 16 bytes that nobody can guess.
#[must_use]
pub fn make(random: [u8; 16]) -> String {
    let mut key = PREFIX.as_bytes().to_vec();
    digits(u128::from_be_bytes(random), RANDOM_LEN, &mut key);
    let checksum = crc32(&key);
    key.push(b'_');
    digits(u128::from(checksum), CHECKSUM_LEN, &mut key);
    String::from_utf8(key).unwrap_or_default()
}

/// Looks at the form of a key.
#[must_use]
pub fn shape(key: &[u8]) -> Shape {
    let Some(rest) = key.strip_prefix(PREFIX.as_bytes()) else { return Shape::Foreign };
    let is_whole = || {
        let end = key.len().checked_sub(CHECKSUM_LEN.checked_add(1)?)?;
        let (signed, checksum) = key.split_at_checked(end)?;
        let checksum = checksum.strip_prefix(b"_")?;
        let random = signed.strip_prefix(PREFIX.as_bytes())?;
        let mut expected = Vec::with_capacity(CHECKSUM_LEN);
        digits(u128::from(crc32(signed)), CHECKSUM_LEN, &mut expected);
        Some(
            random.len() >= RANDOM_LEN
                && random.iter().all(u8::is_ascii_alphanumeric)
                && checksum == expected,
        )
    };
    // Most that are damaged are too short, or end otherwise; only the others are summed up.
    if rest.len() > RANDOM_LEN && is_whole() == Some(true) { Shape::Generated } else { Shape::Damaged }
}

/// Appends a number in base 62, with so many digits.
fn digits(number: u128, count: usize, into: &mut Vec<u8>) {
    let start = into.len();
    let mut rest = number;
    for _ in 0..count {
        let digit = usize::try_from(rest % 62).ok().and_then(|digit| DIGITS.get(digit));
        into.push(digit.copied().unwrap_or(b'0'));
        rest /= 62;
    }
    if let Some(digits) = into.get_mut(start..) {
        digits.reverse();
    }
}

/// The CRC-32 of Ethernet and zip, four bits at a time.
fn crc32(bytes: &[u8]) -> u32 {
    const STEPS: [u32; 16] = [
        0x0000_0000,
        0x1db7_1064,
        0x3b6e_20c8,
        0x26d9_30ac,
        0x76dc_4190,
        0x6b6b_51f4,
        0x4db2_6158,
        0x5005_713c,
        0xedb8_8320,
        0xf00f_9344,
        0xd6d6_a3e8,
        0xcb61_b38c,
        0x9b64_c2b0,
        0x86d3_d2d4,
        0xa00a_e278,
        0xbdbd_f21c,
    ];
    let step = |crc: u32| {
        let low = usize::try_from(crc & 15).unwrap_or_default();
        crc >> 4 ^ STEPS.get(low).copied().unwrap_or_default()
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| step(step(crc ^ u32::from(*byte))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_everybody_knows() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_key_once_made_stays_one() {
        // Keys are stored elsewhere for years: a change here would turn them away. Worked out with zlib.
        for (random, key) in
            [([0; 16], "kw_0000000000000000000000_0lgXbD"), ([0xff; 16], "kw_7n42DGM5Tflk9n8mt7Fhc7_4Un6co")]
        {
            assert_eq!(make(random), key);
            assert_eq!(shape(key.as_bytes()), Shape::Generated);
        }
    }

    proptest! {
        #[test]
        fn what_was_made_is_known_and_no_other_digit_would_do(
            random: [u8; 16],
            at in 3..32_usize,
            digit in prop::sample::select(&DIGITS[..]),
        ) {
            let key = make(random);
            prop_assert_eq!(key.len(), 3 + 22 + 1 + 6);
            prop_assert_eq!(shape(key.as_bytes()), Shape::Generated);
            let mut other = key.clone().into_bytes();
            other[at] = digit;
            let same = other == key.as_bytes();
            prop_assert_eq!(shape(&other) == Shape::Generated, same);
            prop_assert_eq!(shape(&key.as_bytes()[..at]), Shape::Damaged);
            prop_assert_eq!(shape(&key.as_bytes()[1..]), Shape::Foreign);
        }

        #[test]
        fn any_bytes_have_a_shape(key in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(shape(&key) == Shape::Foreign, !key.starts_with(b"kw_"));
        }

        #[test]
        fn a_longer_random_part_is_as_good(random in "[0-9A-Za-z]{22,80}") {
            let mut key = format!("kw_{random}").into_bytes();
            let checksum = crc32(&key);
            key.push(b'_');
            digits(checksum.into(), CHECKSUM_LEN, &mut key);
            prop_assert_eq!(shape(&key), Shape::Generated);
        }
    }

    #[test]
    fn what_begins_alike_and_goes_on_otherwise_is_damaged() {
        for key in [
            "kw_",
            "kw_secret",
            "kw_0000000000000000000000",
            "kw_0000000000000000000000_",
            "kw_000000000000000000000_0lgXbD",
            "kw_0000000000000000000000-0lgXbD",
            "kw_00000000000000000000 0_0lgXbD",
        ] {
            assert_eq!(shape(key.as_bytes()), Shape::Damaged, "{key}");
        }
    }
}
