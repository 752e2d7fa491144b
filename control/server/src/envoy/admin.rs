//! The admin of the supervised Envoy, on a socket that only its owner may use.

use std::fs::{DirBuilder, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures::future::BoxFuture;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use keyward_access::AUDIT_TARGET;
use keyward_admin::Who;
use keyward_admin::proxy::ProxyAdmin;
use keyward_xds::printable;
use sha2::{Digest as _, Sha256};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The name of the socket.
const SOCKET: &str = "admin.sock";
/// A longer path cannot be one of a socket.
const MAX_PATH: usize = 107;
/// How long the head of an answer may take: a dump of everything takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// So much of a path is logged.
const MAX_SHOWN: usize = 512;

/// The admin of one Envoy.
#[derive(Debug, Clone)]
pub(crate) struct AdminSocket {
    path: PathBuf,
}

/// Somebody else's folder in a place where everybody may make one.
fn is_ours(folder: &Metadata) -> bool {
    folder.is_dir()
        && folder.uid() == rustix::process::geteuid().as_raw()
        && folder.mode().trailing_zeros() >= 6
}

/// A folder for the socket of an Envoy whose own folder has too long a path: always the same one, so that a
/// running Envoy can be adopted.
fn short_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let digest = Sha256::digest(folder.as_os_str().as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let short = std::env::temp_dir().join(format!("keyward-{name}"));
    match DirBuilder::new().mode(0o700).create(&short) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("{} could not be made", short.display()));
        }
        _ => {}
    }
    let found = std::fs::symlink_metadata(&short)
        .with_context(|| format!("{} could not be looked at", short.display()))?;
    ensure!(
        is_ours(&found),
        "{} belongs to somebody else, or is open to others\nhint: remove it, or choose a --data folder with a \
         shorter path",
        short.display()
    );
    Ok(short)
}

// === impl AdminSocket ===

impl AdminSocket {
    /// The socket of the Envoy in a folder.
    ///
    /// # Errors
    ///
    /// When the path is too long, and there is no place for it elsewhere.
    pub(crate) fn of(folder: &Path) -> anyhow::Result<Self> {
        let folder = std::path::absolute(folder)?;
        let path = folder.join(SOCKET);
        if path.as_os_str().len() <= MAX_PATH {
            return Ok(Self { path });
        }
        Ok(Self { path: short_folder(&folder)?.join(SOCKET) })
    }

    /// Its path, for the bootstrap configuration.
    ///
    /// # Errors
    ///
    /// When it is not UTF-8.
    pub(crate) fn path(&self) -> anyhow::Result<String> {
        Ok(self.path.to_str().context("the path of the data folder is not UTF-8")?.to_owned())
    }

    async fn ask(&self, request: Request) -> anyhow::Result<Response> {
        let stream = UnixStream::connect(&self.path).await?;
        let (mut sender, connection) = http1::handshake::<_, Body>(TokioIo::new(stream)).await?;
        // It ends with the answer, or when nobody reads that any more.
        tokio::spawn(connection);
        let response =
            timeout(PATIENCE, sender.send_request(request)).await.context("it takes too long")??;
        Ok(response.map(Body::new))
    }
}

impl ProxyAdmin for AdminSocket {
    fn send(&self, request: Request, changes: Option<Who>) -> BoxFuture<'_, Result<Response, String>> {
        Box::pin(async move {
            let said = changes.map(|Who(who)| {
                // A query may hold anything.
                (who, request.method().clone(), printable(request.uri().path(), MAX_SHOWN))
            });
            let answer = self.ask(request).await;
            if let Some((who, method, path)) = said {
                let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
                tracing::info!(target: AUDIT_TARGET, who, %method, path, code, "asked of the proxy's admin");
            }
            answer.map_err(|error| {
                tracing::debug!("the admin of the supervised envoy does not answer: {error:#}");
                "the supervised Envoy does not answer: it is starting, or it has ended; the log of the control \
                 server says which"
                    .to_owned()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_socket_is_in_the_folder_or_where_its_path_is_short_enough() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(AdminSocket::of(folder.path()).unwrap().path, folder.path().join(SOCKET));
        let deep = folder.path().join("deep/".repeat(30));
        let short = AdminSocket::of(&deep).unwrap();
        assert!(short.path.as_os_str().len() <= MAX_PATH, "{short:?}");
        assert_eq!(AdminSocket::of(&deep).unwrap().path, short.path);
        let made = short.path.parent().unwrap();
        std::fs::set_permissions(made, std::fs::Permissions::from_mode(0o755)).unwrap();
        let refused = AdminSocket::of(&deep).unwrap_err().to_string();
        assert!(refused.contains("open to others"), "{refused}");
        std::fs::remove_dir(made).unwrap();
    }

    #[tokio::test]
    async fn an_envoy_that_is_not_there_is_an_answer_for_people() {
        let folder = tempfile::tempdir().unwrap();
        let admin = AdminSocket::of(folder.path()).unwrap();
        let why = admin.send(Request::new(Body::empty()), None).await.unwrap_err();
        assert!(why.contains("does not answer"), "{why}");
    }
}
