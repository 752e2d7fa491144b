use proptest::prelude::*;

use super::*;

#[test]
fn a_token_looks_like_this() {
    let token = Token::new(&[7; RANDOM_BYTES]);
    let text = token.reveal();
    assert_eq!(text.len(), 4 + RANDOM_CHARS + 1 + CHECKSUM_CHARS, "{text}");
    assert!(text.starts_with("kwt_") && text.matches('_').count() == 2, "{text}");
    assert_eq!(Token::new(&[0; RANDOM_BYTES]).reveal()[4..47], "0".repeat(43));
    // The largest number has its digits, too: nothing is cut off.
    assert_ne!(Token::new(&[255; RANDOM_BYTES]).reveal()[4..5], *"0");
}

#[test]
fn base62_is_a_number_in_base_62() {
    for (number, digits, text) in [
        (&[0_u8][..], 1, "0"),
        (&[61], 1, "z"),
        (&[62], 2, "10"),
        (&[1, 0], 2, "48"),
        (&[255; 4], 6, "4gfFC3"),
    ] {
        assert_eq!(base62(number, digits), text, "{number:?}");
    }
}

#[test]
fn what_is_no_token_is_told_apart() {
    for (text, error) in [
        ("", TokenError::Foreign),
        ("ghp_abc", TokenError::Foreign),
        ("kwt_", TokenError::Damaged),
        ("kwt_abc_def", TokenError::Damaged),
        ("kwt__", TokenError::Damaged),
    ] {
        assert_eq!(Token::parse(text).unwrap_err(), error, "{text:?}");
    }
}

#[test]
fn nothing_of_it_is_printed() {
    let token = Token::new(&[42; RANDOM_BYTES]);
    assert_eq!(format!("{token:?} {:?}", token.digest()), "Token([redacted]) TokenDigest([redacted])");
}

proptest! {
    #[test]
    fn a_token_is_read_back(random: [u8; RANDOM_BYTES]) {
        let token = Token::new(&random);
        let again = Token::parse(token.reveal()).unwrap();
        prop_assert!(again.digest().matches(&token.digest()));
        let digest = TokenDigest::from_hex(&token.digest().to_hex()).unwrap();
        prop_assert!(digest.matches(&token.digest()));
    }

    #[test]
    fn different_bytes_make_different_tokens(one: [u8; RANDOM_BYTES], other: [u8; RANDOM_BYTES]) {
        let (first, second) = (Token::new(&one), Token::new(&other));
        prop_assert_eq!(one == other, first.reveal() == second.reveal());
        prop_assert_eq!(one == other, first.digest().matches(&second.digest()));
    }

    /// One character changed, and whatever was cut off, is noticed before any look-up.
    #[test]
    fn damage_is_noticed(random: [u8; RANDOM_BYTES], place in 4_usize..54, by in 1_usize..62) {
        let token = Token::new(&random);
        let mut text = token.reveal().as_bytes().to_vec();
        if let Some(at) = ALPHABET.iter().position(|known| *known == text[place]) {
            text[place] = ALPHABET[(at + by) % 62];
            let text = String::from_utf8(text).unwrap();
            // The checksum has 32 bits: a change of the random part meets it by chance once in 2^32.
            prop_assert_eq!(Token::parse(&text).unwrap_err(), TokenError::Damaged);
        }
        prop_assert!(Token::parse(&token.reveal()[..place]).is_err());
    }

    #[test]
    fn any_text_is_refused_or_taken_as_it_is(text in "(kwt_)?[a-zA-Z0-9_]{0,60}|.{0,80}") {
        if let Ok(token) = Token::parse(&text) {
            prop_assert_eq!(token.reveal(), &text);
        }
        prop_assert!(TokenDigest::from_hex(&text).is_none_or(|digest| digest.to_hex() == text.to_lowercase()));
    }
}
