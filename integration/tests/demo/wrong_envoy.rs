//! Envoys that do not run: `up` says so at once and shows why.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use crate::Result;
use crate::stack::{Finished, Stack};

/// Far less than `up` waits for a gateway that is slow.
const AT_ONCE: Duration = Duration::from_secs(20);

async fn up(stack: &Stack, arguments: &[&str]) -> anyhow::Result<Finished> {
    let begin = Instant::now();
    let up = stack.demo(arguments).await?;
    assert!(begin.elapsed() < AT_ONCE, "{:?}: {up:?}", begin.elapsed());
    assert!(!up.status.success(), "{up:?}");
    assert!(up.stderr.contains("the control server ended by itself"), "{up:?}");
    assert_eq!(stack.processes(), [0; 0]);
    Ok(up)
}

#[tokio::test]
async fn one_that_is_not_there_is_named() -> Result {
    let up = up(&Stack::new()?, &["up", "--detach", "--envoy", "/nonexistent/envoy"]).await?;
    assert!(up.stderr.contains("there is no Envoy at /nonexistent/envoy"), "{up:?}");
    Ok(())
}

#[tokio::test]
async fn one_that_is_no_program_is_named() -> Result {
    let up = up(&Stack::new()?, &["up", "--detach", "--envoy", "/etc/passwd"]).await?;
    assert!(up.stderr.contains("/etc/passwd could not be started"), "{up:?}");
    Ok(())
}

#[tokio::test]
async fn what_one_says_that_ends_is_shown() -> Result {
    let folder = tempfile::tempdir()?;
    let envoy = folder.path().join("envoy");
    fs::write(&envoy, "#!/bin/sh\necho 'cannot run on this machine' >&2\nexit 3\n")?;
    fs::set_permissions(&envoy, Permissions::from_mode(0o755))?;
    let envoy = envoy.display().to_string();
    for arguments in [&["up", "--envoy", &envoy][..], &["up", "--detach", "--envoy", &envoy]] {
        let up = up(&Stack::new()?, arguments).await?;
        assert!(up.stderr.contains("  envoy    | cannot run on this machine"), "{up:?}");
    }
    Ok(())
}
