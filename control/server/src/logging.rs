//! The log: lines on standard error.

use anyhow::{Context as _, bail};
use keyward_access::AUDIT_TARGET;
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
    let filter = EnvFilter::builder().parse(level)?;
    if level.contains(AUDIT_TARGET) {
        return Ok(filter);
    }
    // Whoever wants to hear less of the server still wants to know who changed what.
    Ok(filter.add_directive(format!("{AUDIT_TARGET}=info").parse()?))
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
