//! `keyward filter`: the filter by itself, in an Envoy that no control server configures.
//!
//! ```text
//! keys ─digest▶ digests          AuthConfigs, Secrets ─config▶ plugin configuration ─check▶ right or wrong
//! ```

mod allowed;
mod check;
mod config;
mod digest;
mod document;
mod policy;
mod source;
#[cfg(test)]
mod tests;
mod wasm;

use clap::Subcommand;

use crate::output::Output;

/// What is done for a filter by itself.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Makes digests of the keys on standard input, one a line, in their order; keys are never shown.
    #[command(after_help = digest::EXAMPLES)]
    Digest(digest::DigestArgs),
    /// Makes the plugin configuration from AuthConfigs and Secrets in files, digests instead of keys.
    #[command(after_help = config::EXAMPLES)]
    Config(config::ConfigArgs),
    /// Says what the filter would say of a plugin configuration; exit code 1 when it would refuse it.
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Writes the filter module that this program carries.
    #[command(after_help = wasm::EXAMPLES)]
    Wasm(wasm::WasmArgs),
}

pub(crate) fn run(command: Command, module: &[u8], output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Digest(args) => digest::run(&args, std::io::stdin().lock(), output),
        Command::Config(args) => config::run(&args, output),
        Command::Check(args) => check::run(&args, output),
        Command::Wasm(args) => wasm::run(&args, module, output),
    }
}
