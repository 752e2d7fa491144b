//! Tests of reading the header.

use axum::http::HeaderValue;

use super::*;

fn accept(text: &'static str) -> Accept {
    Accept::of(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(text))]))
}

fn order(accept: &Accept) -> Vec<&str> {
    accept.0.iter().map(|range| range.media.as_str()).collect()
}

#[test]
fn what_is_liked_best_comes_first() {
    assert_eq!(order(&accept("a/a;q=0.5, b/b, c/c;q=0.9, d/d")), ["b/b", "d/d", "c/c", "a/a"]);
    assert_eq!(order(&accept("a/a;q=0, b/b;q=zero, ,c/c")), ["c/c"]);
    assert_eq!(order(&Accept::of(&HeaderMap::new())), ["*/*"]);
}

#[test]
fn parameters_are_read_however_they_are_written() {
    let accept = accept("application/json; AS=Table;v=\"v1\" ; g=meta.k8s.io");
    let found = accept.first(|range| {
        Some([
            range.parameter("as")?.to_owned(),
            range.parameter("v")?.to_owned(),
            range.parameter("g")?.to_owned(),
        ])
    });
    assert_eq!(found, Some(["Table", "v1", "meta.k8s.io"].map(str::to_owned)));
}

#[test]
fn wildcards_take_what_they_stand_for() {
    for (header, taken) in [
        ("*/*", true),
        ("application/*", true),
        ("Application/JSON", true),
        ("text/*", false),
        ("application/yaml", false),
    ] {
        let accept = accept(header);
        assert_eq!(
            accept.first(|range| range.takes("application/json").then_some(())).is_some(),
            taken,
            "{header}"
        );
    }
}
