//! Running a session: each has a control server and a folder of its own.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use keyward_integration::paths;
use keyward_integration::session::{Session, say};
use keyward_integration::stack::{Options, Stack};

use crate::mask::mask;

/// The `kubectl` that is driven.
pub(crate) struct Kubectl {
    path: PathBuf,
    /// Its minor version.
    pub(crate) minor: u32,
}

/// Runs every step that this `kubectl` can do; answers with what each said.
pub(crate) fn run(
    kubectl: &Kubectl,
    case: &Path,
    session: &Session,
) -> anyhow::Result<Vec<Option<Vec<String>>>> {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() })?;
    let folder = stack.folder().join("session");
    std::fs::create_dir(&folder)?;
    for entry in std::fs::read_dir(case)? {
        let entry = entry?;
        std::fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    let server = format!("http://{}", stack.rest().address());
    let home = stack.folder().join("home");
    kubectl.prepare(&home, &server)?;
    let mut happened = Vec::new();
    for (index, step) in session.steps.iter().enumerate() {
        if step.since > kubectl.minor {
            happened.push(None);
            continue;
        }
        let log = stack.folder().join(format!("step-{index}.log"));
        let path = format!("{}:{}", home.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command
            .current_dir(&folder)
            .env("HOME", &home)
            .env("KUBECONFIG", home.join("config"))
            .env("PATH", path)
            .env_remove("KUBECTL");
        let (said, code) = say(&mut command, &step.command, &log)?;
        let mut lines = mask(&said, &server, &folder);
        if code != 0 {
            lines.push(format!("[exit {code}]"));
        }
        happened.push(Some(lines));
    }
    Ok(happened)
}

// === impl Kubectl ===

impl Kubectl {
    /// Finds it.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let path = paths::kubectl()?;
        let output = Command::new(&path).args(["version", "--client", "-o", "json"]).output()?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} does not say its version", path.display()))?;
        let minor = answer
            .pointer("/clientVersion/minor")
            .and_then(|minor| minor.as_str())
            .context("no minor version")?;
        Ok(Self { path, minor: minor.trim_end_matches('+').parse()? })
    }

    /// Makes a folder with the program and its configuration in it.
    fn prepare(&self, home: &Path, server: &str) -> anyhow::Result<()> {
        std::fs::create_dir(home)?;
        let program = home.join("kubectl");
        // Not a link: some look beside themselves for other versions of themselves.
        std::fs::write(&program, format!("#!/bin/sh\nexec '{}' \"$@\"\n", self.path.display()))?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: test, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: test, user: {{}}}}]\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n"
        );
        Ok(std::fs::write(home.join("config"), config)?)
    }
}
