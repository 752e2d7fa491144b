//! Where proxies may log requests.

use std::path::{Component, Path};

use anyhow::{Context as _, bail};

use crate::args::ServeArgs;
use crate::tls_files::given_away;

/// The file of `--access-log`, as proxies are told it.
///
/// # Errors
///
/// When it is no path that means the same to every proxy; for people.
pub(crate) fn path(args: &ServeArgs) -> anyhow::Result<Option<String>> {
    let Some(path) = &args.access_log else { return Ok(None) };
    let shown = path.display();
    if path == Path::new("stdout") || path == Path::new("stderr") {
        return Ok(Some(format!("/dev/{shown}")));
    }
    let steps_back = path.components().any(|step| step == Component::ParentDir);
    if !path.is_absolute() || steps_back || path.to_string_lossy().chars().any(char::is_control) {
        bail!(
            "--access-log {shown} must be stdout, stderr or an absolute path without \"..\": proxies are told it \
             as it is"
        );
    }
    let path = path.to_str().with_context(|| format!("--access-log {shown} must be UTF-8"))?;
    Ok(Some(path.to_owned()))
}

/// The folder of `--log-files`, as paths below it begin.
///
/// # Errors
///
/// When it is no folder that could be given away; for people.
pub(crate) fn folder(args: &ServeArgs) -> anyhow::Result<Option<String>> {
    let why = "proxies would write there what objects tell them to\n\
               hint: name a folder for logs alone, such as /var/log/keyward";
    args.log_files.as_deref().map(|folder| given_away(args, "--log-files", folder, why)).transpose()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn args(line: &[&str]) -> ServeArgs {
        Line::parse_from(["keyward"].iter().chain(line)).args
    }

    #[test]
    fn a_log_is_a_stream_or_a_file_that_is_the_same_for_every_proxy() {
        let of = |path: &str| super::path(&args(&["--access-log", path])).map_err(|error| error.to_string());
        assert_eq!(super::path(&args(&[])).unwrap(), None);
        assert_eq!(of("stdout"), Ok(Some("/dev/stdout".to_owned())));
        assert_eq!(of("stderr"), Ok(Some("/dev/stderr".to_owned())));
        assert_eq!(of("/var/log/x.json"), Ok(Some("/var/log/x.json".to_owned())));
        for wrong in ["x.json", "./stdout", "/var/../x", "/x\ny"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn gateways_get_no_folder_of_the_server_nor_of_the_system() {
        let of = |path: &str| folder(&args(&["--data", "/srv/keyward", "--log-files", path]));
        assert_eq!(folder(&args(&[])).unwrap(), None);
        assert_eq!(of("/var/log/keyward/").unwrap().as_deref(), Some("/var/log/keyward"));
        for wrong in ["logs", "/", "/srv", "/srv/keyward/envoy", "/proc/self", "/dev"] {
            let error = of(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("--log-files"), "{error}");
        }
    }
}
