//! How statistics become metrics with labels.

use keyward_filter_core::decisions::{PREFIX, SEPARATOR};
use serde_json::{Value, json};

/// Envoy puts this before the names of metrics that a filter defines, and takes it off for Prometheus.
const NAMESPACE: &str = "wasmcustom.";

/// The labels of what was decided, `keyward_decisions{auth_config="team/keys",reason="allowed"}`, and of what
/// Envoy counts for each listener: by itself it ends the name of one at the first full stop of its address. Of
/// each expression Envoy takes the first group out of the name, and the second one is the value.
pub(crate) fn stats_config() -> Value {
    let quoted = |text: &str| text.replace('.', "\\.").replace('|', "\\|");
    let all = quoted(&format!("{NAMESPACE}{}", PREFIX.trim_end_matches('.')));
    let separator = quoted(&SEPARATOR.to_string());
    // The reason is the last part: names of policies that people write may have anything in them.
    json!({
        "stats_tags": [
            { "tag_name": "listener", "regex": r"^http\.((listener-.+?-[0-9]+)\.)" },
            { "tag_name": "auth_config", "regex": format!("^{all}(\\.(.+)){separator}[a-z_]+$") },
            { "tag_name": "reason", "regex": format!("^{all}\\..+({separator}([a-z_]+))$") },
        ],
    })
}
