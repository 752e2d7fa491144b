//! The levels of a proxy's loggers, for whoever raises them for a while and puts them back: by the same rules as
//! on the port.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderValue, Method, StatusCode};

use super::logging::{LONGEST, pair, words};
use super::{HeaderLogging, LOGGING, Manner, ProxyAdmin, loggers};
use crate::gate::Who;

/// Loggers and their levels.
pub type Levels = BTreeMap<String, String>;

/// The most verbose first, in Envoy's words.
pub const LEVELS: [&str; 7] = ["trace", "debug", "info", "warning", "error", "critical", "off"];

/// Reads and sets the levels of one proxy.
#[derive(Clone)]
pub struct Loggers {
    admin: Arc<dyn ProxyAdmin>,
    manner: Manner,
}

/// Where a level stands among all, the most verbose first.
fn place(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or(LEVELS.len())
}

/// The more verbose one of two levels.
#[must_use]
pub fn more_verbose<'l>(one: &'l str, other: &'l str) -> &'l str {
    if place(one) <= place(other) { one } else { other }
}

// === impl Loggers ===

impl Loggers {
    /// Those of the proxy behind this admin, treated as the port treats them.
    #[must_use]
    pub fn new(admin: Arc<dyn ProxyAdmin>, manner: Manner) -> Self {
        Self { admin, manner }
    }

    /// As they are now.
    ///
    /// # Errors
    ///
    /// When the proxy does not say it; for people.
    pub async fn now(&self) -> Result<Levels, String> {
        let list = loggers::read(&self.ask("", None).await?);
        if list.is_empty() {
            return Err("the proxy lists no loggers".to_owned());
        }
        Ok(list.into_iter().map(|logger| (logger.name, logger.level)).collect())
    }

    /// Whether nobody may change anything.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.manner.read_only
    }

    /// Levels of which none is less verbose than this one, but that loggers which write whole requests are at
    /// `info` where they may be no further down.
    #[must_use]
    pub fn raised(&self, from: &Levels, level: &str) -> Levels {
        let level_of = |name: &str| {
            let spared = self.manner.header_logging != HeaderLogging::Always;
            if spared && loggers::writes_requests(name, level) { "info" } else { level }
        };
        from.iter().map(|(name, now)| (name.clone(), more_verbose(now, level_of(name)).to_owned())).collect()
    }

    /// Sets these, and leaves the others.
    ///
    /// # Errors
    ///
    /// When the proxy does not do it; for people.
    pub async fn set(&self, levels: &Levels, who: Who) -> Result<(), String> {
        if levels.is_empty() {
            return Ok(());
        }
        let paths: Vec<String> = levels.iter().map(|(name, level)| format!("{name}:{level}")).collect();
        self.ask(&pair("paths", &paths.join(",")), Some(who)).await.map(drop)
    }

    async fn ask(&self, query: &str, who: Option<Who>) -> Result<String, String> {
        let uri = if query.is_empty() { LOGGING.to_owned() } else { format!("{LOGGING}?{query}") };
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.parse().map_err(|_| "the list of loggers is too long".to_owned())?;
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        let answer = self.admin.send(request, who).await?;
        let code = answer.status();
        let body = to_bytes(answer.into_body(), LONGEST).await;
        let said = body.map_err(|_| "the answer of the proxy broke off".to_owned())?;
        let said = String::from_utf8_lossy(&said).into_owned();
        if code == StatusCode::OK { Ok(said) } else { Err(words(&said)) }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::Response;
    use futures::future::BoxFuture;

    use super::*;

    struct Nobody;

    impl ProxyAdmin for Nobody {
        fn send(&self, _: Request, _: Option<Who>) -> BoxFuture<'_, Result<Response, String>> {
            Box::pin(async { Err("away".to_owned()) })
        }
    }

    fn levels(pairs: &[(&str, &str)]) -> Levels {
        pairs.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
    }

    #[test]
    fn levels_are_raised_and_never_lowered_and_requests_stay_unwritten() {
        let now =
            levels(&[("main", "warning"), ("http", "warning"), ("upstream", "trace"), ("rbac", "debug")]);
        let raised = |header_logging, level| {
            let manner = Manner { header_logging, ..Manner::default() };
            Loggers::new(Arc::new(Nobody), manner).raised(&now, level)
        };
        let spared = [("main", "debug"), ("http", "info"), ("upstream", "trace"), ("rbac", "debug")];
        assert_eq!(raised(HeaderLogging::Never, "debug"), levels(&spared));
        assert_eq!(raised(HeaderLogging::Named, "debug"), levels(&spared));
        let all = [("main", "debug"), ("http", "debug"), ("upstream", "trace"), ("rbac", "debug")];
        assert_eq!(raised(HeaderLogging::Always, "debug"), levels(&all));
        assert_eq!(raised(HeaderLogging::Named, "error"), now);
    }

    #[tokio::test]
    async fn where_nothing_is_to_be_set_nobody_is_asked() {
        let who = || Who("somebody".to_owned());
        let away = Loggers::new(Arc::new(Nobody), Manner::default());
        assert_eq!(away.set(&levels(&[]), who()).await, Ok(()));
        assert_eq!(away.set(&levels(&[("main", "info")]), who()).await, Err("away".to_owned()));
    }
}
