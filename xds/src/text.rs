//! Words of clients, as they may stand in a log line or before a person.

use std::fmt::Write as _;

/// Whether a character stands for itself: no control character, and none that changes in which order or
/// on which line the others are shown.
fn is_plain(char: char) -> bool {
    !char.is_control()
        && !matches!(
            char,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// A text of somebody else on one line, with escapes for what could pass for something else, and of at
/// most `limit` bytes; `...` stands where more would follow.
#[must_use]
pub fn printable(text: &str, limit: usize) -> String {
    const MORE: &str = "...";
    let mut shown = String::new();
    for char in text.chars() {
        let before = shown.len();
        if is_plain(char) {
            shown.push(char);
        } else {
            // Writing to a string does not fail.
            let _ = write!(shown, "{}", char.escape_default());
        }
        if shown.len() > limit {
            shown.truncate(before.min(shown.floor_char_boundary(limit.saturating_sub(MORE.len()))));
            shown.push_str(MORE);
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_pass_for_another_line_is_escaped() {
        for (text, shown) in [
            ("plain ünïcode \\ text", "plain ünïcode \\ text"),
            ("a\nERROR b\r\n\tc", "a\\nERROR b\\r\\n\\tc"),
            ("\u{1b}[31mred\u{9b}0m\0", "\\u{1b}[31mred\\u{9b}0m\\u{0}"),
            ("a\u{202e}b\u{2028}c\u{85}d", "a\\u{202e}b\\u{2028}c\\u{85}d"),
        ] {
            assert_eq!(printable(text, 100), shown);
        }
    }

    #[test]
    fn a_text_is_no_longer_than_it_may_be() {
        for (text, shown) in [
            ("1234567890", "1234567890"),
            ("12345678901", "1234567..."),
            ("123456789\n", "1234567..."),
            ("äöüäöü", "äöü..."),
            ("\n\n\n\n\n\n", "\\n\\n\\n\\..."),
        ] {
            assert_eq!(printable(text, 10), shown, "{text:?}");
        }
        assert!(printable(&"\n".repeat(1_000_000), 64).len() <= 64);
    }
}
