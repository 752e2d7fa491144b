//! `booleanExpr`: which of the configs of a policy must succeed, as people write it.
//!
//! ```text
//! rule  = any
//! any   = all *( "||" all )
//! all   = one *( "&&" one )
//! one   = "!" one / "(" any ")" / name
//! ```

use std::fmt;

use crate::config::Rule;

/// What is wrong with an expression. Places are counted in characters, the first is 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    at: usize,
    what: RuleMistake,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleMistake {
    Empty,
    UnknownName {
        name: String,
        known: Vec<String>,
    },
    UnknownChar(char),
    SingleSign(char),
    NotClosed,
    NotOpened,
    /// Instead of this; nothing at the end.
    OperandExpected(Option<Word>),
    OperatorExpected(Word),
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
///
/// # Errors
///
/// The first thing in it that is wrong.
pub fn parse(text: &str, names: &[String]) -> Result<Rule, RuleError> {
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
        Some(Token { at, word }) => Err(RuleError { at, what: RuleMistake::OperatorExpected(word) }),
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

/// Of others than those of ASCII it takes any: nobody has a config whose name is none.
fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.') || !char.is_ascii()
}

// === impl Parser ===

impl Parser<'_> {
    fn any(&mut self, depth: usize) -> Result<Rule, RuleError> {
        self.chain(depth, &Word::Or, Self::all, Rule::Any)
    }

    fn all(&mut self, depth: usize) -> Result<Rule, RuleError> {
        self.chain(depth, &Word::And, Self::one, Rule::All)
    }

    /// One part, or several with an operator between them.
    fn chain(
        &mut self,
        depth: usize,
        operator: &Word,
        part: fn(&mut Self, usize) -> Result<Rule, RuleError>,
        together: fn(Vec<Rule>) -> Rule,
    ) -> Result<Rule, RuleError> {
        let first = part(self, depth)?;
        let mut parts = vec![first];
        while self.tokens.next_if(|token| token.word == *operator).is_some() {
            parts.push(part(self, depth)?);
        }
        Ok(match <[Rule; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) => together(parts),
        })
    }

    fn one(&mut self, depth: usize) -> Result<Rule, RuleError> {
        let Some(Token { at, word }) = self.tokens.next() else {
            return Err(RuleError { at: self.end, what: RuleMistake::OperandExpected(None) });
        };
        if depth > MAX_DEPTH {
            return Err(RuleError { at, what: RuleMistake::TooDeep });
        }
        let deeper = depth.saturating_add(1);
        match word {
            Word::Not => Ok(Rule::Not(Box::new(self.one(deeper)?))),
            Word::Open => {
                let rule = self.any(deeper)?;
                match self.tokens.next() {
                    Some(Token { word: Word::Close, .. }) => Ok(rule),
                    Some(Token { at, word }) => {
                        Err(RuleError { at, what: RuleMistake::OperatorExpected(word) })
                    }
                    None => Err(RuleError { at, what: RuleMistake::NotClosed }),
                }
            }
            Word::Name(name) => match self.names.iter().position(|known| *known == name) {
                Some(step) => Ok(Rule::Step(step)),
                None => {
                    let known = self.names.to_vec();
                    Err(RuleError { at, what: RuleMistake::UnknownName { name, known } })
                }
            },
            Word::And | Word::Or | Word::Close => {
                Err(RuleError { at, what: RuleMistake::OperandExpected(Some(word)) })
            }
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

impl RuleError {
    /// Where it is wrong, in characters from 1 on.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }
}

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
                f.write_str("a name, \"!\" or \"(\" is expected, but there is ")?;
                match found {
                    Some(found) => write!(f, "{found}")?,
                    None => f.write_str("the end")?,
                }
            }
            RuleMistake::OperatorExpected(found) => {
                write!(f, "\"&&\", \"||\" or the end is expected, but there is {found}")?;
            }
            RuleMistake::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels")?,
        }
        write!(f, " (character {})", self.at)
    }
}
