//! Writing to the person: results on stdout, everything else on stderr.
//!
//! A closed pipe or a vanished terminal must not stop the clean-up, so write errors are ignored.

use std::io::Write as _;

/// Progress and problems.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "keyward: {text}");
}

/// One line of a log, as it is.
pub(super) fn show(source: &str, line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{source:<8} | {line}");
}

/// What the command was run for.
pub(super) fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// How the person calls a command of the demonstration: `./x` sets the variable.
pub(super) fn spelled(command: &str) -> String {
    match std::env::var("KEYWARD_CALLED_AS") {
        Ok(name) => format!("{name} {command}"),
        Err(_) => format!("keyward demo {command}"),
    }
}
