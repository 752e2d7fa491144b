use serde_json::json;

use super::*;

fn message(body: &[u8], format: Format) -> String {
    parse_body(body, format).expect_err("the body is malformed").to_string()
}

#[test]
fn json_mistakes_have_a_place() {
    assert_eq!(
        message(b"{\n  \"a\": 1,\n  \"a\": 2\n}", Format::Json),
        "malformed JSON: a key stands twice in one object at line 3 column 5"
    );
    assert_eq!(message(b"{\"a\": 1,}", Format::Json), "malformed JSON: trailing comma at line 1 column 9");
    assert_eq!(message(b"{} {}", Format::Json), "malformed JSON: trailing characters at line 1 column 4");
    assert_eq!(message(b"", Format::Json), "malformed JSON: the body is empty");
    assert_eq!(message(b" \n", Format::Yaml), "malformed YAML: the body is empty");
    assert_eq!(message(b"a: \xff", Format::Yaml), "malformed YAML: byte 3 is not part of UTF-8 text");
}

#[test]
fn nesting_is_bounded() {
    for (open, close, format) in [("[", "]", Format::Json), ("[", "]", Format::Yaml)] {
        let deep = |depth: usize| open.repeat(depth) + &close.repeat(depth);
        assert!(parse_body(deep(MAX_DEPTH).as_bytes(), format).is_ok(), "{format}");
        let error = message(deep(MAX_DEPTH + 1).as_bytes(), format);
        assert!(error.contains("deep") && error.contains("line 1 column 6"), "{error}");
        message(deep(100_000).as_bytes(), format);
    }
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let item = format!("*a{}", level - 1);
        yaml.push_str(&format!("a{level}: &a{level} [{}]\n", vec![item; 10].join(", ")));
    }
    message(yaml.as_bytes(), Format::Yaml);
}

#[test]
fn yaml_means_what_it_says() {
    let yaml = b"---\non: yes\noctal: 010\nhex: 0x10\nnothing:\ntext: \"5\"\nfloat: 1.5\n1: true\n# end\n";
    let value = parse_body(yaml, Format::Yaml).expect("the body is right");
    assert_eq!(value["on"], json!("yes"), "YAML 1.1 booleans are strings");
    assert_eq!(value["nothing"], json!(null));
    assert_eq!(value["text"], json!("5"));
    assert_eq!(value["float"], json!(1.5));
    assert_eq!(value["hex"], json!(16));
    assert_eq!(value["1"], json!(true));
}

#[test]
fn words_that_look_like_something_else_are_not_repeated() {
    for value in
        ["!5ecret", "*5ecret", "5e99999", "99999999999999999999999999999999999999", "{5ecret: a, 5ecret: b}"]
    {
        let yaml = format!("stringData:\n  api-key: {value}\n");
        if let Err(error) = parse_body(yaml.as_bytes(), Format::Yaml) {
            let text = error.to_string();
            assert!(!text.contains("5e") && !text.contains("999"), "{text}");
            assert!(text.contains("line 2"), "{text}");
        }
    }
}

#[test]
fn content_types() {
    let json = |content_type| Format::from_content_type(content_type, b" {}");
    assert_eq!(json(Some("application/json")), Some(Format::Json));
    assert_eq!(json(Some("Application/JSON; charset=utf-8")), Some(Format::Json));
    assert_eq!(json(Some("application/yaml")), Some(Format::Yaml));
    assert_eq!(json(Some("text/x-yaml")), Some(Format::Yaml));
    assert_eq!(json(Some("application/x-www-form-urlencoded")), None);
    assert_eq!(json(Some("")), None);
    assert_eq!(json(None), Some(Format::Json));
    assert_eq!(Format::from_content_type(None, b"kind: Secret"), Some(Format::Yaml));
}

#[test]
fn a_file_may_hold_several_documents() {
    let yaml = b"# nothing\n---\na: 1\n---\n---\nb: 2\n...\n";
    assert_eq!(parse_documents(yaml, Format::Yaml), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
    let values = b"{\"a\": 1}\n{\"b\": 2} null\n";
    assert_eq!(parse_documents(values, Format::Json), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
    for format in [Format::Json, Format::Yaml] {
        assert_eq!(parse_documents(b" \n", format), Ok(vec![]), "{format}");
    }
}

#[test]
fn a_mistake_in_a_file_has_a_place() {
    let place = |text: &[u8], format| {
        let malformed = parse_documents(text, format).expect_err("it is malformed");
        let place = malformed.place.expect("a place");
        (place.line, place.column)
    };
    assert_eq!(place(b"a: 1\n---\nb: 1\nb: 2\n", Format::Yaml), (4, 1));
    assert_eq!(place(b"a: 1\n---\nb: [1\n", Format::Yaml).0, 3);
    assert_eq!(place(b"{}\n{\"a\": ]}", Format::Json), (2, 7));
    assert_eq!(place(b"a: 1\nb: \xff", Format::Yaml), (2, 4));
}
