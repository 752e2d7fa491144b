//! The client commands: what a person does beside the running server.
//!
//! ```text
//! keyward token create|list|delete ─▶ tokens.json in the data folder
//! keyward pki init|proxy|renew|revoke ─▶ certificates, keys and bootstrap files in the PKI folder
//! keyward validate PATH            ─▶ what a server would say of these files, without one
//! keyward translate -f PATH        ─▶ what it would tell proxies of them
//! keyward filter digest|config|check|wasm ─▶ what a filter without a server needs
//! keyward check                    ─▶ what is wrong with what a server has
//! keyward get, apply, diff, edit, delete ─▶ Client ─▶ every kind on a server
//! keyward create, add, remove, route, secret, version ─▶ Client ─▶ the REST API of a server
//! keyward config                   ─▶ which server is meant, in the config file
//! keyward completion SHELL         ─▶ a script for a shell
//! ```
//!
//! One file a verb. Data goes to standard output, everything else to standard error, so that the
//! output of a command can be the input of another. A reader that has seen enough is no error.

mod add;
mod apply;
mod check;
mod client;
mod completion;
mod config;
mod create;
mod debug;
mod delete;
mod diff;
mod edit;
mod ended;
mod ends;
mod explain;
mod files;
mod filter;
mod get;
mod hex;
mod key;
mod kind;
mod lifetime;
mod output;
mod pki;
mod print;
mod progress;
mod proxy;
mod reference;
mod remote;
mod remove;
mod route;
mod routes;
mod save;
mod secret;
mod sheet;
mod shown;
mod slow;
#[cfg(test)]
mod tests;
mod tidy;
mod token;
mod translate;
mod validate;
mod version;
mod wait;

use std::process::ExitCode;

use clap::Subcommand;
use jiff::Timestamp;

use self::ended::Ended;
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
    #[command(visible_alias = "c", after_help = create::EXAMPLES)]
    Create(Box<create::CreateArgs>),
    /// Adds a route to a virtual service.
    #[command(subcommand, visible_alias = "a")]
    Add(add::Command),
    /// Removes a route of a virtual service.
    #[command(subcommand, visible_alias = "rm")]
    Remove(remove::Command),
    /// Brings the routes of a virtual service into order.
    #[command(subcommand, visible_alias = "rt")]
    Route(route::Command),
    /// Shows objects on a server.
    #[command(visible_alias = "g", after_help = get::EXAMPLES)]
    Get(Box<get::GetArgs>),
    /// Applies files to a server: creates what is not there, and changes what is different.
    #[command(after_help = apply::EXAMPLES)]
    Apply(Box<apply::ApplyArgs>),
    /// Shows what an apply of files would change; exit code 2 when it would change anything.
    #[command(after_help = diff::EXAMPLES)]
    Diff(Box<diff::DiffArgs>),
    /// Opens an object of a server in an editor.
    #[command(visible_alias = "ed", after_help = edit::EXAMPLES)]
    Edit(Box<edit::EditArgs>),
    /// Deletes objects on a server.
    #[command(visible_alias = "d", after_help = delete::EXAMPLES)]
    Delete(delete::DeleteArgs),
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
    /// Looks at everything on a server, and says what is wrong and what to do about it.
    #[command(after_help = check::EXAMPLES)]
    Check(Box<check::CheckArgs>),
    /// Says what becomes of a request, and why, step by step, without sending it.
    #[command(after_help = explain::EXAMPLES)]
    Explain(Box<explain::ExplainArgs>),
    /// Checks resource files as a server that follows them would; exit code 1 when anything is wrong.
    #[command(after_help = validate::EXAMPLES)]
    Validate(validate::ValidateArgs),
    /// Translates resource files into what proxies would be told, without a server.
    #[command(after_help = translate::EXAMPLES)]
    Translate(translate::TranslateArgs),
    /// Shows the version of this program and that of the server.
    #[command(visible_alias = "v", after_help = version::EXAMPLES)]
    Version(version::VersionArgs),
    /// Shows and changes the contexts of the config file: which server is meant, and as whom.
    #[command(subcommand)]
    Config(config::Command),
    /// Writes the script with which a shell completes commands.
    #[command(after_help = completion::EXAMPLES)]
    Completion(completion::CompletionArgs),
}

/// The program that the commands are a part of.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The filter module.
    pub module: &'a [u8],
    /// All its commands.
    pub grammar: fn() -> clap::Command,
}

/// Does what a command says.
///
/// # Errors
///
/// When that is not possible; for people, with a hint where there is one.
pub async fn run(command: Command, program: &Program<'_>) -> anyhow::Result<()> {
    let mut output = Output::standard();
    let now = Timestamp::now();
    match command {
        Command::Token(command) => token::run(command, now, &mut output),
        Command::Pki(command) => pki::run(command, now, &mut output),
        Command::Create(args) => create::run(*args, now, &mut output).await,
        Command::Add(command) => add::run(command, now, &mut output).await,
        Command::Remove(command) => remove::run(command, now, &mut output).await,
        Command::Route(command) => route::run(command, now, &mut output).await,
        Command::Get(args) => get::run(&args, now, &mut output).await,
        Command::Apply(args) => apply::run(&args, &mut output).await,
        Command::Diff(args) => diff::run(&args, &mut output).await,
        Command::Edit(args) => edit::run(&args, &mut output).await,
        Command::Delete(args) => delete::run(&args, &mut output).await,
        Command::Secret(command) => secret::run(command, now, &mut output).await,
        Command::Proxy(command) => proxy::run(command, now, &mut output).await,
        Command::Debug(command) => debug::run(command, now, &mut output).await,
        Command::Filter(command) => filter::run(command, program.module, &mut output),
        Command::Check(args) => check::run(&args, &mut output).await,
        Command::Explain(args) => explain::run(&args, now, &mut output).await,
        Command::Validate(args) => validate::run(&args, &mut output),
        Command::Translate(args) => translate::run(&args, program, &mut output),
        Command::Version(args) => version::run(&args, &mut output).await,
        Command::Config(command) => config::run(&command, &mut output),
        Command::Completion(args) => completion::run(&args, program, &mut output),
    }
}

/// With what code a process ends that an error has ended: that of the command where it has one of its own, 3
/// where a change is made, but not confirmed.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Ended>() {
        Some(ended) => ExitCode::from(ended.code()),
        None if error.is::<wait::Unconfirmed>() => ExitCode::from(3),
        None => ExitCode::FAILURE,
    }
}

/// Whether a command has said already why it ended.
#[must_use]
pub fn is_told(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(Ended::is_told)
}
