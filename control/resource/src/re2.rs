//! Checks regular expressions as RE2, the library of the proxy, reads them.
//!
//! Rust's own regular expressions are close, but not the same: `\<`, `[a&&b]`, `a**` and `\Q.\E` mean
//! something else or nothing at all, and one expression that the proxy does not take makes it refuse
//! everything that is sent with it. So this follows RE2's grammar, and where that is odd it is
//! stricter: what passes here passes there.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

/// Instructions that an expression may need, by an estimate from above. RE2 gives up beyond some
/// 130,000 (8 MiB); a third of a million fits its real count (measured at 480,000).
const MAX_COST: u64 = 100_000;
/// How often an expression may be repeated, repetitions in repetitions multiplied.
const MAX_REPEAT: u32 = 1000;
/// Groups in groups.
const MAX_DEPTH: u32 = 100;
/// What one character class of Unicode may need: \pL takes 1200.
const UNICODE_CLASS_COST: u64 = 1_500;

/// General categories, and scripts that have been in Unicode for long.
const UNICODE_CLASSES: &[&str] = &[
    "Any",
    "C",
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "L",
    "Ll",
    "Lm",
    "Lo",
    "Lt",
    "Lu",
    "M",
    "Mc",
    "Me",
    "Mn",
    "N",
    "Nd",
    "Nl",
    "No",
    "P",
    "Pc",
    "Pd",
    "Pe",
    "Pf",
    "Pi",
    "Po",
    "Ps",
    "S",
    "Sc",
    "Sk",
    "Sm",
    "So",
    "Z",
    "Zl",
    "Zp",
    "Zs",
    "Arabic",
    "Armenian",
    "Bengali",
    "Common",
    "Cyrillic",
    "Devanagari",
    "Georgian",
    "Greek",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Katakana",
    "Latin",
    "Tamil",
    "Thai",
];
const POSIX_CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// What is known of an expression that RE2 takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expression {
    /// How many groups a substitution can refer to.
    pub(crate) groups: u32,
}

/// A part of an expression.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Instructions, from above.
    cost: u64,
    /// Repetitions in repetitions, multiplied; zero stands for one.
    repeat: u32,
}

/// The numbers in `{2}`, `{2,}` or `{2,5}`.
#[derive(Clone, Copy)]
struct Counts {
    least: u32,
    most: Option<u32>,
}

struct Parser<'p> {
    rest: Peekable<Chars<'p>>,
    groups: u32,
    names: BTreeSet<String>,
    /// Case does not count somewhere: classes may grow.
    folds: bool,
}

/// Checks an expression.
pub(crate) fn parse(pattern: &str) -> Result<Expression, String> {
    let mut parser = Parser {
        rest: pattern.chars().peekable(),
        groups: 0,
        names: BTreeSet::new(),
        folds: pattern.contains("(?"),
    };
    let part = parser.alternatives(0)?;
    if parser.rest.next().is_some() {
        return Err("a ')' has no '('".to_owned());
    }
    if part.cost > MAX_COST {
        return Err("needs too many states: repeat less, or use smaller classes".to_owned());
    }
    Ok(Expression { groups: parser.groups })
}

/// Checks what stands in place of a match: `\1` for the first group, `\0` for all, `\\` for `\`.
pub(crate) fn check_substitution(text: &str, expression: Expression) -> Result<(), String> {
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            continue;
        }
        match rest.next().map(|char| (char, char.to_digit(10))) {
            Some(('\\', _)) => {}
            Some((char, Some(group))) if group > expression.groups => {
                return Err(format!(
                    "refers to group {char}, but the expression has only {}",
                    expression.groups
                ));
            }
            Some((_, Some(_))) => {}
            _ => return Err("a '\\' must be followed by the number of a group, or by '\\'".to_owned()),
        }
    }
    Ok(())
}

/// The counts that stand next, if it is them. Any other `{` stands for itself.
fn counts(rest: &Peekable<Chars<'_>>) -> Option<Counts> {
    let mut rest = rest.clone();
    rest.next_if_eq(&'{')?;
    let least = number(&mut rest)?;
    let most = match rest.next_if_eq(&',') {
        Some(_) => number(&mut rest),
        None => Some(least),
    };
    (rest.next() == Some('}')).then_some(Counts { least, most })
}

