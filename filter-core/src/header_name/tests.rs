use super::*;

/// Headers that nobody may take or set.
const TAKEN: &[&str] = &[
    "connection",
    "content-length",
    "content_length",
    "content-type",
    "cookie",
    "host",
    "te",
    "transfer-encoding",
    "proxy-authorization",
    "accept",
    "accept-encoding",
    "if-none-match",
    "origin",
    "range",
    "referer",
    "sec-websocket-key",
    "user-agent",
    "x-envoy-external-address",
    "x_envoy_original_path",
    "x-forwarded-for",
    "x-forwarded_for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "x-request-id",
    "traceparent",
    "tracestate",
    "b3",
    "x-b3-traceid",
];
/// Headers that are nobody's.
const FREE: &[&str] =
    &["x-api-key", "x-accept", "accepts", "hosts", "x-team", "x-forwarde", "9", "-", "_", "x_-_-_-_-_-9"];

#[test]
fn a_key_header_is_a_token_that_nobody_else_needs() {
    let rule = |name: &str| key_header(name, "x-user-id");
    for name in ["api-key", "api_key", "authorization"].iter().chain(FREE) {
        assert_eq!(rule(name), Ok(()), "{name}");
    }
    let too_long = "a".repeat(257);
    let identity = ["x-user-id", "x_user_id", "x-user_id"];
    for name in ["", ":path", "a b", "a:", "ä", "a\r\n", &too_long].iter().chain(&identity).chain(TAKEN) {
        assert!(rule(name).is_err(), "{name:?}");
    }
}

#[test]
fn what_a_policy_sets_is_nothing_that_clients_have_to_send() {
    let credentials = ["api-key", "api_key", "api-key-sha256", "authorization"];
    for rule in [identity_header, |name: &str| told_header(name, "x-caller")] {
        for name in FREE {
            assert_eq!(rule(name), Ok(()), "{name}");
        }
        for name in TAKEN.iter().chain(&credentials).chain(&["", ":path", "ä"]) {
            assert!(rule(name).is_err(), "{name:?}");
        }
    }
    assert!(told_header("x_caller", "x-caller").is_err());
    assert_eq!(told_header("x-user-id", "x-caller"), Ok(()));
}

#[test]
fn names_are_letters_digits_hyphens_and_underscores() {
    let rules: [fn(&str) -> Check; 3] =
        [|name| key_header(name, "x-user-id"), |name| told_header(name, "x-user-id"), identity_header];
    for rule in rules {
        for byte in 0..=u8::MAX {
            let usual = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            let name = format!("x-a-b-c-d-team{}", char::from(byte));
            assert_eq!(rule(&name).is_ok(), usual, "{name:?}");
        }
        for name in [".*|a-b-c-d-e-f", "*-a-b-c-d-e-f", "x-a-b-c-d-team+", &"-".repeat(257)] {
            let why = rule(name).expect_err(name);
            assert!(why.starts_with("must consist of letters, digits, '-' and '_', at most 256"), "{why}");
        }
        assert_eq!(rule(&"x_".repeat(128)), Ok(()));
    }
}

#[test]
fn no_name_is_reserved_twice() {
    let names: Vec<&str> = RESERVED_HEADERS.iter().flat_map(|reserved| reserved.names).copied().collect();
    for (at, name) in names.iter().enumerate() {
        assert_eq!(*name, name.to_ascii_lowercase());
        let plain = name.strip_suffix('*').unwrap_or(name);
        let covers = |other: &&str| {
            let start = other.strip_suffix('*');
            *other == plain || start.is_some_and(|start| plain.starts_with(start))
        };
        let others = names.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, name)| name);
        assert_eq!(others.copied().find(|other| covers(other)), None, "{name}");
    }
}
