//! The file that an editor opens.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use tokio::process::Command;

use crate::hex::hex;

#[cfg(test)]
mod tests;

/// Variables that say which editor, first the one that counts most.
const VARIABLES: &[&str] = &["KEYWARD_EDITOR", "VISUAL", "EDITOR"];
/// The editor that is everywhere.
const USUAL: &str = "vi";
/// Nobody else may read it: it may be a Secret.
const MODE: u32 = 0o600;

/// How much of the name of an object is in that of its file: file systems allow 255 bytes in all.
const LONGEST: usize = 100;

/// A file for an editor. It stays until it is removed.
pub(super) struct Scratch {
    path: PathBuf,
    editor: String,
    /// Whether somebody has written into it.
    edited: bool,
}

// === impl Scratch ===

impl Scratch {
    /// A file for an object, in the folder for temporary files.
    pub(super) fn new(kind: &str, name: &str) -> anyhow::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).context("the machine has no random numbers")?;
        let name: String = name.chars().take(LONGEST).collect();
        let path = std::env::temp_dir().join(format!("keyward-edit-{kind}-{name}-{}.yaml", hex(&random)));
        let named = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
        let editor = named.into_iter().find(|editor| !editor.trim().is_empty());
        let create = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path);
        create.with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { path, editor: editor.unwrap_or_else(|| USUAL.to_owned()), edited: false })
    }

    /// Opens the editor on a text; answers with what it saved.
    pub(super) async fn edit(&mut self, text: &str) -> anyhow::Result<String> {
        let shown = self.path.display().to_string();
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().write(true).truncate(true).open(&self.path)?;
            file.set_permissions(fs::Permissions::from_mode(MODE))?;
            file.write_all(text.as_bytes())
        };
        write().with_context(|| format!("{shown} cannot be written"))?;
        // Editors come with flags, and with quotes around them.
        let script = format!("{} \"$1\"", self.editor);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(&self.path);
        let ended = command.status().await;
        let saved = fs::read_to_string(&self.path);
        self.edited |= saved.as_ref().is_ok_and(|saved| saved != text);
        let failed = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = failed {
            let hint = "KEYWARD_EDITOR, VISUAL or EDITOR names another one";
            return Err(self.kept(anyhow!("the editor {:?} has failed: {why}\nhint: {hint}", self.editor)));
        }
        saved.with_context(|| format!("{shown} cannot be read"))
    }

    /// The error that ended the edit, and where the text is that somebody has written.
    pub(super) fn kept(&self, error: anyhow::Error) -> anyhow::Error {
        if !self.edited {
            // Nobody misses it.
            let _ = fs::remove_file(&self.path);
            return error;
        }
        anyhow!("{error:#}\nhint: what you have written is in {}", self.path.display())
    }

    /// Removes the file.
    pub(super) fn remove(self) {
        // What is gone already is as good.
        let _ = fs::remove_file(&self.path);
    }
}
