//! What protects the ports: decided from the flags before anything is opened.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use keyward_access::Rules;
use keyward_pki::{AUTHORITY_LIFETIME, Authority, Folder, LOCAL_HOSTS, Overwrite, Validity};
use keyward_tls::{Clients, TlsConfig, TlsFiles};

use crate::args::ServeArgs;

#[cfg(test)]
mod tests;

/// What protects the ports.
#[derive(Debug)]
pub(crate) struct Exposure {
    /// TLS of the REST port; none is plain HTTP.
    pub(crate) rest: Option<TlsFiles>,
    /// Who needs a token there.
    pub(crate) rules: Rules,
    /// Who needs a token on the debugging ports, which have the TLS of the REST port.
    pub(crate) admin: AdminRules,
    /// TLS of the gRPC port, where proxies are then known by their certificates; none is plain.
    pub(crate) xds: Option<TlsFiles>,
    /// Whether the authority has to be made first.
    pub(crate) make_authority: bool,
}

/// Who needs a token on each of the debugging ports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdminRules {
    pub(crate) stats: Rules,
    pub(crate) snapshots: Rules,
    pub(crate) dev_admin: Rules,
    pub(crate) proxy: Rules,
}

/// The folder of the certificates.
pub(crate) fn pki_path(args: &ServeArgs) -> PathBuf {
    args.pki.clone().unwrap_or_else(|| args.data.join("pki"))
}

/// Off loopback a port needs what protects it, unless somebody says in so many words that it does
/// not.
///
/// # Errors
///
/// When a port would be open to others without it; for people.
pub(crate) fn decide(args: &ServeArgs, has_tokens: bool) -> anyhow::Result<Exposure> {
    let pki = pki_path(args);
    let rest = rest_files(args, &pki);
    let xds = args.xds_tls || (is_exposed(args.xds) && !args.insecure_bind);
    let mut guarded = vec![
        ("--rest", args.rest, "may read every key"),
        ("--snapshots", args.snapshots, "may see everything but keys"),
        ("--dev-admin", args.dev_admin, "may see everything but keys"),
    ];
    if !args.no_envoy {
        guarded.push(("--admin", args.admin, "may see and change how the gateway proxy works"));
    }
    if args.start_stats_server {
        guarded.push(("--stats", args.stats, "may see and change how the server works"));
    }
    for (flag, address, may) in guarded {
        if !is_exposed(address) || args.insecure_bind {
            continue;
        }
        if rest.is_none() {
            bail!(
                "{flag} {address} is not a loopback address, and this port has no TLS\n\
                 hint: say --tls, or --tls-cert and --tls-key; or --insecure-bind if whoever reaches the port \
                 {may}",
            );
        }
        if !has_tokens {
            bail!(
                "{flag} {address} is not a loopback address, and there are no tokens for it\n\
                 hint: `keyward token create --role admin --data {}` makes one",
                args.data.display()
            );
        }
    }
    let exists = Folder::new(&pki).trust_path().exists();
    if xds && !exists && !args.tls {
        let why = if args.xds_tls {
            "--xds-tls needs certificates".to_owned()
        } else {
            format!(
                "--xds {} is not a loopback address, and proxies are known by certificates there",
                args.xds
            )
        };
        bail!(
            "{why}, but {} has none\n\
             hint: `keyward pki init --dir {}` makes them, and `keyward pki proxy NAME` those of a proxy; or \
             say --insecure-bind if the network around it is trusted",
            pki.display(),
            pki.display()
        );
    }
    let rules = |address| rules(args, address, rest.is_some());
    let admin = AdminRules {
        stats: rules(args.stats),
        snapshots: rules(args.snapshots),
        dev_admin: rules(args.dev_admin),
        proxy: rules(args.admin),
    };
    let rules = rules(args.rest);
    let xds = xds.then(|| xds_files(&pki));
    Ok(Exposure { rest, rules, admin, xds, make_authority: args.tls && !exists })
}

/// Who needs a token at an address.
fn rules(args: &ServeArgs, address: SocketAddr, has_tls: bool) -> Rules {
    match (args.require_token, is_exposed(address), has_tls) {
        (true, ..) => Rules::Everybody,
        (false, true, false) => Rules::Nobody,
        // Also once the last token is deleted.
        (false, true, true) => Rules::Everybody,
        (false, false, _) => Rules::OffLoopback,
    }
}

fn is_exposed(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

fn rest_files(args: &ServeArgs, pki: &Path) -> Option<TlsFiles> {
    if args.tls {
        let path = Folder::new(pki).server_path();
        return Some(TlsFiles { certificate: path.clone(), key: path, clients: Clients::Anybody });
    }
    let (certificate, key) = (args.tls_cert.clone()?, args.tls_key.clone()?);
    Some(TlsFiles { certificate, key, clients: Clients::Anybody })
}

fn xds_files(pki: &Path) -> TlsFiles {
    let folder = Folder::new(pki);
    let path = folder.server_path();
    let clients = Clients::Proxies { trust: folder.trust_path(), revoked: folder.revoked_path() };
    TlsFiles { certificate: path.clone(), key: path, clients }
}

/// The configuration of a TLS port.
///
/// # Errors
///
/// When its files cannot be used.
pub(crate) fn open_tls(port: &str, files: TlsFiles) -> anyhow::Result<TlsConfig> {
    TlsConfig::open(port, files).with_context(|| format!("the {port} port has no usable certificate"))
}

/// Makes an authority and a certificate for this machine, so that TLS can be tried without
/// preparations.
///
/// # Errors
///
/// When there is a part of one, or the folder cannot be written.
pub(crate) fn make_authority(pki: &Folder) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let authority = Authority::create(Validity::starting(now, AUTHORITY_LIFETIME)?)?;
    let hosts = LOCAL_HOSTS.map(str::to_owned);
    let server = authority.server(&hosts, Validity::starting(now, keyward_pki::LIFETIME)?)?;
    pki.create(&authority, &server, Overwrite::Never)?;
    tracing::info!(authority = %pki.trust_path().display(), "made an authority and a certificate for this machine");
    Ok(())
}
