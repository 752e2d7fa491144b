use serde_json::json;

use super::*;

#[test]
fn the_more_exact_route_decides_first() {
    let route = |name: &str, matchers: Value| json!({ "name": name, "matchers": matchers });
    let mut routes = [
        json!({ "name": "everything" }),
        route("a prefix", json!([{ "prefix": "/a" }])),
        route("a method", json!([{ "prefix": "/a", "methods": ["GET"] }])),
        route("a longer prefix", json!([{ "prefix": "/a/b" }])),
        route("another prefix", json!([{ "prefix": "/b" }])),
        route("a regex", json!([{ "regex": "/a.*" }])),
        route("one of two", json!([{ "prefix": "/" }, { "exact": "/a/b/c" }])),
        route("exact", json!([{ "exact": "/a" }])),
    ];
    routes.sort_by_key(of_route);
    let names: Vec<_> = routes.iter().filter_map(|route| route["name"].as_str()).collect();
    let expected = [
        "one of two",
        "exact",
        "a regex",
        "a longer prefix",
        "a method",
        "a prefix",
        "another prefix",
        "everything",
    ];
    assert_eq!(names, expected);
}
