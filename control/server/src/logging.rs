//! The log: lines on standard error, and how many, also while the server runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail};
use keyward_access::AUDIT_TARGET;
use keyward_admin::debug::{Change, Levels, Logging};
use keyward_trace::{SPANS, is_ours};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, registry, reload};

use crate::args::LogFormat;
use crate::logs::{Logs, Tee};
use crate::spans::Spans;

/// Changes what is logged.
pub struct LogControl {
    directives: Mutex<Directives>,
    reload: Reload,
    logs: Logs,
    spans: Spans,
}

/// Puts another filter in the place of the one in force.
type Reload = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

/// What is logged, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Directives {
    /// The level of everything else; none when nothing else is logged.
    level: Option<String>,
    targets: BTreeMap<String, String>,
    /// Directives of other forms, as they were written.
    others: Vec<String>,
}

/// Starts logging for the whole process.
///
/// # Errors
///
/// When the level is not one, or when logging was started before.
pub fn init(level: &str, format: LogFormat) -> anyhow::Result<LogControl> {
    let filter = filter(level).with_context(|| {
        format!(
            "`{level}` is no log level\nhint: use trace, debug, info, warn or error, or directives such as \
             `info,keyward_server=debug` (--log-level or LOG_LEVEL)"
        )
    })?;
    let logs = Logs::default();
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(Tee::new(logs.control.clone()));
    let lines = match format {
        LogFormat::Text => {
            let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            lines.with_ansi(is_terminal).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let (spans, layer) = Spans::new();
    let started =
        registry().with(lines.with_filter(filter)).with(layer.with_filter(filter_fn(is_ours))).try_init();
    let reload = Box::new(move |filter| handle.reload(filter).map_err(|error| error.to_string()));
    started.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))?;
    Ok(LogControl { directives: Mutex::new(Directives::read(level)), reload, logs, spans })
}

/// Reads a level or directives. A bare word must be a level: as a directive it would name a target
/// and silence everything else.
fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    let level = if level == "warning" { "warn" } else { level };
    let bare = level.chars().all(|c| c.is_ascii_alphanumeric());
    if bare && !["trace", "debug", "info", "warn", "error"].contains(&level) {
        bail!("unknown level");
    }
    let mut filter = EnvFilter::builder().parse(level)?;
    if !level.contains(SPANS) {
        // They are shown elsewhere: here they would stand before each line.
        filter = filter.add_directive(format!("{SPANS}=off").parse()?);
    }
    if level.contains(AUDIT_TARGET) {
        return Ok(filter);
    }
    // Whoever wants to hear less of the server still wants to know who changed what.
    Ok(filter.add_directive(format!("{AUDIT_TARGET}=info").parse()?))
}

// === impl LogControl ===

impl LogControl {
    /// What was logged last.
    pub(crate) fn logs(&self) -> Logs {
        self.logs.clone()
    }

    /// The spans that are kept.
    pub(crate) fn spans(&self) -> Spans {
        self.spans.clone()
    }

    fn now(&self) -> Directives {
        self.directives.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Logging for LogControl {
    fn levels(&self) -> Levels {
        self.now().levels()
    }

    fn change(&self, change: &Change, who: &str) -> Result<Levels, String> {
        let mut directives = self.directives.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = directives.with(change);
        let text = changed.to_string();
        (self.reload)(filter(&text).map_err(|error| format!("{error:#}"))?)?;
        directives.clone_from(&changed);
        drop(directives);
        tracing::info!(target: AUDIT_TARGET, who, levels = text, "log levels changed");
        Ok(changed.levels())
    }
}

impl fmt::Debug for LogControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogControl").field("directives", &self.now()).finish_non_exhaustive()
    }
}

// === impl Directives ===

impl Directives {
    /// Reads what was taken for a filter already.
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        let parts = text.split(',');
        for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                _ if part.contains(['[', '{']) => read.others.push(part.to_owned()),
                Some((target, level)) => drop(read.targets.insert(target.to_owned(), level.to_lowercase())),
                None if part.parse::<tracing_subscriber::filter::LevelFilter>().is_ok() => {
                    read.level = Some(part.to_lowercase());
                }
                None if part == "warning" => read.level = Some("warn".to_owned()),
                // A target alone: all of it.
                None => drop(read.targets.insert(part.to_owned(), "trace".to_owned())),
            }
        }
        read
    }

    fn with(&self, change: &Change) -> Self {
        let mut changed = self.clone();
        if let Some(level) = change.level {
            changed.level = Some(level.as_str().to_owned());
        }
        for (target, level) in &change.targets {
            match level {
                Some(level) => drop(changed.targets.insert(target.clone(), level.as_str().to_owned())),
                None => drop(changed.targets.remove(target)),
            }
        }
        changed
    }

    fn levels(&self) -> Levels {
        let level = self.level.clone().unwrap_or_else(|| "off".to_owned());
        Levels { level, targets: self.targets.clone() }
    }
}

impl fmt::Display for Directives {
    /// As a filter is written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.as_deref().unwrap_or("off"))?;
        for (target, level) in &self.targets {
            write!(f, ",{target}={level}")?;
        }
        self.others.iter().try_for_each(|other| write!(f, ",{other}"))
    }
}

#[cfg(test)]
mod tests {
    use keyward_admin::debug::Level;

    use super::*;

    #[test]
    fn levels_are_changed_one_by_one() {
        let before = Directives::read("info,h2=warn,[a{b=1}]=debug,keyward_server");
        assert_eq!(before.to_string(), "info,h2=warn,keyward_server=trace,[a{b=1}]=debug");
        let targets = BTreeMap::from([("h2".to_owned(), None), ("hyper".to_owned(), Some(Level::Error))]);
        let after = before.with(&Change { level: Some(Level::Trace), targets });
        assert_eq!(after.to_string(), "trace,hyper=error,keyward_server=trace,[a{b=1}]=debug");
        assert!(filter(&after.to_string()).is_ok());
        assert_eq!(after.levels().targets.len(), 2);
        assert_eq!(Directives::read("warning").levels().level, "warn");
        let silent = Directives::read("h2=debug");
        assert_eq!((silent.levels().level.as_str(), silent.to_string().as_str()), ("off", "off,h2=debug"));
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for (level, taken) in [
            ("info", true),
            ("warning", true),
            ("info,keyward_server=debug", true),
            ("inf", false),
            ("", false),
            ("a=b=c", false),
        ] {
            assert_eq!(filter(level).is_ok(), taken, "{level:?}");
        }
    }

    #[test]
    fn the_audit_log_is_on_unless_it_is_named() {
        for (level, expected) in [
            ("error", true),
            ("info", true),
            ("info,keyward_server=debug", true),
            ("info,keyward::audit=off", false),
        ] {
            let text = filter(level).unwrap().to_string();
            assert_eq!(text.contains("keyward::audit=info"), expected, "{level}: {text}");
        }
    }
}
