//! `keyward pki proxy`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use keyward_bootstrap::{BootstrapOptions, Endpoint};
use keyward_pki::{LIFETIME, Overwrite, ProxyRole, Validity};

use super::{Place, hinted};
use crate::lifetime::lifetime;
use crate::output::Output;

/// The gRPC port unless something else is said.
const PORT: u16 = 9977;

pub(super) const EXAMPLES: &str = "\
Examples:
  # A folder with all that an Envoy on another machine needs; it will lie
  # in /etc/keyward there:
  keyward pki proxy edge --server control.example:9977 --install /etc/keyward

  # A new certificate for the same proxy; its Envoy takes it up when the
  # folder is copied:
  keyward pki proxy edge --renew";

/// Which proxy.
#[derive(Debug, Clone, Args)]
pub struct ProxyArgs {
    #[command(flatten)]
    place: Place,

    /// Its name, as Gateways name it: it is given the configuration and the keys of this proxy, and
    /// of no other.
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

    /// Where the proxy reaches the gRPC port of the control server.
    #[arg(long, default_value = "127.0.0.1:9977", value_name = "HOST:PORT", value_parser = endpoint)]
    server: Endpoint,

    /// Admin address of the proxy's Envoy. Envoy's admin has no access control: keep it private.
    #[arg(long, default_value = "127.0.0.1:19000", value_name = "ADDR")]
    admin: SocketAddr,

    /// Where the folder will lie on the proxy's machine [default: where it is made].
    #[arg(long, value_name = "DIR")]
    install: Option<PathBuf>,

    /// How long the certificate is valid [default: 1y].
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<SignedDuration>,

    /// Renews the certificate and leaves everything else; a running Envoy takes it up.
    #[arg(long, conflicts_with_all = ["force", "install"])]
    renew: bool,

    /// Replaces what is there.
    #[arg(long)]
    force: bool,
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    Endpoint::parse(text, PORT)
}

fn as_text(path: &Path) -> anyhow::Result<String> {
    let absolute = std::path::absolute(path)?;
    Ok(absolute.to_str().with_context(|| format!("{} is not UTF-8", absolute.display()))?.to_owned())
}

pub(super) fn run(args: &ProxyArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let role = ProxyRole::new(&args.system_namespace, &args.name)?;
    let authority = args.place.authority()?;
    let files = args.place.folder().proxy(&role);
    let identity = authority.proxy(&role, Validity::starting(now, args.expires.unwrap_or(LIFETIME))?)?;
    if args.renew {
        let current = files.facts().context("there is nothing to renew\nhint: leave --renew out")?;
        let known = current.proxy_role()?;
        if known != role {
            bail!(
                "the certificate of {} is for {known}, not for {role}\nhint: see --system-namespace",
                args.name
            );
        }
        // The authority first: whoever takes up the new identity trusts it already.
        files.write_trust(authority.certificate())?;
        files.write_identity(&identity, Overwrite::Replace)?;
    } else {
        let seen_as = as_text(args.install.as_deref().unwrap_or_else(|| files.folder()))?;
        let overwrite = if args.force { Overwrite::Replace } else { Overwrite::Never };
        files.write(authority.certificate(), &identity, &seen_as, overwrite).map_err(|error| {
            hinted(error, "--renew renews the certificate; --force makes everything anew")
        })?;
        files.write_bootstrap(&BootstrapOptions {
            node_id: args.name.clone(),
            role: role.to_string(),
            control: args.server.clone(),
            admin: args.admin.into(),
            certificates: Some(seen_as),
        })?;
    }
    let not_after = files.facts()?.not_after;
    output.note(format!("certificate of {role}, until {not_after:.0}, in {}", files.folder().display()));
    if args.renew {
        output.data(files.identity_path().display())
    } else {
        output.note("start it with: envoy --config-path <the file>");
        output.data(files.bootstrap_path().display())
    }
}
