use proptest::prelude::*;

use super::*;

#[test]
fn a_role_is_two_labels() {
    for (text, taken) in [
        ("keyward-system~gateway-proxy", true),
        ("a~0", true),
        ("a", false),
        ("~", false),
        ("a~", false),
        ("a~b~c", false),
        ("a~../b", false),
        ("A~b", false),
        ("a~-b", false),
        ("a~b ", false),
    ] {
        assert_eq!(text.parse::<ProxyRole>().is_ok(), taken, "{text:?}");
    }
}

#[test]
fn only_uris_of_proxies_say_a_role() {
    for uri in [
        "spiffe://keyward/control",
        "spiffe://keyward/proxy/",
        "spiffe://keyward/proxy/a~b/",
        "spiffe://keyward/proxy/a%7Eb",
        "spiffe://other/proxy/a~b",
        "SPIFFE://keyward/proxy/a~b",
        "a~b",
    ] {
        assert_eq!(ProxyRole::from_uri(uri), None, "{uri}");
    }
}

proptest! {
    #[test]
    fn a_role_survives_its_uri(namespace in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", name in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?") {
        let role = ProxyRole::new(&namespace, &name).unwrap();
        prop_assert_eq!(ProxyRole::from_uri(&role.uri()), Some(role.clone()));
        prop_assert_eq!(role.to_string().parse::<ProxyRole>(), Ok(role));
    }

    /// Two roles never share a URI, and no text is read as a role that it is not.
    #[test]
    fn what_is_read_is_what_was_said(text in "[a-z~-]{0,12}|.{0,20}") {
        if let Ok(role) = text.parse::<ProxyRole>() {
            prop_assert_eq!(role.to_string(), text);
        }
    }
}
