//! Sessions as text: commands, and what they say.
//!
//! ```text
//! # since 1.27
//!
//! # What it is about.
//! $ kubectl get upstreams
//! NAME  TYPE  HOSTS
//! petstore  Static  [..]
//! [exit 1]
//! ```
//!
//! `$` begins a command and `>` goes on with it. What follows is expected, output and errors together,
//! masked by whoever runs it; `[..]` stands for anything in a line and a line `...` for any number of
//! lines. A last line `[exit N]` is the exit status, 0 without it. `#` begins a comment. `# since 1.N`
//! says that an older `kubectl` cannot do the next step, or all of it where it is the first line.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};

use crate::stack::{Process, wait};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session.
#[derive(Debug)]
pub struct Session {
    /// The minor version of the oldest `kubectl` that can do this.
    pub since: u32,
    /// What is run, in order.
    pub steps: Vec<Step>,
}

/// A command and what it says.
#[derive(Debug)]
pub struct Step {
    /// Comments and blank lines before it.
    prologue: Vec<String>,
    /// The minor version of the oldest `kubectl` that can do this.
    pub since: u32,
    /// The command, as one text for a shell.
    pub command: String,
    expected: Vec<String>,
}

/// The oldest `kubectl` that anything is tested with.
const OLDEST: u32 = 20;

/// Runs a command, as text for a shell, where and with what `shell` says; answers with what it said, output
/// and errors together, and its exit status.
///
/// # Errors
///
/// When it does not end in time, or not by itself.
pub fn say(shell: &mut Command, command: &str, log: &Path) -> anyhow::Result<(String, i32)> {
    shell.args(["-c", command]).env("LC_ALL", "C").env("NO_COLOR", "1");
    let mut process = Process::start(shell, log)?;
    let ended = wait::until(PATIENCE, "a command to end", || {
        process.ended()?.ok_or_else(|| anyhow!("it runs: {}", process.output()))
    });
    let status = ended.with_context(|| format!("$ {command}"))?;
    Ok((process.output(), status.code().context("killed by a signal")?))
}

/// Whether lines are the expected ones.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        Some((first, rest)) => actual
            .split_first()
            .is_some_and(|(line, others)| matches_line(first, line) && matches(rest, others)),
    }
}

fn matches_line(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once("[..]") else { return pattern == line };
    let Some(line) = line.strip_prefix(start) else { return false };
    (0..=line.len()).filter(|end| line.is_char_boundary(*end)).any(|end| matches_line(rest, &line[end..]))
}

// === impl Session ===

impl Session {
    /// Reads a session.
    ///
    /// # Errors
    ///
    /// When it is none; the message has the line.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut session = Self { since: OLDEST, steps: Vec::new() };
        let mut prologue = Vec::new();
        let mut since = OLDEST;
        for (number, line) in text.lines().enumerate() {
            if let Some(minor) = line.strip_prefix("# since 1.") {
                let minor = minor.parse().context("`# since` needs a version such as 1.27")?;
                *(if number == 0 { &mut session.since } else { &mut since }) = minor;
            }
            if let Some(command) = line.strip_prefix("$ ") {
                let prologue = std::mem::take(&mut prologue);
                let since = std::mem::replace(&mut since, OLDEST);
                let command = command.to_owned();
                session.steps.push(Step { prologue, since, command, expected: Vec::new() });
            } else if line.starts_with('#') {
                prologue.push(line.to_owned());
            } else if !prologue.is_empty() || session.steps.is_empty() {
                if !line.is_empty() {
                    bail!("neither a command nor a comment: {line}");
                }
                prologue.push(String::new());
            } else if let Some(step) = session.steps.last_mut() {
                match line.strip_prefix("> ") {
                    Some(more) if step.expected.is_empty() => {
                        step.command.push('\n');
                        step.command.push_str(more);
                    }
                    _ => step.expected.push(line.to_owned()),
                }
            }
        }
        for step in &mut session.steps {
            while step.expected.last().is_some_and(String::is_empty) {
                step.expected.pop();
            }
        }
        if session.steps.is_empty() {
            bail!("no command");
        }
        Ok(session)
    }

    /// What did not happen as expected. What was left out, because it could not be done, is no failure.
    ///
    /// # Panics
    ///
    /// When it is not told of every step.
    pub fn failures(&self, happened: &[Option<Vec<String>>]) -> impl Iterator<Item = String> {
        assert_eq!(self.steps.len(), happened.len(), "every step was run");
        let ran = self.steps.iter().zip(happened).filter_map(|(step, actual)| Some((step, actual.as_ref()?)));
        ran.filter(|(step, actual)| !matches(&step.expected, actual)).map(|(step, actual)| {
            format!(
                "$ {}\n--- expected\n{}\n--- actual\n{}",
                step.command,
                step.expected.join("\n"),
                actual.join("\n")
            )
        })
    }

    /// The session with what happened as what is expected. What was as expected stays as it is written.
    #[must_use]
    pub fn updated(&self, happened: &[Option<Vec<String>>]) -> String {
        let mut text = String::new();
        for (step, actual) in self.steps.iter().zip(happened) {
            for line in &step.prologue {
                let _ = writeln!(text, "{line}");
            }
            let _ = writeln!(text, "$ {}", step.command.replace('\n', "\n> "));
            let actual = actual.as_ref().filter(|actual| !matches(&step.expected, actual));
            let lines = actual.unwrap_or(&step.expected);
            for line in lines {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

#[test]
fn wildcards_stand_for_anything() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (expected, actual, same) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\n...", "a\nb\nc", true),
        ("...\nc", "a\nb\nc", true),
        ("...\nd", "a\nb\nc", false),
        ("x[..]z", "xyyz", true),
        ("x[..]z", "xz", true),
        ("x[..]z[..]", "xyyzé", true),
        ("x[..]z", "xyy", false),
        ("", "", true),
    ] {
        assert_eq!(matches(&lines(expected), &lines(actual)), same, "{expected:?} {actual:?}");
    }
}

#[test]
fn a_session_is_written_as_it_is_read() {
    let text = "# since 1.27\n\n# One.\n$ a\n> b\nout\n\nput\n[exit 2]\n# since 1.30\n$ c\nleft\n";
    let session = Session::parse(text).expect("a session");
    assert_eq!((session.since, session.steps[0].command.as_str()), (27, "a\nb"));
    assert_eq!((session.steps[0].since, session.steps[1].since), (OLDEST, 30));
    let lines = |lines: &[&str]| Some(lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    let happened = [lines(&["out", "", "put", "[exit 2]"]), None];
    assert_eq!(session.failures(&happened).count(), 0);
    assert_eq!(session.updated(&happened), text);
    let other = [lines(&["else"]), None];
    assert_eq!(session.failures(&other).count(), 1);
    assert_eq!(session.updated(&other), "# since 1.27\n\n# One.\n$ a\n> b\nelse\n# since 1.30\n$ c\nleft\n");
}
