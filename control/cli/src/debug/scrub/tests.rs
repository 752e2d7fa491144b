use super::*;

#[test]
fn json_loses_values_of_added_headers_and_other_text_nothing() {
    let header = r#"{"request_headers_to_add":[{"header":{"key":"x-name","value":"s3cret"}}]}"#;
    let shown = json(header.to_owned());
    assert!(shown.contains("x-name") && !shown.contains("s3cret"), "{shown}");
    for same in ["{\"a\":  1}", "text", ""] {
        assert_eq!(json(same.to_owned()), same);
    }
}

#[test]
fn keys_tokens_and_private_keys_are_taken_out_wherever_they_stand() {
    for (said, shown) in [
        ("key kw_0123456789012345678901_abcdef!", "key [redacted]!"),
        ("\"kwt_01234567890123456789\",kw_no", "\"[redacted]\",kw_no"),
        ("kw_kw_0123456789012345678901_abcdef", "[redacted]"),
        ("a kw_", "a kw_"),
        ("é kwt_é", "é kwt_é"),
        ("-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----\nafter", "[redacted]\nafter"),
        ("-----BEGIN PRIVATE KEY-----\\nx\\n-----END PRIVATE KEY-----\\n", "[redacted]\\n"),
        ("-----BEGIN PRIVATE KEY-----\nx", "[redacted]"),
        (
            "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\ny",
            "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n[redacted]",
        ),
        ("", ""),
    ] {
        assert_eq!(text(said), shown);
    }
}
