//! `keyward pki`.

mod init;
mod proxy;
mod renew;
mod revoke;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use keyward_pki::{Authority, Folder, FolderError};

use crate::output::Output;

/// What is done with certificates.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Makes an authority, and the certificate of the server.
    #[command(after_help = init::EXAMPLES)]
    Init(init::InitArgs),
    /// Makes the certificate of a proxy, with a bootstrap file for its Envoy that uses it.
    #[command(after_help = proxy::EXAMPLES)]
    Proxy(proxy::ProxyArgs),
    /// Renews the certificate of the server, for the same names; the server takes it up.
    #[command(after_help = renew::EXAMPLES)]
    Renew(renew::RenewArgs),
    /// Revokes the certificate of a proxy; the server refuses it at once, and ends its connections.
    #[command(after_help = revoke::EXAMPLES)]
    Revoke(revoke::RevokeArgs),
}

/// Where the certificates are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Folder of the certificates [default: `pki` in the data folder].
    #[arg(long, env = "KEYWARD_PKI", value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Data folder of the server.
    #[arg(long, env = "KEYWARD_DATA", default_value = ".keyward", value_name = "DIR")]
    data: PathBuf,
}

pub(crate) fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Init(args) => init::run(&args, now, output),
        Command::Proxy(args) => proxy::run(&args, now, output),
        Command::Renew(args) => renew::run(&args, now, output),
        Command::Revoke(args) => revoke::run(&args, now, output),
    }
}

/// Says what to do about a file that must not be overwritten.
fn hinted(error: FolderError, hint: &str) -> anyhow::Error {
    match error {
        FolderError::Exists { .. } => anyhow::anyhow!("{error}\nhint: {hint}"),
        other => other.into(),
    }
}

// === impl Place ===

impl Place {
    fn folder(&self) -> Folder {
        Folder::new(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| self.data.join("pki"))
    }

    fn authority(&self) -> anyhow::Result<Authority> {
        self.folder().authority().with_context(|| {
            format!(
                "there is no authority to sign with in {}\nhint: `keyward pki init` makes one",
                self.path().display()
            )
        })
    }
}
