use super::*;

#[test]
fn what_changes_nothing_is_known_and_everything_else_is_a_change() {
    for (method, path, expected) in [
        (Method::GET, "/config_dump", true),
        (Method::HEAD, "/anything", true),
        (Method::POST, "/config_dump", true),
        (Method::POST, "/stats", true),
        (Method::POST, "/logging", false),
        (Method::POST, "/quitquitquit", false),
        (Method::POST, "/runtime_modify", false),
        (Method::POST, "/healthcheck/fail", false),
        (Method::POST, "/unheard_of", false),
        (Method::PUT, "/config_dump", false),
        (Method::DELETE, "/stats", false),
    ] {
        assert_eq!(reads(&method, path), expected, "{method} {path}");
    }
}

#[test]
fn a_path_is_read_by_envoy_as_it_stands_here() {
    for path in ["/", "/logging", "/stats/prometheus", "/healthcheck/fail", "/unheard_of"] {
        assert!(is_plain(path), "{path}");
    }
    for path in
        ["", "*", "//logging", "/x/../logging", "/./logging", "/logging/", "/%6cogging", "/a;b", "/a\\b"]
    {
        assert!(!is_plain(path), "{path}");
    }
}
