use super::*;

fn to(args: &DestinationArgs) -> Value {
    let mut route = args.route(&MatcherArgs::default(), "here");
    route.as_object_mut().expect("a route").remove("matchers");
    route
}

#[test]
fn a_route_leads_to_one_thing() {
    let text = |text: &str| Some(text.to_owned());
    let args = DestinationArgs {
        dest_name: text("a"),
        dest_namespace: text("team"),
        prefix_rewrite: text("/"),
        ..DestinationArgs::default()
    };
    let action = json!({ "single": { "upstream": { "name": "a", "namespace": "team" } } });
    assert_eq!(to(&args), json!({ "routeAction": action, "options": { "prefixRewrite": "/" } }));
    let args = DestinationArgs { upstream_group_name: text("g"), ..DestinationArgs::default() };
    let group = json!({ "upstreamGroup": { "name": "g", "namespace": "here" } });
    assert_eq!(to(&args), json!({ "routeAction": group }));
    let args = DestinationArgs { delegate_name: text("t"), ..DestinationArgs::default() };
    assert_eq!(to(&args), json!({ "delegateAction": { "ref": { "name": "t", "namespace": "here" } } }));
}

#[test]
fn whoever_names_no_domain_is_for_all() {
    let of = |host: Value| is_for_everything(&json!({ "spec": { "virtualHost": host } }));
    assert!(of(json!({})) && of(json!({ "domains": [] })) && of(json!({ "domains": ["a", "*"] })));
    assert!(!of(json!({ "domains": ["a", "*.a"] })));
}
