//! `booleanExpr`: which of the steps of an `AuthConfig` must succeed.
//!
//! ```text
//! rule  = any
//! any   = all *( "||" all )
//! all   = one *( "&&" one )
//! one   = "!" one / "(" any ")" / name
//! ```

use std::fmt;

/// Which of the steps must succeed. Evaluated from left to right, and no further than needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthRule {
    /// The step at this place succeeds.
    Step(usize),
    /// This does not hold.
    Not(Box<AuthRule>),
    /// All of these hold; at least two.
    All(Vec<AuthRule>),
    /// One of these holds; at least two.
    Any(Vec<AuthRule>),
}

/// What is wrong with an expression. Places are counted in characters, the first is 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleError {
    at: usize,
    what: RuleMistake,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleMistake {
    Empty,
    UnknownName { name: String, known: Vec<String> },
    UnknownChar(char),
    SingleSign(char),
    NotClosed,
    NotOpened,
    OperandExpected(String),
    OperatorExpected(String),
    TooDeep,
}

/// A word of an expression and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    at: usize,
    word: Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Name(String),
    And,
    Or,
    Not,
    Open,
    Close,
}

struct Parser<'a> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    names: &'a [String],
    /// Where the expression ends.
    end: usize,
}

/// Deeper nesting would be a slip, and must not exhaust the stack.
const MAX_DEPTH: usize = 32;

/// Reads an expression over these names.
pub(super) fn parse(text: &str, names: &[String]) -> Result<AuthRule, RuleError> {
    let tokens = tokens(text)?;
    let end = text.chars().count().saturating_add(1);
    if tokens.is_empty() {
        return Err(RuleError { at: 1, what: RuleMistake::Empty });
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), names, end };
    let rule = parser.any(0)?;
    match parser.tokens.next() {
        None => Ok(rule),
        Some(Token { at, word: Word::Close }) => Err(RuleError { at, what: RuleMistake::NotOpened }),
        Some(Token { at, word }) => {
            Err(RuleError { at, what: RuleMistake::OperatorExpected(word.to_string()) })
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, RuleError> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().enumerate().map(|(index, char)| (index.saturating_add(1), char)).peekable();
    while let Some((at, char)) = chars.next() {
        let word = match char {
            ' ' | '\t' | '\r' | '\n' => continue,
            '(' => Word::Open,
            ')' => Word::Close,
            '!' => Word::Not,
            '&' | '|' => match chars.next_if(|(_, next)| *next == char) {
                Some(_) if char == '&' => Word::And,
                Some(_) => Word::Or,
                None => return Err(RuleError { at, what: RuleMistake::SingleSign(char) }),
            },
            _ if is_name(char) => {
                let mut name = String::from(char);
                while let Some((_, char)) = chars.next_if(|(_, next)| is_name(*next)) {
                    name.push(char);
                }
                Word::Name(name)
            }
            _ => return Err(RuleError { at, what: RuleMistake::UnknownChar(char) }),
        };
        tokens.push(Token { at, word });
    }
    Ok(tokens)
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | '.')
}

// === impl Parser ===

