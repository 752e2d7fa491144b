//! `./x`, in a checkout of its own: the same files, and a `cargo` that finds all built.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use keyward_integration::paths;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Result;
use crate::stack::Stack;

const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a command on a terminal of its own and ends as the command does.
const ON_A_TERMINAL: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A checkout, with what was built or without.
struct Checkout {
    root: TempDir,
}

// === impl Checkout ===

impl Checkout {
    fn new(cargo: &str) -> anyhow::Result<Self> {
        let checkout = Self { root: tempfile::tempdir()? };
        for name in ["x", "justfile"] {
            fs::copy(paths::workspace_root().join(name), checkout.path(name))?;
        }
        for name in ["scripts", ".tools"] {
            symlink(paths::workspace_root().join(name), checkout.path(name))?;
        }
        fs::create_dir(checkout.path("bin"))?;
        fs::write(checkout.path("bin/cargo"), format!("#!/bin/sh\n{cargo}\n"))?;
        fs::set_permissions(checkout.path("bin/cargo"), Permissions::from_mode(0o755))?;
        Ok(checkout)
    }

    fn built() -> anyhow::Result<Self> {
        let checkout = Self::new("exit 0")?;
        symlink(paths::target_dir(), checkout.path("target"))?;
        Ok(checkout)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A command that meets this checkout's `cargo` first and no settings of the one who tests.
    fn command(&self, program: &Path) -> anyhow::Result<Command> {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KEYWARD_") {
                command.env_remove(name);
            }
        }
        let mut path = self.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").context("no PATH")?);
        command.env_remove("CARGO_TARGET_DIR").env_remove("ENVOY").env("PATH", path).kill_on_drop(true);
        Ok(command)
    }

    /// Runs `./x` to its end.
    async fn x(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let output = self.command(&self.path("x"))?.args(arguments).stdin(Stdio::null()).output();
        Ok(timeout(PATIENCE, output).await.with_context(|| format!("{arguments:?} does not end"))??)
    }
}

#[tokio::test]
async fn ctrl_c_on_a_terminal_is_no_error() -> Result {
    let checkout = Checkout::built()?;
    let stack = Stack::new()?;
    // From another folder, with a path that is meant from there.
    let (folder, data) = stack.data()?;
    let mut command = checkout.command(Path::new("python3"))?;
    command.args(["-c", ON_A_TERMINAL]).arg(checkout.path("x")).args(["up", "--data"]).arg(&data);
    stack.set_ports(&mut command);
    let mut child = command
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut keyboard = child.stdin.take().context("no stdin")?;
    let mut screen = child.stdout.take().context("no stdout")?;

    let mut seen = Vec::new();
    let shows = |seen: &[u8], text: &str| String::from_utf8_lossy(seen).contains(text);
    timeout(PATIENCE, async {
        while !shows(&seen, "Ctrl-C stops everything") {
            ensure!(screen.read_buf(&mut seen).await? > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        }
        Ok(())
    })
    .await
    .context("it does not get ready")??;
    assert!(stack.processes().len() >= 3, "{:?}", stack.processes());
    keyboard.write_all(b"\x03").await?;
    let end = timeout(PATIENCE, async {
        while screen.read_buf(&mut seen).await? > 0 {}
        child.wait().await
    });
    let status = end.await.context("it does not stop")??;
    let text = String::from_utf8_lossy(&seen);
    assert!(status.success(), "{status}: {text}");
    assert!(text.contains("everything is stopped") && !text.contains("error:"), "{text}");
    assert_eq!(stack.processes(), [0; 0]);
    assert!(!checkout.path(".keyward").exists() && !checkout.root.path().join(&data).exists());
    Ok(())
}

#[tokio::test]
async fn down_builds_nothing() -> Result {
    let checkout = Checkout::new("echo 'cargo was run' >&2; exit 1")?;
    let down = checkout.x(&["down"]).await?;
    assert!(down.status.success(), "{down:?}");
    assert_eq!(String::from_utf8_lossy(&down.stderr), "x: nothing was built here, so nothing runs\n");
    // The recipe alone is no worse.
    let just = checkout
        .command(&checkout.path(".tools/bin/just"))?
        .arg("down")
        .current_dir(checkout.path(""))
        .output();
    let down = timeout(PATIENCE, just).await??;
    assert!(down.status.success(), "{down:?}");
    assert_eq!(String::from_utf8_lossy(&down.stderr), "nothing was built here, so nothing runs\n");
    Ok(())
}

#[tokio::test]
async fn help_shows_what_x_takes_and_the_recipes() -> Result {
    let help = Checkout::built()?.x(&["--help"]).await?;
    assert!(help.status.success(), "{help:?}");
    let text = String::from_utf8_lossy(&help.stdout);
    assert!(text.starts_with("Usage: ./x "), "{text}");
    for word in ["--envoy PATH", "Available recipes", "up *ARGS", "down *ARGS", "test "] {
        assert!(text.contains(word), "no {word}: {text}");
    }
    Ok(())
}
