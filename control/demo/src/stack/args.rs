//! The flags of `keyward demo`.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The data folder where none is named.
pub(super) const DEFAULT_DATA: &str = ".keyward";

const UP_EXAMPLES: &str = "\
Examples:
  # Everything, until Ctrl-C:
  keyward demo up

  # In the background, on other ports:
  keyward demo up --detach --gateway-port 8000 --rest-port 9000";
const DOWN_EXAMPLES: &str = "\
Examples:
  keyward demo down";

/// Starts and stops the whole demonstration: control server, Envoy and an echo upstream.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DemoCommand,
}

/// What to do.
#[derive(Debug, Clone, Subcommand)]
pub enum DemoCommand {
    /// Start everything, wait until the gateway answers right, and show the logs until Ctrl-C.
    #[command(after_help = UP_EXAMPLES)]
    Up(UpArgs),
    /// Stop everything that `up` started on the same data folder.
    #[command(after_help = DOWN_EXAMPLES)]
    Down(DownArgs),
    /// Run a command of this program that ends when its parent ends.
    #[command(hide = true)]
    Tethered(TetheredArgs),
}

/// The flags of `up`.
#[derive(Debug, Clone, Args)]
pub struct UpArgs {
    /// Return when the gateway is ready and leave everything running.
    #[arg(long, short)]
    pub detach: bool,

    /// Folder of the store, the state and the logs; made when missing.
    #[arg(long, env = "KEYWARD_DATA", default_value = DEFAULT_DATA, value_name = "DIR")]
    pub data: PathBuf,

    /// Where everything listens.
    #[command(flatten)]
    pub ports: Ports,

    /// The Envoy to run [default: `.tools/bin/envoy`, else `envoy` on PATH].
    #[arg(long, env = "KEYWARD_ENVOY", value_name = "PATH")]
    pub envoy: Option<PathBuf>,
}

/// Where everything listens, on loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args, Serialize, Deserialize)]
pub struct Ports {
    /// Port of the gateway.
    #[arg(long = "gateway-port", env = "KEYWARD_GATEWAY_PORT", default_value_t = 8080, value_name = "PORT",
          value_parser = port())]
    pub gateway: u16,

    /// Port of the REST resource API.
    #[arg(long = "rest-port", env = "KEYWARD_REST_PORT", default_value_t = 9080, value_name = "PORT",
          value_parser = port())]
    pub rest: u16,

    /// Port of xDS and the key stream.
    #[arg(long = "xds-port", env = "KEYWARD_XDS_PORT", default_value_t = 9977, value_name = "PORT",
          value_parser = port())]
    pub xds: u16,

    /// Admin port of Envoy.
    #[arg(long = "admin-port", env = "KEYWARD_ADMIN_PORT", default_value_t = 19000, value_name = "PORT",
          value_parser = port())]
    pub admin: u16,

    /// Port of the control server's snapshots.
    #[arg(long = "snapshots-port", env = "KEYWARD_SNAPSHOTS_PORT", default_value_t = 9095, value_name = "PORT",
          value_parser = port())]
    #[serde(default)]
    pub snapshots: u16,

    /// Port of the echo upstream.
    #[arg(long = "upstream-port", env = "KEYWARD_UPSTREAM_PORT", default_value_t = 8081, value_name = "PORT",
          value_parser = port())]
    pub upstream: u16,
}

/// The flags of `down`.
#[derive(Debug, Clone, Args)]
pub struct DownArgs {
    /// The data folder that `up` was given.
    #[arg(long, env = "KEYWARD_DATA", default_value = DEFAULT_DATA, value_name = "DIR")]
    pub data: PathBuf,
}

/// The flags of `tethered`.
#[derive(Debug, Clone, Args)]
pub struct TetheredArgs {
    /// The process to end with.
    #[arg(long)]
    pub parent: u32,

    /// The command of this program, with its flags.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Port 0 would be a different one for each who reads it.
fn port() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..)
}

/// The data folder by a name that stays true when the working directory changes.
pub(super) fn data_folder(data: &Path) -> anyhow::Result<PathBuf> {
    make_private(data).with_context(|| format!("cannot make the folder {}", data.display()))?;
    data.canonicalize().with_context(|| format!("cannot resolve {}", data.display()))
}

/// Makes a folder that its owner alone may read, and the folders that it is in as usual. One that is
/// there already keeps the rights that somebody gave it.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::DirBuilder::new().mode(0o700).create(folder).or_else(|error| match folder.is_dir() {
        true => Ok(()),
        false => Err(error),
    })
}

// === impl Ports ===

impl Ports {
    /// Every port with what listens there and the flag and variable that choose another.
    pub(super) fn all(&self) -> [(u16, &'static str, &'static str, &'static str); 6] {
        [
            (self.gateway, "the gateway", "--gateway-port", "KEYWARD_GATEWAY_PORT"),
            (self.rest, "the REST API", "--rest-port", "KEYWARD_REST_PORT"),
            (self.xds, "xDS", "--xds-port", "KEYWARD_XDS_PORT"),
            (self.admin, "Envoy's admin", "--admin-port", "KEYWARD_ADMIN_PORT"),
            (self.snapshots, "the snapshot port", "--snapshots-port", "KEYWARD_SNAPSHOTS_PORT"),
            (self.upstream, "the echo upstream", "--upstream-port", "KEYWARD_UPSTREAM_PORT"),
        ]
    }

    pub(super) fn gateway_url(&self) -> String {
        format!("http://{}", loopback(self.gateway))
    }

    pub(super) fn upstream_url(&self) -> String {
        format!("http://{}", loopback(self.upstream))
    }

    pub(super) fn rest_url(&self) -> String {
        format!("http://{}", loopback(self.rest))
    }
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
