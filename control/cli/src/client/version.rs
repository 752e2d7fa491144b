//! Whether a server is of the version of this program: it says so with every answer.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderMap;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// In which header a server says its version, to whoever it knows.
pub(crate) const VERSION_HEADER: &str = "keyward-version";

/// Whether it was said that the versions differ. Clones say it once together.
#[derive(Debug, Clone, Default)]
pub(super) struct Notice {
    is_said: Arc<AtomicBool>,
}

/// What there is to say of a server of this version.
fn warning(server: &str, theirs: &str) -> Option<String> {
    const FRAME: &str = "----------";
    (theirs != VERSION).then(|| {
        format!(
            "{FRAME}\nwarning: this keyward is version {VERSION}, and the server at {server} is version {theirs}; \
             what one of them knows the other may not\nhint: use the keyward of the server's release: `keyward \
             version` shows both\n{FRAME}"
        )
    })
}

// === impl Notice ===

impl Notice {
    /// Compares the version of an answer with ours. What does not say its version is not asked for it: it
    /// would cost a request.
    pub(super) fn compare(&self, server: &str, headers: &HeaderMap) {
        let theirs = headers.get(VERSION_HEADER).and_then(|version| version.to_str().ok());
        let Some(warning) = theirs.and_then(|theirs| warning(server, theirs)) else { return };
        if !self.is_said.swap(true, Ordering::Relaxed) {
            // Beside the data, which stay clean; nobody may be reading.
            let _ = writeln!(std::io::stderr(), "{warning}");
        }
    }
}

#[test]
fn only_another_version_is_worth_a_word() {
    assert_eq!(warning("http://here", VERSION), None);
    let other = warning("http://here", "99.0.0").expect("a warning");
    assert!(other.starts_with("----------\nwarning: ") && other.ends_with("\n----------"), "{other}");
    for part in [VERSION, "99.0.0", "http://here"] {
        assert!(other.contains(part), "{other}");
    }
}
