//! `keyward token`.

mod create;
mod delete;
mod list;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use keyward_access::{FileError, TokenFile};

use crate::output::Output;

/// What is done with tokens.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Makes a token and shows it, once: only its digest is kept.
    #[command(after_help = create::EXAMPLES)]
    Create(create::CreateArgs),
    /// Lists the tokens: their names, never themselves.
    #[command(after_help = list::EXAMPLES)]
    List(list::ListArgs),
    /// Deletes a token; from then on it opens nothing.
    #[command(after_help = delete::EXAMPLES)]
    Delete(delete::DeleteArgs),
}

/// Where the tokens are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Data folder of the server.
    #[arg(long, env = "KEYWARD_DATA", default_value = ".keyward", value_name = "DIR")]
    data: PathBuf,
}

pub(crate) fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Create(args) => create::run(args, now, output),
        Command::List(args) => list::run(&args, now, output),
        Command::Delete(args) => delete::run(&args, output),
    }
}

// === impl Place ===

impl Place {
    fn file(&self) -> TokenFile {
        TokenFile::new(&self.data)
    }

    /// Says what to do about an error.
    fn hinted(&self, error: FileError) -> anyhow::Error {
        let hint = match &error {
            FileError::Book(keyward_access::BookError::Missing { .. }) => {
                format!("`keyward token list --data {}` names those that there are", self.data.display())
            }
            FileError::Book(keyward_access::BookError::Exists { .. }) => {
                "choose another with --name, or delete that one first".to_owned()
            }
            _ => return error.into(),
        };
        anyhow::anyhow!("{error}\nhint: {hint}")
    }
}
