//! The log: lines on standard error.

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Starts logging for the whole process.
///
/// # Errors
///
/// When the level is not one, or when logging was started before.
pub fn init(level: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(level).with_context(|| {
        format!(
            "`{level}` is no log level\nhint: use trace, debug, info, warn or error, or directives such as `info,keyward_server=debug`"
        )
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging could not be started: {error}"))
}
