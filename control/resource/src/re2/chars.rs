//! What matches one character: classes, and characters behind a `\`.

use super::{Parser, Part};

/// What a class of Unicode takes at most among bytes.
const UNICODE_CLASS_SIZE: u64 = 16;
/// What any other named class takes at most.
const CLASS_SIZE: u64 = 6;
/// General categories. Of the scripts there is none but one among bytes.
const UNICODE_CLASSES: &[&str] = &[
    "Any", "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp",
    "Zs", "Latin",
];
const POSIX_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// The byte of a number.
fn byte(code: u32) -> Result<char, String> {
    let byte = u8::try_from(code).map(char::from);
    byte.map_err(|_| {
        format!("\\x{{{code:x}}} is no byte, and the proxy matches bytes: write the character itself")
    })
}

/// A character of a class, as it is written.
fn plain(char: char) -> Result<char, String> {
    if char.is_ascii() {
        return Ok(char);
    }
    Err(format!("a class cannot hold {char:?}, which is several bytes, and the proxy matches bytes"))
}

// === impl Parser ===

impl Parser<'_> {
    /// What stands behind a `\`, outside of a class.
    pub(super) fn escaped(&mut self) -> Result<Part, String> {
        match self.rest.peek() {
            Some('A' | 'z' | 'b' | 'B') => {
                self.rest.next();
                Ok(Part::of(1))
            }
            Some('C') => {
                self.rest.next();
                Ok(Part::of(1))
            }
            Some('Q') => Err("quotes with \\Q: write the characters with '\\' in front".to_owned()),
            _ => match self.set()? {
                Some(part) => Ok(part),
                None => self.char().map(|_| Part::of(1)),
            },
        }
    }

    /// A class behind a `\`, if there is one.
    fn set(&mut self) -> Result<Option<Part>, String> {
        match self.rest.peek() {
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.rest.next();
                Ok(Some(Part::of(CLASS_SIZE)))
            }
            Some('p' | 'P') => {
                self.rest.next();
                let braced = self.eat('{');
                let name: String = if braced {
                    self.eat('^');
                    std::iter::from_fn(|| self.rest.next_if(char::is_ascii_alphabetic)).collect()
                } else {
                    self.rest.next().into_iter().collect()
                };
                if braced && !self.eat('}') {
                    return Err("'\\p{' must be followed by the name of a class and '}'".to_owned());
                }
                if UNICODE_CLASSES.contains(&name.as_str()) {
                    Ok(Some(Part::of(UNICODE_CLASS_SIZE)))
                } else {
                    Err(format!("{name:?} is no class of Unicode that is known here"))
                }
            }
            _ => Ok(None),
        }
    }

    /// The character that is written behind a `\`.
    fn char(&mut self) -> Result<char, String> {
        let Some(next) = self.rest.next() else { return Err("ends with '\\'".to_owned()) };
        match next {
            '0' => self.octal(0),
            '1'..='7' if self.rest.peek().is_some_and(|char| char.is_digit(8)) => {
                self.octal(next.to_digit(8).unwrap_or(0))
            }
            '1'..='9' => Err("refers back to a group, which is not supported".to_owned()),
            'x' => self.hexadecimal(),
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            _ if next.is_ascii_punctuation() || next == ' ' => Ok(next),
            _ => Err(format!("'\\{next}' has no meaning")),
        }
    }

    fn octal(&mut self, first: u32) -> Result<char, String> {
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.next_if(|char| char.is_digit(8)) else { break };
            code = code.saturating_mul(8).saturating_add(digit.to_digit(8).unwrap_or(0));
        }
        byte(code)
    }

    fn hexadecimal(&mut self) -> Result<char, String> {
        const WRONG: &str = "'\\x' must be followed by two hexadecimal digits, or by more in '{' and '}'";
        let digits: String = if self.eat('{') {
            let digits = std::iter::from_fn(|| self.rest.next_if(char::is_ascii_hexdigit)).collect();
            if !self.eat('}') {
                return Err(WRONG.to_owned());
            }
            digits
        } else {
            let digit = |_| self.rest.next_if(char::is_ascii_hexdigit);
            Some((0..2).filter_map(digit).collect::<String>())
                .filter(|digits| digits.len() == 2)
                .ok_or_else(|| WRONG.to_owned())?
        };
        let code = u32::from_str_radix(&digits, 16).map_err(|_| WRONG.to_owned())?;
        byte(code)
    }

    /// A class, behind its `[`.
    pub(super) fn class(&mut self) -> Result<Part, String> {
        const OPEN: &str = "a '[' has no ']'";
        let mut whole = Part::of(1);
        self.eat('^');
        let mut first = true;
        loop {
            match self.rest.next() {
                None => return Err(OPEN.to_owned()),
                Some(']') if !first => return Ok(whole),
                Some('[') if self.rest.peek() == Some(&':') => {
                    self.posix()?;
                    whole = whole.with(Part::of(CLASS_SIZE));
                }
                Some(next) => match self.class_set(next)? {
                    Some(part) => whole = whole.with(part),
                    None => whole = whole.with(self.range(next)?),
                },
            }
            first = false;
        }
    }

    fn class_set(&mut self, next: char) -> Result<Option<Part>, String> {
        if next == '\\' { self.set() } else { Ok(None) }
    }

    /// `[:name:]`, behind its `[`.
    fn posix(&mut self) -> Result<(), String> {
        self.eat(':');
        self.eat('^');
        let name: String = std::iter::from_fn(|| self.rest.next_if(char::is_ascii_lowercase)).collect();
        if POSIX_CLASSES.contains(&name.as_str()) && self.eat(':') && self.eat(']') {
            return Ok(());
        }
        Err(format!("'[:{name}' is not the beginning of a known class, such as '[:alpha:]'"))
    }

    /// One character, or a range, that begins with this one.
    fn range(&mut self, first: char) -> Result<Part, String> {
        let from = if first == '\\' { self.char()? } else { plain(first)? };
        let mut ahead = self.rest.clone();
        let to = if ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']') | None) {
            self.rest.next();
            match self.rest.next() {
                Some('\\') => self.char()?,
                Some(char) => plain(char)?,
                None => from,
            }
        } else {
            from
        };
        if to < from {
            return Err(format!("a class goes from {from:?} down to {to:?}"));
        }
        Ok(Part::of(if self.folds { 4 } else { 1 }))
    }
}
