//! Envoy's loggers, and which of them write what requests hold.

use std::fmt::Write as _;

/// The loggers that write nothing of a request at any level: connections, configuration, names and counts. Read
/// in the source of Envoy 1.40, and tried with keys in all places of requests. Whatever is not listed may write
/// whole requests, API keys included, at `debug` and `trace`.
const PLAIN: [&str; 28] = [
    "admin",
    "assert",
    "backtrace",
    "compression",
    "config",
    "connection",
    "conn_handler",
    "decompression",
    "dns",
    "envoy_bug",
    "file",
    "happy_eyeballs",
    "health_checker",
    "init",
    "io",
    "key_value_store",
    "main",
    "multi_connection",
    "notification",
    "pool",
    "rds",
    "runtime",
    "secret",
    "stats",
    "stats_sinks",
    "testing",
    "udp",
    "upstream",
];

/// For `--component-log-level`: keeps those that write requests, and that our configurations use, at a level at
/// which they do not.
pub const QUIET: &str = "http:info,http2:info,router:info,client:info,filter:info,wasm:info,misc:info,rbac:info,\
                         grpc:info,matcher:info,tracing:info,quic:info,hc:info,json_rpc:info";

/// A logger and its level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Logger {
    pub(super) name: String,
    pub(super) level: String,
}

/// Whether a logger writes requests at a level.
#[must_use]
pub fn writes_requests(logger: &str, level: &str) -> bool {
    matches!(level, "debug" | "trace") && !PLAIN.contains(&logger)
}

/// Reads the list that Envoy gives.
pub(super) fn read(list: &str) -> Vec<Logger> {
    let logger = |line: &str| {
        let (name, level) = line.strip_prefix("  ")?.split_once(": ")?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_name && !name.is_empty())
            .then(|| Logger { name: name.to_owned(), level: level.trim().to_owned() })
    };
    list.lines().filter_map(logger).collect()
}

/// All loggers at a level, those that would write requests at `info`: the value of `paths`, and who stays
/// behind.
pub(super) fn all_at(level: &str, loggers: &[Logger]) -> (String, Vec<String>) {
    let mut paths = String::new();
    let mut behind = Vec::new();
    for Logger { name, .. } in loggers {
        let is_behind = writes_requests(name, level);
        let comma = if paths.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(paths, "{comma}{name}:{}", if is_behind { "info" } else { level });
        if is_behind {
            behind.push(name.clone());
        }
    }
    (paths, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_what_is_none_is_not() {
        let list =
            "active loggers:\n  admin: warning\n  conn_handler: off\n\nusage: /logging?level=<level>\n";
        let read = read(list);
        assert_eq!(read.len(), 2);
        assert_eq!((read[1].name.as_str(), read[1].level.as_str()), ("conn_handler", "off"));
    }

    #[test]
    fn who_writes_requests_stays_behind_at_the_levels_where_that_happens() {
        let loggers: Vec<Logger> = ["http", "upstream", "unheard_of"]
            .map(|name| Logger { name: name.to_owned(), level: "warning".to_owned() })
            .to_vec();
        let (paths, behind) = all_at("debug", &loggers);
        assert_eq!(paths, "http:info,upstream:debug,unheard_of:info");
        assert_eq!(behind, ["http", "unheard_of"]);
        assert_eq!(
            all_at("error", &loggers),
            ("http:error,upstream:error,unheard_of:error".to_owned(), vec![])
        );
    }

    #[test]
    fn what_is_quiet_at_the_start_is_none_of_the_plain_ones() {
        for pair in QUIET.split(',') {
            let (name, level) = pair.split_once(':').unwrap();
            assert!(level == "info" && writes_requests(name, "debug"), "{pair}");
        }
        assert!(!writes_requests("http", "info") && !writes_requests("upstream", "trace"));
    }
}
