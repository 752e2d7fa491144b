//! `keyward config`: the contexts of the config file.

mod change;
mod view;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::client::Environment;
use crate::output::Output;

/// What is done with contexts.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Shows the config file, without the tokens in it.
    #[command(after_help = view::EXAMPLES)]
    View(view::ViewArgs),
    /// Makes a context the current one.
    #[command(after_help = change::EXAMPLES_OF_USE)]
    UseContext(change::UseArgs),
    /// Makes a context, or changes what is said of it.
    #[command(after_help = change::EXAMPLES_OF_SET)]
    SetContext(change::SetArgs),
    /// Deletes a context.
    #[command(after_help = change::EXAMPLES_OF_DELETE)]
    DeleteContext(change::DeleteArgs),
}

/// Which file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FileArgs {
    /// The config file [env: KEYWARD_CONFIG] [default: ~/.config/keyward/config.yaml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(command: &Command, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::View(args) => view::run(args, output),
        Command::UseContext(args) => change::use_context(args, output),
        Command::SetContext(args) => change::set_context(args, output),
        Command::DeleteContext(args) => change::delete_context(args, output),
    }
}

// === impl FileArgs ===

impl FileArgs {
    fn path(&self) -> anyhow::Result<PathBuf> {
        let environment = Environment::of_process();
        let path = environment.config_file(self.config.as_ref()).cloned();
        path.context("nothing says where the config file is\nhint: --config FILE, KEYWARD_CONFIG or HOME")
    }
}
