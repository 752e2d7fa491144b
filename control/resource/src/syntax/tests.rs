use super::*;

fn all(rule: fn(&str) -> Check, right: &[&str], wrong: &[&str]) {
    for text in right {
        assert_eq!(rule(text), Ok(()), "{text:?}");
    }
    for text in wrong {
        assert!(rule(text).is_err(), "{text:?}");
    }
}

#[test]
fn names_keep_the_rules_of_kubernetes() {
    let longest_label = "a".repeat(63);
    let longest_name = "a".repeat(253);
    all(
        label,
        &["a", "0", "gloo-system", &longest_label],
        &["", "-a", "a-", "A", "a.b", "a_b", "ä", &"a".repeat(64)],
    );
    all(
        subdomain,
        &["a", "infra-apikey", "a.b", "0.1", &longest_name],
        &["", ".", "a.", ".a", "a..b", "a.-b", "A", "a_b", "a|b", "a~b", "a/b", "a b", &"a".repeat(254)],
    );
    all(
        qualified_name,
        &["team", "app.kubernetes.io/name", "A_b.c-d", &longest_label],
        &["", "/", "a/", "/a", "a/b/c", "A.io/x", "-a", "a-", "a b", &"a".repeat(64)],
    );
    all(label_value, &["", "a", "A_b.c-9"], &["-", "a-", "a b", "a/b", &"a".repeat(64)]);
    all(data_key, &["api-key", ".dockerconfigjson", "tls.crt", "A_1"], &["", ".", "..", "a b", "a/b", "ä"]);
}

#[test]
fn host_names_are_dns_names_and_no_mistyped_addresses() {
    all(
        host_name,
        &["a", "Example.COM", "my_service.x", "a.example.", "10.0.0.1", "1a", "1.2.3.com"],
        &[
            "",
            ".",
            "a..b",
            "-a",
            "a-",
            "a b",
            "a:80",
            "::1",
            "10.0.0",
            "256.0.0.1",
            "10.0.0.1.2",
            "123",
            "0x7f000001",
            "127.0.0.0X1",
            "ä.de",
        ],
    );
}
