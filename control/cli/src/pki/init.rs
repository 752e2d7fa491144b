//! `keyward pki init`.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use keyward_pki::{AUTHORITY_LIFETIME, Authority, LIFETIME, LOCAL_HOSTS, Overwrite, Validity};

use super::{Place, hinted};
use crate::lifetime::lifetime;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # For a server on this machine:
  keyward pki init

  # For one that others reach, too:
  keyward pki init --host control.example --host 192.0.2.1";

/// What the authority is to be.
#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    #[command(flatten)]
    place: Place,

    /// A name or an address by which the server is reached, besides localhost; may be given several
    /// times. Proxies do not need it: they know the server by another name in its certificate.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,

    /// How long the certificate of the server is valid [default: 1y].
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<SignedDuration>,

    /// How long the authority is valid [default: 10y].
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    ca_expires: Option<SignedDuration>,

    /// Replaces the authority that is there. Every certificate that it signed is worth nothing then.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &InitArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let authority =
        Authority::create(Validity::starting(now, args.ca_expires.unwrap_or(AUTHORITY_LIFETIME))?)?;
    let mut hosts = LOCAL_HOSTS.map(str::to_owned).to_vec();
    hosts.extend(args.hosts.iter().filter(|host| !LOCAL_HOSTS.contains(&host.as_str())).cloned());
    let server = authority.server(&hosts, Validity::starting(now, args.expires.unwrap_or(LIFETIME))?)?;
    let overwrite = if args.force { Overwrite::Replace } else { Overwrite::Never };
    let folder = args.place.folder();
    folder.create(&authority, &server, overwrite).map_err(|error| {
        hinted(
            error,
            "`keyward pki renew` renews the certificate of the server; --force makes a new authority, and \
             every certificate of the old one is worth nothing then",
        )
    })?;
    output.note(format!(
        "authority and server certificate for {} in {}; keep ca.key secret",
        hosts.join(", "),
        args.place.path().display()
    ));
    output.data(folder.trust_path().display())
}
