use super::*;

#[test]
fn a_kind_is_known_by_all_its_names() {
    for (words, name) in [
        (&["vs", "virtualservice", "virtualservices", "VirtualService", "gvs"][..], "VirtualService"),
        (&["us", "u", "upstream", "upstreams", "upstreams.gloo.solo.io"], "Upstream"),
        (&["ug"], "UpstreamGroup"),
        (&["ac", "authconfigs.enterprise.gloo.solo.io"], "AuthConfig"),
        (&["rt", "routetables.gateway.keyward.io"], "RouteTable"),
        (&["rlc"], "RateLimitConfig"),
        (&["gw"], "Gateway"),
        (&["vho"], "VirtualHostOption"),
        (&["rto"], "RouteOption"),
        (&["p", "px", "proxies", "proxy"], "Proxy"),
        (&["s", "secret", "secrets"], "Secret"),
        (&["settings"], "Settings"),
        (&["ns"], "Namespace"),
    ] {
        for word in words {
            assert_eq!(named(word).map(|kind| kind.name), Ok(name), "{word}");
        }
    }
}

#[test]
fn an_unknown_kind_says_which_there_are() {
    for word in ["", "pod", "virtualservices.example.com", ".gateway.solo.io", "virtual service"] {
        let error = named(word).unwrap_err();
        assert!(error.contains("virtualservice (vs)") && error.contains("secret,"), "{word}: {error}");
    }
}

#[test]
fn every_kind_has_a_plural_in_words() {
    let all: Vec<String> = KINDS.iter().map(|kind| several(kind)).collect();
    let shown = all.join(", ");
    assert!(shown.contains("virtual services, route tables, virtual host options"), "{shown}");
    assert!(shown.contains("settings, proxies") && shown.contains("upstream groups"), "{shown}");
}
