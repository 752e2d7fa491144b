use super::*;

#[test]
fn every_flag_is_a_field_of_the_matcher() {
    let all = |texts: &[&str]| texts.iter().map(|text| condition(text).expect("a condition")).collect();
    let args = MatcherArgs {
        path_prefix: Some("/api".to_owned()),
        method: vec!["get".to_owned(), "POST".to_owned()],
        header: all(&["x-b=1|2", "x-a"]),
        query_parameter: all(&["page=[0-9]+", "q=a=b"]),
        ..MatcherArgs::default()
    };
    let matcher = json!({
        "prefix": "/api",
        "methods": ["GET", "POST"],
        "headers": [{ "name": "x-a" }, { "name": "x-b", "value": "1|2", "regex": true }],
        "queryParameters": [
            { "name": "page", "value": "[0-9]+", "regex": true },
            { "name": "q", "value": "a=b", "regex": true },
        ],
    });
    assert_eq!(args.matcher(), matcher);
}

#[test]
fn a_condition_has_a_name() {
    assert!(condition("=x").is_err() && condition(" ").is_err());
}
