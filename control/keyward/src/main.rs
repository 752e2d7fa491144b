//! The `keyward` binary.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use keyward_server::{LogFormat, ServeArgs, logging};

/// Samples who holds the memory (the debug port shows it).
#[global_allocator]
static ALLOCATOR: keyward_profile::Allocator = keyward_profile::Allocator;

/// The filter module, built before this binary (see build.rs).
static FILTER: &[u8] = include_bytes!(env!("KEYWARD_FILTER_WASM"));

const SERVE_EXAMPLES: &str = "\
Examples:
  # On this machine alone, with an Envoy of its own:
  keyward serve

  # What the files of a folder say, whatever becomes of them:
  keyward serve --resources resources/

  # For others too: over TLS, by tokens, and with Envoys elsewhere:
  keyward serve --tls --rest 0.0.0.0:9080 --xds 0.0.0.0:9977 --no-envoy";
const UPSTREAM_EXAMPLES: &str = "\
Examples:
  keyward demo-upstream --listen 127.0.0.1:8081";
const DEMO_EXAMPLES: &str = "\
Examples:
  # Everything, in the background; and the end of it:
  keyward demo up --detach
  keyward demo down";

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, or something is wrong; 2 wrong usage, or something differs; 3 changed, but not confirmed in
time (--wait). `keyward explain --help` has those that tell a verdict.";

/// An API-key gateway: Envoy, a WebAssembly filter that verifies keys inside it, and this control server.
#[derive(Debug, Parser)]
#[command(name = "keyward", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the control server and the Envoy that it supervises.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    #[command(flatten)]
    Client(Box<keyward_cli::Command>),
    /// Runs an upstream that answers with the request as JSON.
    #[command(after_help = UPSTREAM_EXAMPLES)]
    DemoUpstream(keyward_demo::UpstreamArgs),
    /// Starts and stops the whole stack with example resources.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(keyward_demo::DemoArgs),
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => {
            let logs = logging::init(&args.log_level, args.log_format)?;
            keyward_server::serve(*args, FILTER.into(), logs).await
        }
        Command::Client(command) => {
            keyward_cli::run(*command, &keyward_cli::Program { module: FILTER, grammar: Cli::command }).await
        }
        Command::DemoUpstream(args) => {
            logging::init("info", LogFormat::Text)?;
            keyward_demo::upstream(args).await
        }
        Command::Demo(args) => keyward_demo::demo(args).await,
    }
}

/// What went wrong, from the outside in; then what to do about it.
#[expect(clippy::print_stderr, reason = "the error of the whole process, for the person who ran it")]
fn tell(error: &anyhow::Error) {
    let (mut what, mut hints) = (Vec::new(), Vec::new());
    for cause in error.chain() {
        let text = cause.to_string();
        let mut parts = text.split("\nhint: ");
        what.extend(parts.next().map(str::to_owned));
        hints.extend(parts.map(str::to_owned));
    }
    eprintln!("error: {}", what.join(": "));
    for hint in hints {
        eprintln!("hint: {hint}");
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !keyward_cli::is_told(&error) {
                tell(&error);
            }
            keyward_cli::exit_code(&error)
        }
    }
}

#[cfg(test)]
mod documents;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_commands_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_examples_of_help_are_right() {
        let texts = [SERVE_EXAMPLES, UPSTREAM_EXAMPLES, DEMO_EXAMPLES];
        let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        let commands: Vec<&str> = lines.filter(|line| line.starts_with("keyward ")).collect();
        assert_eq!(commands.len(), 6);
        for command in commands {
            if let Err(error) = Cli::try_parse_from(command.split_whitespace()) {
                panic!("{command}: {error}");
            }
        }
    }
}