fn number(rest: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let digits: String = std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).collect();
    // What does not fit is too much in any case.
    (!digits.is_empty()).then(|| digits.parse().unwrap_or(u32::MAX))
}

fn word_of(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

// === impl Part ===

impl Part {
    fn of(cost: u64) -> Self {
        Self { cost, repeat: 1 }
    }

    fn with(self, other: Self) -> Self {
        Self { cost: self.cost.saturating_add(other.cost), repeat: self.repeat.max(other.repeat) }
    }

    fn repeated(self, times: u32) -> Result<Self, String> {
        let repeat = self.repeat.max(1).saturating_mul(times.max(1));
        if repeat > MAX_REPEAT {
            return Err(format!("repeats more than {MAX_REPEAT} times"));
        }
        let copies = u64::from(times).saturating_add(1);
        Ok(Self { cost: self.cost.saturating_mul(copies).saturating_add(1), repeat })
    }
}

// === impl Counts ===

impl Counts {
    /// How many copies the repetition needs.
    fn copies(self) -> Result<u32, String> {
        let Self { least, most } = self;
        match most {
            _ if least.max(most.unwrap_or(0)) > MAX_REPEAT => {
                Err(format!("repeats more than {MAX_REPEAT} times"))
            }
            Some(most) if most < least => Err(format!("repeats from {least} down to {most} times")),
            _ => Ok(most.unwrap_or(least)),
        }
    }
}

// === impl Parser ===

impl Parser<'_> {
    fn eat(&mut self, expected: char) -> bool {
        self.rest.next_if_eq(&expected).is_some()
    }

    fn looking_at(&self, text: &str) -> bool {
        let mut rest = self.rest.clone();
        text.chars().all(|char| rest.next() == Some(char))
    }

    /// Alternatives up to the end or to a `)`, which stays.
    fn alternatives(&mut self, depth: u32) -> Result<Part, String> {
        if depth > MAX_DEPTH {
            return Err(format!("has more than {MAX_DEPTH} groups in groups"));
        }
        let mut whole = Part::of(1);
        loop {
            whole = whole.with(self.sequence(depth)?).with(Part::of(1));
            if !self.eat('|') {
                return Ok(whole);
            }
        }
    }

    /// What stands in a row.
    fn sequence(&mut self, depth: u32) -> Result<Part, String> {
        let mut whole = Part::default();
        while let Some(next) = self.rest.peek().copied() {
            if matches!(next, '|' | ')') {
                break;
            }
            let Some(part) = self.atom(depth)? else { continue };
            let part = self.repetition(part)?;
            whole = whole.with(part);
        }
        Ok(whole)
    }

    /// One thing that can be repeated, or a change of flags, which cannot.
    fn atom(&mut self, depth: u32) -> Result<Option<Part>, String> {
        let braced = counts(&self.rest);
        let Some(next) = self.rest.next() else { return Ok(None) };
        match next {
            '(' => self.group(depth),
            '[' => self.class().map(Some),
            '.' => Ok(Some(Part::of(16))),
            '^' | '$' => Ok(Some(Part::of(2))),
            '\\' => self.escaped().map(Some),
            '*' | '+' | '?' => Err(format!("nothing stands in front of '{next}'")),
            '{' if braced.is_some() => Err("nothing stands in front of '{'".to_owned()),
            _ => Ok(Some(Part::of(8))),
        }
    }

    /// The repetition behind a part, if there is one.
    fn repetition(&mut self, part: Part) -> Result<Part, String> {
        let part = match self.rest.peek() {
            Some('*' | '+' | '?') => {
                self.rest.next();
                part.with(Part::of(2))
            }
            Some('{') => match counts(&self.rest) {
                Some(counts) => {
                    while self.rest.next().is_some_and(|char| char != '}') {}
                    part.repeated(counts.copies()?)?
                }
                // The brace stands for itself.
                None => return Ok(part),
            },
            _ => return Ok(part),
        };
        self.eat('?');
        let counted = counts(&self.rest).is_some();
        if counted || matches!(self.rest.peek(), Some('*' | '+' | '?')) {
            return Err("repeats a repetition: put it into a group".to_owned());
        }
        Ok(part)
    }

    /// A group, behind its `(`.
    fn group(&mut self, depth: u32) -> Result<Option<Part>, String> {
        if !self.eat('?') {
            self.groups = self.groups.saturating_add(1);
        } else if self.looking_at("P<") || (self.looking_at("<") && !self.looks_behind()) {
            self.eat('P');
            self.eat('<');
            self.name()?;
            self.groups = self.groups.saturating_add(1);
        } else if self.looking_at("=") || self.looking_at("!") || self.looks_behind() {
            return Err("looks ahead or behind, which is not supported".to_owned());
        } else if self.flags()? {
            return Ok(None);
        }
        let inner = self.alternatives(depth.saturating_add(1))?;
        if !self.eat(')') {
            return Err("a '(' has no ')'".to_owned());
        }
        Ok(Some(inner.with(Part::of(2))))
    }

    fn looks_behind(&self) -> bool {
        self.looking_at("<=") || self.looking_at("<!")
    }

    fn name(&mut self) -> Result<(), String> {
        let mut name = String::new();
        loop {
            match self.rest.next() {
                Some('>') if !name.is_empty() => break,
                Some(char) if word_of(char) => name.push(char),
                _ => return Err("a group has no name of letters, digits and '_' in '<' and '>'".to_owned()),
            }
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("two groups have the name {name:?}"));
        }
        Ok(())
    }

    /// Flags behind `(?`. True when they stand alone, false when a group follows.
    fn flags(&mut self) -> Result<bool, String> {
        const WRONG: &str = "'(?' must be followed by ':', by 'P<name>', or by some of the flags i, m, s, U";
        let (mut negative, mut any) = (false, false);
        loop {
            match self.rest.next() {
                Some('i' | 'm' | 's' | 'U') => any = true,
                Some('-') if !negative => (negative, any) = (true, false),
                Some(':') if any || !negative => return Ok(false),
                Some(')') if any => return Ok(true),
                _ => return Err(WRONG.to_owned()),
            }
        }
    }

    /// What stands behind a `\`, outside of a class.
    fn escaped(&mut self) -> Result<Part, String> {
        match self.rest.peek() {
            Some('A' | 'z' | 'b' | 'B') => {
                self.rest.next();
                Ok(Part::of(2))
            }
            Some('C') => {
                self.rest.next();
                Ok(Part::of(4))
            }
            Some('Q') => Err("quotes with \\Q: write the characters with '\\' in front".to_owned()),
            _ => match self.set()? {
                Some(part) => Ok(part),
                None => self.char().map(|_| Part::of(8)),
            },
        }
    }

    /// A class behind a `\`, if there is one.
    fn set(&mut self) -> Result<Option<Part>, String> {
        match self.rest.peek() {
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.rest.next();
                Ok(Some(Part::of(16)))
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
                    Ok(Some(Part::of(UNICODE_CLASS_COST)))
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
            '0' => Ok(self.octal(0)),
            '1'..='7' if self.rest.peek().is_some_and(|char| char.is_digit(8)) => {
                Ok(self.octal(next.to_digit(8).unwrap_or(0)))
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

    fn octal(&mut self, first: u32) -> char {
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.next_if(|char| char.is_digit(8)) else { break };
            code = code.saturating_mul(8).saturating_add(digit.to_digit(8).unwrap_or(0));
        }
        char::from_u32(code).unwrap_or('\0')
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
        char::from_u32(code).ok_or_else(|| format!("\\x{{{digits}}} is no character"))
    }

    /// A class, behind its `[`.
    fn class(&mut self) -> Result<Part, String> {
        const OPEN: &str = "a '[' has no ']'";
        let mut whole = Part::of(16);
        self.eat('^');
        let mut first = true;
        loop {
            match self.rest.next() {
                None => return Err(OPEN.to_owned()),
                Some(']') if !first => return Ok(whole),
                Some('[') if self.rest.peek() == Some(&':') => {
                    self.posix()?;
                    whole = whole.with(Part::of(16));
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
        let from = if first == '\\' { self.char()? } else { first };
        let mut ahead = self.rest.clone();
        let to = if ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']') | None) {
            self.rest.next();
            match self.rest.next() {
                Some('\\') => self.char()?,
                Some(char) => char,
                None => from,
            }
        } else {
            from
        };
        if to < from {
            return Err(format!("a class goes from {from:?} down to {to:?}"));
        }
        let cost = match () {
            () if from == to => 16,
            () if self.folds && !to.is_ascii() => UNICODE_CLASS_COST,
            () => 32,
        };
        Ok(Part::of(cost))
    }
}

#[cfg(test)]
mod tests;
