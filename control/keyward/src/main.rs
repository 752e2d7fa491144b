//! The `keyward` binary.

use std::io::IsTerminal as _;
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

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, or something is wrong; 2 wrong usage, or
something differs; 3 changed, but not confirmed in time (--wait). `keyward
explain --help` has those that tell a verdict.";

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

/// What is wrong with the words of a command, or the help that was asked for. A key that stands in the wrong
/// place is not told: what a job says on standard error is kept for long.
#[expect(clippy::print_stderr, reason = "the usage error of the whole process")]
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nobody may be reading.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let told = error.render();
    let told = if std::io::stderr().is_terminal() { told.ansi().to_string() } else { told.to_string() };
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let hide =
        |told: String, word: String| keys_in(&word).fold(told, |told, key| told.replace(key, "[redacted]"));
    eprint!("{}", words.fold(told, hide));
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What of an argument may be a key: all of it, or the value of a flag.
fn keys_in(argument: &str) -> impl Iterator<Item = &str> {
    let value = argument.split_once('=').map(|(_, value)| value);
    [Some(argument), value].into_iter().flatten().filter(|part| may_be_key(part))
}

/// Keys are long, and not words with something between them.
fn may_be_key(part: &str) -> bool {
    const SHORTEST: usize = 16;
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let between = ['-', '.', '/', '_', ':', ','];
    let are_words = part.contains(between) && part.split(between).all(is_word);
    part.len() >= SHORTEST && !part.starts_with('-') && !are_words
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    match run(cli.command).await {
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
    fn what_may_be_a_key_is_told_from_words() {
        for (argument, key) in [
            ("kw_0000000000000000000000_0lgXbD", "kw_0000000000000000000000_0lgXbD"),
            ("--apikey=Zm9vYmFyYmF6cXV1eA==", "Zm9vYmFyYmF6cXV1eA=="),
            ("c2VjcmV0LXNlY3JldC1zZWNyZXQ=", "c2VjcmV0LXNlY3JldC1zZWNyZXQ="),
            ("S3cret-S3cret-S3cret", "S3cret-S3cret-S3cret"),
            ("abcdefghijklmnopqrstuvwxyzabcdef", "abcdefghijklmnopqrstuvwxyzabcdef"),
        ] {
            assert_eq!(keys_in(argument).next(), Some(key));
        }
        for word in ["--apikey-generate", "serve", "gateway-proxy.keyward-system", "--labels=team=infra"] {
            assert_eq!(keys_in(word).next(), None);
        }
    }

    #[test]
    fn the_examples_of_help_are_right() {
        let texts = [SERVE_EXAMPLES, UPSTREAM_EXAMPLES];
        let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        let commands: Vec<&str> = lines.filter(|line| line.starts_with("keyward ")).collect();
        assert_eq!(commands.len(), 4);
        for command in commands {
            if let Err(error) = Cli::try_parse_from(command.split_whitespace()) {
                panic!("{command}: {error}");
            }
        }
    }
}
