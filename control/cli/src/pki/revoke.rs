//! `keyward pki revoke`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_pki::{Facts, ProxyFiles, ProxyRole};

use super::Place;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # The certificate in the folder of a proxy:
  keyward pki revoke edge

  # Another one that it had:
  keyward pki revoke edge --certificate old.crt";

/// Whose certificate.
#[derive(Debug, Clone, Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    place: Place,

    /// The name of the proxy.
    #[arg(value_name = "NAME")]
    name: String,

    /// The namespace of the installation.
    #[arg(
        long,
        env = "KEYWARD_SYSTEM_NAMESPACE",
        default_value = "keyward-system",
        value_name = "NAMESPACE"
    )]
    system_namespace: String,

    /// The certificate (PEM), when it is not the one in the proxy's folder: such as one that was renewed
    /// since, and is valid until its time is over.
    #[arg(long, value_name = "PATH")]
    certificate: Option<PathBuf>,
}

pub(super) fn run(args: &RevokeArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let role = ProxyRole::new(&args.system_namespace, &args.name)?;
    let (folder, authority) = (args.place.folder(), args.place.authority()?);
    let facts = certificate(args, &folder.proxy(&role))?;
    let known = facts.proxy_role()?;
    if known != role {
        bail!(
            "the certificate of {} is for {known}, not for {role}\nhint: see --system-namespace",
            args.name
        );
    }
    let is_new = folder.revoke(&authority, &facts, now)?;
    let not_after = facts.not_after;
    output.note(match is_new {
        true => format!(
            "the certificate of {role}, until {not_after:.0}, is revoked; \
             `keyward pki proxy {} --renew` makes another",
            args.name
        ),
        false => format!("the certificate of {role}, until {not_after:.0}, was revoked before"),
    });
    output.data(folder.revoked_path().display())
}

fn certificate(args: &RevokeArgs, files: &ProxyFiles) -> anyhow::Result<Facts> {
    let Some(path) = &args.certificate else {
        return files.facts().context("there is no certificate to revoke\nhint: name it with --certificate");
    };
    let text = std::fs::read(path).with_context(|| format!("{} could not be read", path.display()))?;
    Facts::of_pem(&text).with_context(|| format!("{} cannot be used", path.display()))
}
