//! `booleanExpr`: which of the steps of an `AuthConfig` must succeed. How it is written, the filter knows too.

use keyward_filter_core::config::Rule;
use keyward_filter_core::rule;
use keyward_filter_core::rule::RuleError;

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

/// Reads an expression over these names.
pub(super) fn parse(text: &str, names: &[String]) -> Result<AuthRule, RuleError> {
    rule::parse(text, names).map(AuthRule::from)
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

impl From<Rule> for AuthRule {
    fn from(rule: Rule) -> Self {
        let all = |rules: Vec<Rule>| rules.into_iter().map(Self::from).collect();
        match rule {
            Rule::Step(at) => Self::Step(at),
            Rule::Not(rule) => Self::Not(Box::new(Self::from(*rule))),
            Rule::All(rules) => Self::All(all(rules)),
            Rule::Any(rules) => Self::Any(all(rules)),
        }
    }
}

#[cfg(test)]
mod tests;
