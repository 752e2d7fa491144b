//! `keyward create`.

mod auth_config;
mod draft;
mod files;
mod secret_api_key;
mod secret_tls;
mod upstream;
mod upstream_group;
mod virtual_service;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use crate::output::Output;

pub(crate) use files::EXAMPLES;

/// What is created: one object from flags, or those of files.
#[derive(Debug, Clone, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub struct CreateArgs {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    files: files::FromFilesArgs,
}

/// What is created from flags.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Creates a Secret.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Creates an Upstream: where requests go.
    #[command(subcommand, visible_aliases = ["u", "us", "upstreams"])]
    Upstream(upstream::Command),
    /// Creates an AuthConfig: which keys a secured route demands.
    #[command(name = "authconfig", visible_aliases = ["ac", "authconfigs"], after_help = auth_config::EXAMPLES)]
    AuthConfig(Box<auth_config::AuthConfigArgs>),
    /// Creates a VirtualService: domains, and later their routes.
    #[command(name = "virtualservice", visible_aliases = ["vs", "virtualservices"], after_help = virtual_service::EXAMPLES)]
    VirtualService(Box<virtual_service::VirtualServiceArgs>),
    /// Creates an UpstreamGroup: destinations by weight.
    #[command(name = "upstreamgroup", visible_aliases = ["ug", "upstreamgroups"], after_help = upstream_group::EXAMPLES)]
    UpstreamGroup(Box<upstream_group::UpstreamGroupArgs>),
}

/// What the Secret holds.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SecretCommand {
    /// Creates an API key; the name of its Secret is the identity that upstreams see.
    #[command(name = "apikey", after_help = secret_api_key::EXAMPLES)]
    ApiKey(Box<secret_api_key::CreateArgs>),
    /// Creates the Secret of a certificate, or of root certificates.
    #[command(after_help = secret_tls::EXAMPLES)]
    Tls(Box<secret_tls::TlsArgs>),
}

pub(crate) async fn run(args: CreateArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let Some(command) = args.command else { return files::run(&args.files, output).await };
    match command {
        Command::Secret(SecretCommand::ApiKey(args)) => secret_api_key::run(&args, now, output).await,
        Command::Secret(SecretCommand::Tls(args)) => secret_tls::run(&args, now, output).await,
        Command::Upstream(command) => upstream::run(command, now, output).await,
        Command::AuthConfig(args) => auth_config::run(&args, now, output).await,
        Command::VirtualService(args) => virtual_service::run(&args, now, output).await,
        Command::UpstreamGroup(args) => upstream_group::run(&args, now, output).await,
    }
}
