//! `/version`: which Kubernetes this API is like.

use serde_json::{Value, json};

/// The Kubernetes release whose API this one follows. Clients compare their own with it.
const MAJOR: &str = "1";
/// See [`MAJOR`].
const MINOR: &str = "33";

/// The answer.
pub(super) fn value() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        // Behind the plus stands what answers really: build metadata, which comparisons leave out.
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+keyward-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, platform()),
    })
}

/// The processor, by the name that Go has for it.
fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
