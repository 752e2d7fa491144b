//! The log: lines on standard error.

use anyhow::{Context as _, bail};
use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Starts logging for the whole process.
///
/// # Errors
///
/// When the level is not one, or when logging was started before.
pub fn init(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = filter(level).with_context(|| {
        format!(
            "`{level}` is no log level\nhint: use trace, debug, info, warn or error, or directives such as \
             `info,keyward_server=debug` (--log-level or LOG_LEVEL)"
        )
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))
}

/// Reads a level or directives. A bare word must be a level: as a directive it would name a target
/// and silence everything else.
fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    let level = if level == "warning" { "warn" } else { level };
    let bare = level.chars().all(|c| c.is_ascii_alphanumeric());
    if bare && !["trace", "debug", "info", "warn", "error"].contains(&level) {
        bail!("unknown level");
    }
    Ok(EnvFilter::builder().parse(level)?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
