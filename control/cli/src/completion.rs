//! `keyward completion`.

use clap::{Args, ValueEnum};

use crate::Program;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Bash, for this shell; for every shell to come, put it into ~/.bashrc:
  source <(keyward completion bash)

  # Zsh, where fpath has the folder:
  keyward completion zsh > ~/.zfunc/_keyward

  # Fish:
  keyward completion fish > ~/.config/fish/completions/keyward.fish";

/// For which shell.
#[derive(Debug, Clone, Args)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// Bash 4 or later.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

pub(super) fn run(args: &CompletionArgs, program: &Program<'_>, output: &mut Output) -> anyhow::Result<()> {
    output.data(args.script((program.grammar)())?.trim_end())
}

// === impl CompletionArgs ===

impl CompletionArgs {
    /// The script that the shell reads.
    pub(crate) fn script(&self, mut grammar: clap::Command) -> anyhow::Result<String> {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        let name = grammar.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut grammar, name, &mut script);
        Ok(String::from_utf8(script)?)
    }
}
