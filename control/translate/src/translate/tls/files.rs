//! Which files `sslFiles` may name. A proxy reads with its own rights whatever it is told to, and shows it in
//! its configuration: whoever may write an Upstream must not choose among all files of its machine.

use keyward_resource::kinds::ssl::SslFiles;

/// Why these files may not be named. Paths begin at the root and have no step back: their reader sees to
/// that, so what is below the folder by its path is below it.
pub(super) fn check(files: &SslFiles, folder: Option<&str>) -> Result<(), String> {
    let Some(folder) = folder else {
        return Err(
            "sslFiles are not allowed here: `keyward serve --tls-files DIR` names the folder in which \
                    proxies have them; or put the certificate into a Secret (secretRef)"
                .to_owned(),
        );
    };
    let pair = files.pair.iter().flat_map(|pair| [("tlsCert", &pair.cert), ("tlsKey", &pair.key)]);
    let named = pair.chain(files.root_ca.iter().map(|path| ("rootCa", path)));
    let outside: Vec<String> = named
        .filter(|(_, path)| !path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        .map(|(field, path)| format!("{field} {path:?}"))
        .collect();
    if outside.is_empty() {
        return Ok(());
    }
    let outside = outside.join(", ");
    Err(format!("sslFiles: {outside}: not below {folder:?}, the folder that --tls-files names"))
}
