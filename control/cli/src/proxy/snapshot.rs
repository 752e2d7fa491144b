//! `keyward proxy snapshot`.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use jiff::Timestamp;

use super::admin::AdminArgs;
use crate::output::Output;
use crate::save::{self, Existing};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy snapshot
  keyward proxy snapshot --include-eds=false --directory /tmp

Writes keyward-proxy-snapshot-NAMESPACE-NAME-TIME.zip with server_info.json,
config.json, stats.txt, clusters.txt and listeners.txt, and prints its path.
There is no API key and no private key in it.";

/// What is in it: names, and the paths of the admin.
const PARTS: [(&str, &str); 5] = [
    ("server_info.json", "/server_info"),
    ("config.json", "/config_dump"),
    ("stats.txt", "/stats"),
    ("clusters.txt", "/clusters"),
    ("listeners.txt", "/listeners"),
];

/// What is written, and where.
#[derive(Debug, Clone, Args)]
pub struct SnapshotArgs {
    /// With the addresses of the upstreams.
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
          value_name = "BOOL")]
    include_eds: bool,

    /// Where the file is written.
    #[arg(long, default_value = ".", value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    admin: AdminArgs,
}

/// The name of the file.
fn name(namespace: &str, proxy: &str, now: Timestamp) -> String {
    format!("keyward-proxy-snapshot-{namespace}-{proxy}-{}.zip", now.strftime("%Y-%m-%d-T%H.%M.%S"))
}

pub(super) async fn run(args: &SnapshotArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let admin = args.admin.open().await?;
    let mut parts = Vec::new();
    for (name, path) in PARTS {
        let with_eds = path == "/config_dump" && args.include_eds;
        let path = if with_eds { "/config_dump?include_eds" } else { path };
        let said = admin.get(path).await?;
        parts.push((name.to_owned(), said));
    }
    let namespace = args.admin.proxy.remote.installation().await?;
    let path = args.directory.join(name(&namespace, &args.admin.proxy.name, now));
    save::zip(&path, Existing::Kept, &parts)?;
    output.data(path.display())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use super::*;

    #[test]
    fn the_file_holds_every_part_and_its_name_says_of_whom_and_when() {
        let mut file = Cursor::new(Vec::new());
        let parts = PARTS.map(|(name, path)| (name.to_owned(), path.repeat(100)));
        save::pack(&mut file, &parts).unwrap();
        let mut zip = zip::ZipArchive::new(file).unwrap();
        assert_eq!(zip.len(), PARTS.len());
        let mut text = String::new();
        zip.by_name("stats.txt").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "/stats".repeat(100));
        let now: Timestamp = "2026-01-02T15:04:05Z".parse().unwrap();
        assert_eq!(name("a", "b", now), "keyward-proxy-snapshot-a-b-2026-01-02-T15.04.05.zip");
    }

    #[test]
    fn a_file_that_is_there_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zip");
        save::zip(&path, Existing::Kept, &[]).unwrap();
        let refused = save::zip(&path, Existing::Kept, &[]).unwrap_err();
        assert!(refused.to_string().contains("could not be written"), "{refused}");
    }
}
