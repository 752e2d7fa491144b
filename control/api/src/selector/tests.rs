//! Tests of selectors.

use keyward_store::Key;
use serde_json::json;

use super::*;

#[test]
fn labels_are_selected_as_kubernetes_does() {
    let labels = [("app", "web"), ("tier", ""), ("size", "10"), ("example.com/team", "a.b_c")];
    for (selector, expected) in [
        ("", true),
        ("  ", true),
        ("app", true),
        ("!app", false),
        ("! missing", true),
        ("app=web", true),
        ("app == web", true),
        ("app=", false),
        ("tier=", true),
        ("tier", true),
        ("app!=web", false),
        ("missing!=web", true),
        ("app in (db, web)", true),
        ("app in(db)", false),
        ("tier in (a,)", true),
        ("app notin (db,web)", false),
        ("missing notin (db)", true),
        ("size>9", true),
        ("size > 10", false),
        ("size<11,size>9", true),
        ("app>1", false),
        ("missing<1", false),
        ("example.com/team=a.b_c,app in (web),!gone", true),
        ("in in (x)", false),
        ("app=web,app=db", false),
    ] {
        let parsed = LabelSelector::parse(selector).expect(selector);
        assert_eq!(parsed.matches(labels), expected, "{selector}");
    }
}

#[test]
fn malformed_label_selectors_are_refused() {
    for selector in [
        "=",
        "a b",
        "a in b",
        "a in (b",
        "a in (b c)",
        "a,",
        ",a",
        "a>x",
        "a~b",
        "a=b=c",
        "!",
        "a=(b)",
        "a in",
    ] {
        let refused = LabelSelector::parse(selector).expect_err(selector);
        assert_eq!(refused.code, 400, "{selector}");
    }
}

#[test]
fn fields_are_selected_by_name_namespace_and_type() {
    let key = Key::new("Secret", "team", "a");
    let object = json!({ "type": "Opaque" });
    for (selector, expected) in [
        ("", true),
        ("metadata.name=a", true),
        ("metadata.name==b", false),
        ("metadata.name!=b,metadata.namespace=team", true),
        ("metadata.namespace=other", false),
        ("type=Opaque", true),
        ("type!=Opaque", false),
        ("metadata.name=", false),
    ] {
        let parsed = FieldSelector::parse(selector).expect(selector);
        assert_eq!(parsed.matches(&key, &object), expected, "{selector}");
    }
    for selector in ["metadata.name", "spec.a=b", "metadata.labels=x"] {
        assert_eq!(FieldSelector::parse(selector).expect_err(selector).code, 400, "{selector}");
    }
    let by_type = FieldSelector::parse("type=x").expect("a field of Secrets");
    let upstream = keyward_resource::kind::by_name("Upstream").expect("a kind");
    assert_eq!(by_type.check(upstream).expect_err("Upstreams have no type").code, 400);
}
