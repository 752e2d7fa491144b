//! The client commands: what a person does beside the running server.
//!
//! ```text
//! keyward token create|list|delete ─▶ tokens.json in the data folder
//! keyward pki init|proxy|renew|revoke ─▶ certificates, keys and bootstrap files in the PKI folder
//! keyward validate PATH            ─▶ what a server would say of these files, without one
//! keyward filter digest|config|check|wasm ─▶ what a filter without a server needs
//! keyward create, secret           ─▶ Client ─▶ the REST API of a server
//! ```
//!
//! One file a verb. Data goes to standard output, everything else to standard error, so that the
//! output of a command can be the input of another. A reader that has seen enough is no error.

mod client;
mod create;
mod debug;
mod filter;
mod key;
mod lifetime;
mod output;
mod pki;
mod proxy;
mod remote;
mod secret;
mod sheet;
mod token;
mod validate;
mod wait;

use std::process::ExitCode;

use clap::Subcommand;
use jiff::Timestamp;

use self::output::Output;

/// A client command.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Makes, lists and deletes the tokens of the REST API; a running server knows at once.
    #[command(subcommand)]
    Token(token::Command),
    /// Makes the certificates of the server and of proxies; whoever runs takes up new ones.
    #[command(subcommand)]
    Pki(pki::Command),
    /// Creates resources on a server.
    #[command(subcommand)]
    Create(create::Command),
    /// The keys on a server, and their lives.
    #[command(subcommand)]
    Secret(secret::Command),
    /// Proxies: what they are told, what they report, their logs and their state.
    #[command(subcommand)]
    Proxy(proxy::Command),
    /// What somebody else needs to find out what is wrong: logs, configuration, everything at once; and no key.
    #[command(subcommand)]
    Debug(debug::Command),
    /// For the filter by itself, in an Envoy that no server configures.
    #[command(subcommand)]
    Filter(filter::Command),
    /// Checks resource files as a server that follows them would; exit code 1 when anything is wrong.
    Validate(validate::ValidateArgs),
}

/// Does what a command says. `module` is the filter module.
///
/// # Errors
///
/// When that is not possible; for people, with a hint where there is one.
pub async fn run(command: Command, module: &[u8]) -> anyhow::Result<()> {
    let mut output = Output::standard();
    let now = Timestamp::now();
    match command {
        Command::Token(command) => token::run(command, now, &mut output),
        Command::Pki(command) => pki::run(command, now, &mut output),
        Command::Create(command) => create::run(command, now, &mut output).await,
        Command::Secret(command) => secret::run(command, now, &mut output).await,
        Command::Proxy(command) => proxy::run(command, now, &mut output).await,
        Command::Debug(command) => debug::run(command, now, &mut output).await,
        Command::Filter(command) => filter::run(command, module, &mut output),
        Command::Validate(args) => validate::run(&args, &mut output),
    }
}

/// With what code a process ends that an error has ended: 3 where a change is made, but not confirmed, and 2
/// where two things that were compared differ.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<wait::Unconfirmed>() {
        ExitCode::from(3)
    } else if error.is::<proxy::Differs>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::Parser;

    /// The commands as the program has them.
    #[derive(Debug, Parser)]
    struct Cli {
        #[command(subcommand)]
        command: super::Command,
    }

    #[test]
    fn all_commands_are_well_formed() {
        Cli::command().debug_assert();
    }
}
