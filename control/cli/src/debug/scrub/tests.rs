use serde_json::json;

use super::*;

#[test]
fn nothing_is_left_of_the_contents_of_a_secret() {
    let mut secret = json!({
        "kind": "Secret",
        "metadata": { "name": "a", "annotations": { LAST_APPLIED: "s3cret", "note": "kept" } },
        "data": { "api-key": "s3cret", "deep": { "er": "s3cret" } },
        "stringData": "s3cret",
    });
    object(&mut secret);
    assert!(!secret.to_string().contains("s3cret"), "{secret}");
    assert_eq!(secret["data"]["api-key"], REDACTED);
    assert_eq!(secret["metadata"]["annotations"]["note"], "kept");
    let upstream = json!({ "kind": "Upstream", "data": { "a": "b" } });
    let mut shown = upstream.clone();
    object(&mut shown);
    assert_eq!(shown, upstream);
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
