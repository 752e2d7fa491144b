//! `keyward pki renew`.

use anyhow::Context as _;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use keyward_pki::{LIFETIME, Overwrite, Validity};

use super::Place;
use crate::lifetime::lifetime;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward pki renew

  # With other names:
  keyward pki renew --host control.example --expires 90d";

/// What is to be renewed.
#[derive(Debug, Clone, Args)]
pub struct RenewArgs {
    #[command(flatten)]
    place: Place,

    /// The names and addresses by which the server is reached, instead of those that its
    /// certificate has now; may be given several times.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,

    /// How long the new certificate is valid [default: 1y].
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<SignedDuration>,
}

pub(super) fn run(args: &RenewArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let (folder, authority) = (args.place.folder(), args.place.authority()?);
    let hosts = if args.hosts.is_empty() {
        folder.server().context("the names of the server are not known\nhint: say them with --host")?.hosts
    } else {
        args.hosts.clone()
    };
    let server = authority.server(&hosts, Validity::starting(now, args.expires.unwrap_or(LIFETIME))?)?;
    folder.write_server(&server, Overwrite::Replace)?;
    let not_after = folder.server()?.not_after;
    output.note(format!("server certificate for {}, until {not_after:.0}", hosts.join(", ")));
    output.data(folder.server_path().display())
}