impl Parser<'_> {
    fn any(&mut self, depth: usize) -> Result<AuthRule, RuleError> {
        self.chain(depth, &Word::Or, Self::all, AuthRule::Any)
    }

    fn all(&mut self, depth: usize) -> Result<AuthRule, RuleError> {
        self.chain(depth, &Word::And, Self::one, AuthRule::All)
    }

    /// One part, or several with an operator between them.
    fn chain(
        &mut self,
        depth: usize,
        operator: &Word,
        part: fn(&mut Self, usize) -> Result<AuthRule, RuleError>,
        together: fn(Vec<AuthRule>) -> AuthRule,
    ) -> Result<AuthRule, RuleError> {
        let first = part(self, depth)?;
        let mut parts = vec![first];
        while self.tokens.next_if(|token| token.word == *operator).is_some() {
            parts.push(part(self, depth)?);
        }
        Ok(match <[AuthRule; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) => together(parts),
        })
    }

    fn one(&mut self, depth: usize) -> Result<AuthRule, RuleError> {
        let Some(Token { at, word }) = self.tokens.next() else {
            return Err(RuleError { at: self.end, what: RuleMistake::OperandExpected("the end".to_owned()) });
        };
        if depth > MAX_DEPTH {
            return Err(RuleError { at, what: RuleMistake::TooDeep });
        }
        let deeper = depth.saturating_add(1);
        match word {
            Word::Not => Ok(AuthRule::Not(Box::new(self.one(deeper)?))),
            Word::Open => {
                let rule = self.any(deeper)?;
                match self.tokens.next() {
                    Some(Token { word: Word::Close, .. }) => Ok(rule),
                    Some(Token { at, word }) => {
                        Err(RuleError { at, what: RuleMistake::OperatorExpected(word.to_string()) })
                    }
                    None => Err(RuleError { at, what: RuleMistake::NotClosed }),
                }
            }
            Word::Name(name) => match self.names.iter().position(|known| *known == name) {
                Some(step) => Ok(AuthRule::Step(step)),
                None => {
                    let known = self.names.to_vec();
                    Err(RuleError { at, what: RuleMistake::UnknownName { name, known } })
                }
            },
            Word::And | Word::Or | Word::Close => {
                Err(RuleError { at, what: RuleMistake::OperandExpected(word.to_string()) })
            }
        }
    }
}

// === impl AuthRule ===

impl AuthRule {
    /// Whether it holds, if `step` tells what holds of one step. `step` is asked from left to right, and
    /// no further than needed.
    pub fn holds(&self, step: &mut impl FnMut(usize) -> bool) -> bool {
        match self {
            Self::Step(at) => step(*at),
            Self::Not(rule) => !rule.holds(step),
            Self::All(rules) => rules.iter().all(|rule| rule.holds(step)),
            Self::Any(rules) => rules.iter().any(|rule| rule.holds(step)),
        }
    }

    /// Whether it asks about this step at all.
    #[must_use]
    pub fn names(&self, step: usize) -> bool {
        match self {
            Self::Step(at) => *at == step,
            Self::Not(rule) => rule.names(step),
            Self::All(rules) | Self::Any(rules) => rules.iter().any(|rule| rule.names(step)),
        }
    }
}

// === impl Word ===

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::And => f.write_str("\"&&\""),
            Self::Or => f.write_str("\"||\""),
            Self::Not => f.write_str("\"!\""),
            Self::Open => f.write_str("\"(\""),
            Self::Close => f.write_str("\")\""),
        }
    }
}

// === impl RuleError ===

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            RuleMistake::Empty => {
                return f.write_str("must not be empty: leave it out to demand every config in turn");
            }
            RuleMistake::UnknownName { name, known } => {
                let known: Vec<_> = known.iter().map(|name| format!("{name:?}")).collect();
                write!(f, "no config has the name {name:?}; the names are {}", known.join(", "))?;
            }
            RuleMistake::UnknownChar(char) => write!(f, "{char:?} has no meaning here")?,
            RuleMistake::SingleSign(sign) => write!(f, "{sign:?} must be written twice")?,
            RuleMistake::NotClosed => f.write_str("this \"(\" is not closed")?,
            RuleMistake::NotOpened => f.write_str("this \")\" closes nothing")?,
            RuleMistake::OperandExpected(found) => {
                write!(f, "a name, \"!\" or \"(\" is expected, but there is {found}")?;
            }
            RuleMistake::OperatorExpected(found) => {
                write!(f, "\"&&\", \"||\" or the end is expected, but there is {found}")?;
            }
            RuleMistake::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels")?,
        }
        write!(f, " (character {})", self.at)
    }
}

#[cfg(test)]
mod tests;
