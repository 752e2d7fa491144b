//! How a command ends that ends with a code of its own.

use std::error::Error;
use std::fmt;

/// The end of a command with an exit code, and why, unless it has said that already.
#[derive(Debug)]
pub(crate) struct Ended {
    code: u8,
    why: Option<anyhow::Error>,
}

// === impl Ended ===

impl Ended {
    /// Everything is said.
    pub(crate) fn told(code: u8) -> anyhow::Error {
        Self { code, why: None }.into()
    }

    /// This is still to be said.
    pub(crate) fn with(code: u8, why: impl Into<anyhow::Error>) -> anyhow::Error {
        Self { code, why: Some(why.into()) }.into()
    }

    /// What was said makes no sense: the exit code of wrong usage.
    pub(crate) fn usage(why: impl Into<anyhow::Error>) -> anyhow::Error {
        Self::with(2, why)
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Whether everything is said.
    pub(crate) fn is_told(&self) -> bool {
        self.why.is_none()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "{why}"),
            None => write!(f, "exit code {}", self.code),
        }
    }
}

impl Error for Ended {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.why.as_ref()?.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_said_is_said_as_it_was_and_once() {
        let cause = anyhow::anyhow!("cause").context("outcome\nhint: do it");
        let ended = Ended::with(2, cause);
        let chain: Vec<_> = ended.chain().map(ToString::to_string).collect();
        assert_eq!(chain, ["outcome\nhint: do it", "cause"]);
        let ended = ended.downcast_ref::<Ended>().expect("it is one");
        assert_eq!((ended.code(), ended.is_told()), (2, false));
        assert!(Ended::told(1).downcast_ref().is_some_and(Ended::is_told));
    }
}
