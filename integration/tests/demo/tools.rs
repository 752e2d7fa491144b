//! How `./x` finds the programs that tests drive: the one that is named, else the one on PATH.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use keyward_integration::paths;
use tokio::process::Command;

use crate::Result;

/// A program that says this of itself.
fn program(path: &Path, says: &str) -> Result {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::fs::write(path, format!("#!/bin/sh\necho '{says}'\n"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Runs functions of the scripts, with a folder of tools of their own.
async fn run(tools: &Path, functions: &str) -> anyhow::Result<Output> {
    let scripts =
        ["common", "debian", "kubectl", "promtool"].map(|name| format!(". scripts/tools/{name}.sh"));
    let script = format!("set -eu\n{}\n{functions}", scripts.join("\n"));
    let path = format!("{}:{}", tools.join("path").display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(paths::workspace_root()).env("tools", tools).env("PATH", path);
    Ok(shell.env_remove("KUBECTL").env_remove("PROMTOOL").output().await?)
}

#[tokio::test]
async fn a_program_that_tests_drive_is_the_named_one_or_the_one_on_path() -> Result {
    for (name, variable, old, new) in [
        ("kubectl", "KUBECTL", "Client Version: v1.19.3", "Client Version: v1.30.2"),
        ("promtool", "PROMTOOL", "promtool, version 2.41.0 (x", "promtool, version 3.1.0 (x"),
    ] {
        let folder = tempfile::tempdir()?;
        let tools = folder.path();
        std::fs::create_dir(tools.join("bin"))?;
        program(&tools.join("old"), old)?;
        program(&tools.join("new"), new)?;
        program(&tools.join("path").join(name), new)?;
        let (old, new) = (tools.join("old"), tools.join("new"));
        // Nothing is there yet.
        assert_eq!(run(tools, &format!("{name}_ready")).await?.status.code(), Some(1));
        // One that is too old is refused, whoever named it.
        let named = |path: &Path| format!("{variable}={}; {name}_get; {name}_ready", path.display());
        let refused = run(tools, &named(&old)).await?;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success(), "{refused:?}");
        assert!(said.contains(&format!("old is no {name} ")) && said.contains(variable), "{said}");
        let stamp = || std::fs::read_to_string(tools.join(format!("{name}.stamp"))).unwrap_or_default();
        assert_eq!(stamp(), "");
        let taken = run(tools, &named(&new)).await?;
        assert!(taken.status.success(), "{taken:?}");
        assert_eq!(stamp(), format!("chosen {}\n", new.display()));
        // It is the named one alone that is ready then.
        let other = run(tools, &format!("{variable}=/elsewhere; {name}_ready")).await?;
        assert_eq!(other.status.code(), Some(1));
        let found = run(tools, &format!("{name}_get; {name}_ready; \"$tools/bin/{name}\"")).await?;
        assert!(found.status.success() && !found.stdout.is_empty(), "{found:?}");
        assert_eq!(stamp(), format!("path {}\n", tools.join("path").join(name).display()));
    }
    Ok(())
}
