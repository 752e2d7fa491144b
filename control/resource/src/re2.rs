//! Checks regular expressions as the proxy's RE2 reads them, and counts how large they become.
//!
//! Rust's own regular expressions are close, but not the same: `\<`, `[a&&b]`, `a**` and `\Q.\E` mean
//! something else or nothing at all, and one expression that the proxy does not take makes it refuse
//! everything that is sent with it. So this follows RE2's grammar, and where that is odd it is
//! stricter: what passes here passes there.
//!
//! The proxy has RE2 match bytes, not characters: `.` is one byte of an `é`, and `\x{100}` is a mistake.
//! What would come out as something else than it looks is refused.
//!
//! Held to what the proxy said of 1500 expressions: `testdata/envoy/regexes.json`.

mod chars;

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

/// Instructions that the program of a regular expression may need. RE2 takes some 480,000 (its limit is
/// 8 MiB); this is ample for a path.
///
/// Envoy refuses programs of more than 100, and all that is sent with them, unless its runtime says how
/// large they may be (`re2.max_program_size.error_level`): so bootstraps have to say this.
pub const MAX_REGEX_PROGRAM_SIZE: u32 = 20_000;
/// Instructions of every program.
const BASE_SIZE: u64 = 5;
/// How often an expression may be repeated, repetitions in repetitions multiplied.
const MAX_REPEAT: u32 = 1000;
/// Groups in groups.
const MAX_DEPTH: u32 = 100;

/// What is known of an expression that RE2 takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expression {
    /// How many groups a substitution can refer to.
    pub(crate) groups: u32,
    /// Instructions of its program, from above: never less than RE2 counts.
    pub(crate) size: u32,
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
    /// Case may not count somewhere: classes may grow.
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
    match u32::try_from(part.cost.saturating_add(BASE_SIZE)) {
        Ok(size) if size <= MAX_REGEX_PROGRAM_SIZE => Ok(Expression { groups: parser.groups, size }),
        _ => Err(format!("needs more than {MAX_REGEX_PROGRAM_SIZE} states: repeat less")),
    }
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

    fn repeated(self, counts: Counts) -> Result<Self, String> {
        let times = counts.copies()?;
        let repeat = self.repeat.max(1).saturating_mul(times.max(1));
        if repeat > MAX_REPEAT {
            return Err(format!("repeats more than {MAX_REPEAT} times"));
        }
        // An open end is one copy more, with a loop; a copy that may be missing needs a fork.
        let copies = u64::from(times.max(1)).saturating_add(u64::from(counts.most.is_none()));
        let forks = u64::from(times.saturating_sub(counts.least)).saturating_add(2);
        Ok(Self { cost: self.cost.saturating_mul(copies).saturating_add(forks.saturating_mul(2)), repeat })
    }
}

// === impl Counts ===

impl Counts {
    /// How many copies the repetition needs, but for an open end.
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
            '.' => Ok(Some(Part::of(2))),
            '^' | '$' => Ok(Some(Part::of(1))),
            '\\' => self.escaped().map(Some),
            '*' | '+' | '?' => Err(format!("nothing stands in front of '{next}'")),
            '{' if braced.is_some() => Err("nothing stands in front of '{'".to_owned()),
            _ if next.is_ascii() => Ok(Some(Part::of(1))),
            _ if matches!(self.rest.peek(), Some('*' | '+' | '?')) || counts(&self.rest).is_some() => {
                Err(format!(
                    "repeats {next:?}, of which only the last byte would be repeated: put it into a group"
                ))
            }
            _ => Ok(Some(Part::of(u64::try_from(next.len_utf8()).unwrap_or(u64::MAX)))),
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
                    part.repeated(counts)?
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
}

#[cfg(test)]
mod tests;
