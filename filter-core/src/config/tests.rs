use super::*;

const WHOLE: &str = r#"{
    "version": 7,
    "role": "default~gateway-proxy",
    "controlCluster": "keyward-control",
    "identityHeader": "x-user-id",
    "waitForKeysMs": 5000,
    "policies": {
        "default/partners": {"steps": [{"keyHeader": "api-key", "table": "default/partners"}]},
        "default/legacy": {
            "steps": [
                {"keyHeader": "x-key", "table": "t", "forwardKey": true},
                {"keyHeader": "", "places": [{"header": {"name": "authorization", "prefix": "Bearer"}},
                    {"header": {"name": "y-key"}}, {"query": "key"}, {"cookie": "key"}], "table": "u", "headers": [{"header": "x-team", "entry": "team"}]}
            ],
            "rule": {"any": [{"step": 0}, {"all": [{"not": {"step": 0}}, {"step": 1}]}]}
        }
    }
}"#;

fn with(from: &str, to: &str) -> Result<FilterConfig, InvalidConfig> {
    assert!(WHOLE.contains(from));
    FilterConfig::from_json(WHOLE.replace(from, to).as_bytes())
}

#[test]
fn what_is_written_is_read() {
    let config = FilterConfig::from_json(WHOLE.as_bytes()).expect("a whole configuration");
    assert!(!config.policies["default/partners"].steps[0].forward_key);
    assert!(config.policies["default/legacy"].steps[0].forward_key);
    let written = serde_json::to_vec(&config).expect("a configuration is plain data");
    assert_eq!(FilterConfig::from_json(&written).expect("its own output"), config);
}

#[test]
fn what_is_not_understood_is_refused() {
    assert!(matches!(with("\"version\"", "\"versoin\""), Err(InvalidConfig::Json(_))));
    assert!(matches!(with("\"forwardKey\"", "\"forwardkey\""), Err(InvalidConfig::Json(_))));
    assert!(matches!(with("7", "-7"), Err(InvalidConfig::Json(_))));
    assert!(matches!(FilterConfig::from_json(b""), Err(InvalidConfig::Json(_))));
    assert!(matches!(FilterConfig::from_json(b"\xff"), Err(InvalidConfig::Json(_))));
}

#[test]
fn a_refusal_does_not_repeat_the_content() {
    let refused = with("5000", "\"sesame\"").expect_err("a number is wanted");
    assert_eq!(refused.to_string(), "the plugin configuration is not valid at line 6 column 29");
}

#[test]
fn the_control_cluster_fits_into_what_envoy_is_told() {
    let longest = "c".repeat(MAX_CLUSTER_LEN);
    assert!(with("keyward-control", &longest).is_ok());
    assert!(matches!(with("keyward-control", &format!("{longest}c")), Err(InvalidConfig::ControlCluster)));
    assert!(matches!(with("keyward-control", ""), Err(InvalidConfig::ControlCluster)));
}

#[test]
fn a_route_name_begins_with_its_policy() {
    assert_eq!(auth_id_of_route(b"default/partners|route-0"), Some("default/partners"));
    assert_eq!(auth_id_of_route(b"default/partners|a|b"), Some("default/partners"));
    assert_eq!(auth_id_of_route(b"|route"), Some(""));
    assert_eq!(auth_id_of_route(b"default/partners"), None);
    assert_eq!(auth_id_of_route(b""), None);
    assert_eq!(auth_id_of_route(b"\xff|route"), None);
}
