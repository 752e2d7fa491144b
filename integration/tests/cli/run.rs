//! Running a session: each has a control server and a folder of its own, and an Envoy where a file `envoy`
//! stands beside it. A file `flags` has flags of the server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use keyward_integration::paths;
use keyward_integration::session::{Session, say};
use keyward_integration::stack::{Options, Stack, free_address};

use crate::mask::mask;

/// Runs every step; answers with what each said.
pub(crate) fn run(case: &Path, session: &Session) -> anyhow::Result<Vec<Option<Vec<String>>>> {
    let flags = std::fs::read_to_string(case.join("flags")).unwrap_or_default();
    let flags = flags.split_whitespace().map(str::to_owned).collect();
    let no_envoy = !case.join("envoy").exists();
    let stack = Stack::start(Options { no_envoy, flags, ..Options::default() })?;
    let folder = stack.folder().join("session");
    std::fs::create_dir(&folder)?;
    for entry in std::fs::read_dir(case)? {
        let entry = entry?;
        std::fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    let home = stack.folder().join("home");
    std::fs::create_dir(&home)?;
    // Not a link: the program is where it was built, as it looks for nothing beside itself.
    let program = home.join("keyward");
    std::fs::write(&program, format!("#!/bin/sh\nexec '{}' \"$@\"\n", paths::keyward()?.display()))?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let server = format!("http://{}", stack.rest().address());
    let path = format!("{}:{}", home.display(), std::env::var("PATH").unwrap_or_default());
    // Nobody listens there, and nobody will.
    let nobody = format!("http://{}", free_address()?);
    let mut happened = Vec::new();
    for (index, step) in session.steps.iter().enumerate() {
        let mut command = Command::new("sh");
        command
            .current_dir(&folder)
            .env_clear()
            .env("HOME", &home)
            .env("PATH", &path)
            .env("KEYWARD_SERVER", &server)
            .env("KEYWARD_DATA", stack.data())
            .env("KEYWARD_PROXY_ADMIN", format!("http://{}", stack.admin()))
            .env("NOBODY", &nobody);
        let log = stack.folder().join(format!("step-{index}.log"));
        let (said, code) = say(&mut command, &step.command, &log)?;
        let said = said.replace(&nobody, "<nobody>").replace(&server, "<server>");
        let mut lines = mask(&said.replace(&folder.display().to_string(), "<folder>"));
        if code != 0 {
            lines.push(format!("[exit {code}]"));
        }
        happened.push(Some(lines));
    }
    Ok(happened)
}
