//! The `keyward` binary.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use keyward_server::{LogFormat, ServeArgs, logging};

/// Samples who holds the memory (the debug port shows it).
#[global_allocator]
static ALLOCATOR: keyward_profile::Allocator = keyward_profile::Allocator;

/// The filter module, built before this binary (see build.rs).
static FILTER: &[u8] = include_bytes!(env!("KEYWARD_FILTER_WASM"));

/// An API-key gateway: Envoy, a WebAssembly filter that verifies keys inside it, and this control server.
#[derive(Debug, Parser)]
#[command(name = "keyward", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the control server and the Envoy that it supervises.
    Serve(Box<ServeArgs>),
    #[command(flatten)]
    Client(keyward_cli::Command),
    /// Runs an upstream that answers with the request as JSON.
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
            keyward_cli::run(command, &keyward_cli::Program { module: FILTER, grammar: Cli::command }).await
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
