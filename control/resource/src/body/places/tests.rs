use super::*;

fn at(text: &str, format: Format, document: usize, path: &str) -> (usize, usize) {
    let place = Places::of(text, format).find(document, path);
    (place.line, place.column)
}

const YAML: &str = "# a comment
kind: A
metadata:
  labels: {a.b/c: x, d: y}
---
---
kind: B
spec:
  routes:
  - matchers:
      - prefix: /
      -   &here
        exact: /a
  - *here
";

#[test]
fn fields_of_yaml_stand_at_their_keys() {
    let at = |document, path| at(YAML, Format::Yaml, document, path);
    assert_eq!(at(0, ""), (2, 1));
    assert_eq!(at(0, "metadata.labels[a.b/c]"), (4, 12));
    assert_eq!(at(0, "metadata.labels[d]"), (4, 22));
    assert_eq!(at(1, "kind"), (7, 1), "an empty document does not count");
    assert_eq!(at(1, "spec.routes[0].matchers[0].prefix"), (11, 9));
    assert_eq!(at(1, "spec.routes[0].matchers[1].exact"), (13, 9));
}

#[test]
fn a_field_that_is_not_there_stands_where_the_one_around_it_does() {
    let at = |document, path| at(YAML, Format::Yaml, document, path);
    assert_eq!(at(1, "spec.routes[1].matchers[7].prefix"), (14, 5), "an alias is where it is used");
    assert_eq!(at(1, "spec.nothing.at[3].all"), (8, 1));
    assert_eq!(at(0, "spec"), (2, 1));
    assert_eq!(at(9, "spec"), (1, 1));
}

#[test]
fn json_may_be_indented_with_tabs() {
    let text = "{\n\t\"kind\": \"A\",\n\t\"spec\": {\n\t\t\"list\": [1, {\"a\": 2}]\n\t}\n}\n";
    assert_eq!(at(text, Format::Json, 0, "spec.list[1].a"), (4, 16));
    assert_eq!(at(text, Format::Json, 0, "kind"), (2, 2));
}

#[test]
fn paths_are_taken_apart() {
    assert_eq!(words("spec.a[1].b"), ["spec", "a", "1", "b"]);
    assert_eq!(words("data[tls.crt]"), ["data", "tls.crt"]);
    assert_eq!(words(""), Vec::<&str>::new());
    assert_eq!(words("a."), ["a", ""]);
    assert_eq!(words("a[b"), ["a", "b"]);
}
