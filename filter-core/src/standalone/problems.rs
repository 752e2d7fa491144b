//! What is wrong with a configuration.

use std::fmt;

/// As many mistakes are told.
const TOLD: usize = 10;

/// What is wrong with a configuration, and where. Never what stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    pub(super) told: Vec<String>,
    pub(super) untold: usize,
}

// === impl Problems ===

impl Problems {
    pub(super) fn add(&mut self, problem: impl FnOnce() -> String) {
        if self.told.len() < TOLD {
            self.told.push(problem());
        } else {
            self.untold = self.untold.saturating_add(1);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told.join("; "))?;
        if self.untold > 0 {
            write!(f, "; and {} more", self.untold)?;
        }
        Ok(())
    }
}
