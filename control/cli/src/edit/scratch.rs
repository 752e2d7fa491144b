//! The file that an editor opens, in a folder of its own: editors write copies beside what they edit.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;

use crate::ended::Ended;
use crate::ends::{End, Ends};
use crate::hex::hex;

#[cfg(test)]
mod tests;

/// Variables that say which editor, first the one that counts most.
const VARIABLES: &[&str] = &["KEYWARD_EDITOR", "VISUAL", "EDITOR"];
/// The editor that is everywhere.
const USUAL: &str = "vi";
/// Nobody else may read it: it may be a Secret.
const MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// Where what is written reaches no disk.
const MEMORY: &str = "/dev/shm";

/// How much of the name of an object is in that of its file: file systems allow 255 bytes in all.
const LONGEST: usize = 100;

/// What becomes of what somebody has written where it cannot be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftover {
    /// It stays, in a file of which is told.
    Kept,
    /// It is removed, and the file was in no place that lasts: nothing of a Secret stays behind.
    Removed,
}

/// A file for an editor. It goes with this.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    path: PathBuf,
    editor: String,
    leftover: Leftover,
    /// Whether somebody has written into it.
    edited: bool,
    /// Whether it stays.
    stays: bool,
}

/// The first of the folders in which a new one can be made for its owner alone.
fn folder_in(places: &[PathBuf]) -> std::io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let mut made = Err(std::io::ErrorKind::NotFound.into());
    for place in places {
        let folder = place.join(format!("keyward-edit-{}", hex(&random)));
        made = DirBuilder::new().mode(FOLDER_MODE).create(&folder).map(|()| folder);
        if made.is_ok() {
            break;
        }
    }
    made
}

/// Where such a file may be, the best first.
fn places(leftover: Leftover, runtime: Option<&OsStr>) -> Vec<PathBuf> {
    let runtime = runtime.map(Path::new).filter(|folder| folder.is_absolute()).map(Path::to_owned);
    let memory = runtime.into_iter().chain([PathBuf::from(MEMORY)]);
    memory.filter(|_| leftover == Leftover::Removed).chain([std::env::temp_dir()]).collect()
}

// === impl Scratch ===

impl Scratch {
    /// A file for an object.
    pub(super) fn new(kind: &str, name: &str, leftover: Leftover) -> anyhow::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR");
        let folder = folder_in(&places(leftover, runtime.as_deref()))
            .context("there is no place for a temporary file: TMPDIR names one")?;
        let name: String = name.chars().take(LONGEST).collect();
        let path = folder.join(format!("{kind}-{name}.yaml"));
        let named = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
        let editor = named.into_iter().find(|editor| !editor.trim().is_empty());
        let editor = editor.unwrap_or_else(|| USUAL.to_owned());
        let scratch = Self { folder, path, editor, leftover, edited: false, stays: false };
        let create = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&scratch.path);
        create.with_context(|| format!("{} cannot be written", scratch.path.display()))?;
        Ok(scratch)
    }

    /// Opens the editor on a text; answers with what it saved. Ctrl-C is for the editor.
    pub(super) async fn edit(&mut self, text: &str, ends: &mut Ends) -> anyhow::Result<String> {
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
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Err(self.failed(&error.to_string())),
        };
        let ended = tokio::select! {
            status = child.wait() => Ok(status),
            end = ends.but_interrupt() => Err(end),
        };
        if ended.is_err()
            && let Some(pid) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let saved = fs::read_to_string(&self.path);
        self.edited |= saved.as_ref().is_ok_and(|saved| saved != text);
        match ended {
            Err(end) => Err(self.ended(end)),
            Ok(Ok(status)) if status.success() => saved.with_context(|| format!("{shown} cannot be read")),
            Ok(Ok(status)) => Err(self.failed(&status.to_string())),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
        }
    }

    fn failed(&mut self, why: &str) -> anyhow::Error {
        let hint = "KEYWARD_EDITOR, VISUAL or EDITOR names another one";
        self.kept(anyhow!("the editor {:?} has failed: {why}\nhint: {hint}", self.editor))
    }

    /// The edit was ended from outside.
    pub(super) fn ended(&mut self, end: End) -> anyhow::Error {
        Ended::with(end.code(), self.kept(anyhow!("ended by {end}")))
    }

    /// The error that ended the edit, and where the text is that somebody has written, if it is anywhere.
    pub(super) fn kept(&mut self, error: anyhow::Error) -> anyhow::Error {
        if !self.edited {
            // Nobody misses it.
            return error;
        }
        if self.leftover == Leftover::Removed {
            let what = "what you have written is removed, as it is a Secret: --keep leaves it in a file";
            return anyhow!("{error:#}\nhint: {what}");
        }
        self.stays = true;
        anyhow!("{error:#}\nhint: what you have written is in {}", self.path.display())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.stays {
            // What is gone already is as good.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
