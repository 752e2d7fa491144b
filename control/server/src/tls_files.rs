//! The folder whose files proxies may be told to read.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::args::ServeArgs;
use crate::exposure;

#[cfg(test)]
mod tests;

/// What there is here is no certificate, and some of it is a secret of the machine.
const OF_THE_SYSTEM: [&str; 3] = ["/proc", "/dev", "/sys"];

/// The folder of `--tls-files`, as paths below it begin.
///
/// It is on the machines of proxies and need not be on this one. Where it is, links are followed to see
/// what it really is.
///
/// # Errors
///
/// When it is no folder that could be given away; for people.
pub(crate) fn folder(args: &ServeArgs) -> anyhow::Result<Option<String>> {
    let why = "proxies would show what is there\n\
               hint: name a folder with nothing in it but certificates and keys for proxies";
    args.tls_files.as_deref().map(|folder| given_away(args, "--tls-files", folder, why)).transpose()
}

/// A folder on the machines of proxies in which they may do what objects tell them to.
///
/// # Errors
///
/// When it is no folder that could be given away; for people.
pub(crate) fn given_away(args: &ServeArgs, flag: &str, folder: &Path, why: &str) -> anyhow::Result<String> {
    let shown = folder.display();
    let steps_back = folder.components().any(|step| step == Component::ParentDir);
    if !folder.is_absolute() || steps_back {
        bail!("{flag} {shown} must be an absolute path without \"..\": proxies are told it as it is");
    }
    let (data, pki) = (place(&args.data)?, place(&exposure::pki_path(args))?);
    let own = [(data.as_path(), "the data folder"), (pki.as_path(), "the PKI folder")];
    let of_the_system = OF_THE_SYSTEM.map(|folder| (Path::new(folder), "a folder of the system"));
    for here in [folder.to_path_buf(), place(folder)?] {
        for (other, what) in own.into_iter().chain(of_the_system) {
            if here.starts_with(other) || other.starts_with(&here) {
                bail!("{flag} {shown} is, has or lies in {}, {what}: {why}", other.display());
            }
        }
    }
    // Without a slash at the end, and without doubled ones.
    let plain: PathBuf = folder.components().collect();
    let plain = plain.to_str().with_context(|| format!("{flag} {shown} must be UTF-8"))?;
    Ok(plain.to_owned())
}

/// Where a path leads, as far as it is there.
fn place(path: &Path) -> anyhow::Result<PathBuf> {
    let path = std::path::absolute(path).with_context(|| format!("{} leads nowhere", path.display()))?;
    let mut rest = Vec::new();
    for part in path.ancestors() {
        if let Ok(real) = part.canonicalize() {
            return Ok(rest.into_iter().rev().fold(real, |place: PathBuf, name| place.join(name)));
        }
        rest.extend(part.file_name());
    }
    Ok(path)
}
