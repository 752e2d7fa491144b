//! `keyward config use-context`, `set-context` and `delete-context`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;

use super::FileArgs;
use crate::client::{Config, server_url};
use crate::output::Output;

pub(super) const EXAMPLES_OF_USE: &str = "\
Examples:
  keyward config use-context production";

pub(super) const EXAMPLES_OF_SET: &str = "\
Examples:
  # A server with TLS, whose token stands in a file:
  keyward config set-context production --server https://control.example:9080 \\
    --ca ca.crt --token-file production.token --namespace shop

  # The first context is the current one; of one that is there, what is
  # named changes:
  keyward config set-context production --namespace team

The file is written anew: comments in it are lost.";

pub(super) const EXAMPLES_OF_DELETE: &str = "\
Examples:
  keyward config delete-context production";

/// Which context.
#[derive(Debug, Clone, Args)]
pub struct UseArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    file: FileArgs,
}

/// Which context, and what it says.
#[derive(Debug, Clone, Args)]
pub struct SetArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,

    /// URL of the control server. A context has one.
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// A file with the token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificate authority of the server (PEM), for https.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// The namespace where none is named.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    file: FileArgs,
}

/// Which context.
#[derive(Debug, Clone, Args)]
pub struct DeleteArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    file: FileArgs,
}

pub(super) fn use_context(args: &UseArgs, output: &mut Output) -> anyhow::Result<()> {
    let path = args.file.path()?;
    let mut config = Config::read(&path)?;
    config.context(&args.name, Some(&path))?;
    config.current_context = Some(args.name.clone());
    config.write(&path)?;
    output.note(format_args!("the current context is {}", args.name));
    Ok(())
}

pub(super) fn set_context(args: &SetArgs, output: &mut Output) -> anyhow::Result<()> {
    let path = args.file.path()?;
    let mut config = Config::read_or_default(&path)?;
    let is_new = !config.contexts.contains_key(&args.name);
    let context = config.contexts.entry(args.name.clone()).or_default();
    if let Some(url) = &args.server {
        context.server = server_url(url)?;
    }
    if context.server.is_empty() {
        bail!("a context has a server\nhint: --server https://HOST:PORT");
    }
    if let Some(file) = &args.token_file {
        // One token, not two.
        context.token = None;
        context.token_file = Some(absolute(file)?);
    }
    if let Some(file) = &args.ca {
        context.certificate_authority = Some(absolute(file)?);
    }
    if let Some(namespace) = &args.namespace {
        context.namespace = Some(namespace.clone());
    }
    if config.current_context.is_none() {
        config.current_context = Some(args.name.clone());
    }
    config.write(&path)?;
    output.note(format_args!("context {} is {}", args.name, if is_new { "made" } else { "changed" }));
    Ok(())
}

pub(super) fn delete_context(args: &DeleteArgs, output: &mut Output) -> anyhow::Result<()> {
    let path = args.file.path()?;
    let mut config = Config::read(&path)?;
    config.context(&args.name, Some(&path))?;
    config.contexts.remove(&args.name);
    if config.current_context.as_ref() == Some(&args.name) {
        config.current_context = None;
        output.note("no context is the current one now");
    }
    config.write(&path)?;
    output.note(format_args!("context {} is deleted", args.name));
    Ok(())
}

/// Where a file is, whoever reads the config file from wherever.
fn absolute(path: &PathBuf) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is no path", path.display()))
}
