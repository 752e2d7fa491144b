//! The client commands: what a person does beside the running server.
//!
//! ```text
//! keyward token create|list|delete ─▶ tokens.json in the data folder
//! keyward pki init|proxy|renew|revoke ─▶ certificates, keys and bootstrap files in the PKI folder
//! keyward validate PATH            ─▶ what a server would say of these files, without one
//! ```
//!
//! One file a verb. Data goes to standard output, everything else to standard error, so that the
//! output of a command can be the input of another. A reader that has seen enough is no error.

mod lifetime;
mod output;
mod pki;
mod token;
mod validate;

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
    /// Checks resource files as a server that follows them would; exit code 1 when anything is wrong.
    Validate(validate::ValidateArgs),
}

/// Does what a command says.
///
/// # Errors
///
/// When that is not possible; for people, with a hint where there is one.
pub fn run(command: Command) -> anyhow::Result<()> {
    let mut output = Output::standard();
    let now = Timestamp::now();
    match command {
        Command::Token(command) => token::run(command, now, &mut output),
        Command::Pki(command) => pki::run(command, now, &mut output),
        Command::Validate(args) => validate::run(&args, &mut output),
    }
}
