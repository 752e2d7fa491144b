//! The log levels of a proxy.

use anyhow::ensure;
use http::{Method, StatusCode};

use super::admin::Admin;
use crate::client::{Text, query};

/// Loggers and their levels, as the proxy lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loggers(Vec<(String, String)>);

/// Whether levels could be changed.
#[derive(Debug)]
pub(super) enum Raised {
    /// This is how they were before.
    From(Loggers),
    /// They could not, for this reason.
    Not(String),
}

// === impl Loggers ===

impl Loggers {
    fn read(list: &str) -> Self {
        let logger = |line: &str| {
            let (name, level) = line.strip_prefix("  ")?.split_once(": ")?;
            (!name.contains(char::is_whitespace)).then(|| (name.to_owned(), level.trim().to_owned()))
        };
        Self(list.lines().filter_map(logger).collect())
    }

    /// As they are now.
    pub(super) async fn of(admin: &Admin) -> anyhow::Result<Self> {
        let loggers = Self::read(&admin.post("/logging").await?);
        ensure!(!loggers.0.is_empty(), "{} lists no loggers: it is no admin of a proxy", admin.url());
        Ok(loggers)
    }

    /// Sets all to a level; says how they were before.
    pub(super) async fn raise(admin: &Admin, level: &str) -> anyhow::Result<Raised> {
        let before = Self::of(admin).await?;
        let Text { status, body } = admin.ask(Method::POST, &query("/logging", &[("level", level)])).await?;
        if status == StatusCode::FORBIDDEN {
            return Ok(Raised::Not(body.lines().next().unwrap_or_default().to_owned()));
        }
        admin.checked(status, body)?;
        Ok(Raised::From(before))
    }

    /// Puts back those that are otherwise now.
    pub(super) async fn restore(&self, admin: &Admin) -> anyhow::Result<()> {
        let changed = self.differing(&Self::of(admin).await?);
        if changed.is_empty() {
            return Ok(());
        }
        admin.post(&query("/logging", &[("paths", &changed)])).await.map(drop)
    }

    /// What makes these of those, as the proxy wants to be told.
    fn differing(&self, now: &Self) -> String {
        let differs = |logger: &&(String, String)| {
            now.0.iter().any(|(name, level)| *name == logger.0 && *level != logger.1)
        };
        let changed: Vec<String> =
            self.0.iter().filter(differs).map(|(name, level)| format!("{name}:{level}")).collect();
        changed.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_put_back_and_nothing_else() {
        let before = Loggers::read("active loggers:\n  admin: warning\n  http: info\n  main: error\n\n");
        let now = Loggers::read(
            "active loggers:\n  admin: debug\n  http: info\n  main: debug\n  new: debug\n\nnote: a b: c\n",
        );
        assert_eq!(before.0.len(), 3);
        assert_eq!(before.differing(&now), "admin:warning,main:error");
        assert_eq!(before.differing(&before), "");
    }
}
