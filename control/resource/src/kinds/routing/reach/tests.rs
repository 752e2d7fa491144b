//! No route that some request reaches is said to be unreachable.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::kinds::options::RouteOptions;
use crate::kinds::route::{DirectResponse, QueryParameterMatcher};
use crate::meta::Meta;

/// A request, as far as matchers look at it.
#[derive(Debug, Clone)]
struct Request {
    path: &'static str,
    method: &'static str,
    header: Option<&'static str>,
    parameter: Option<&'static str>,
}

const PATHS: &[&str] = &["/", "/a", "/A", "/a/b", "/ab", "/a/B", "/b", "*"];
/// An expression, and whether a path matches it.
type Regex = (&'static str, fn(&str) -> bool);

const REGEXES: &[Regex] = &[
    (".*", |_| true),
    ("/.*", |path| path.starts_with('/')),
    ("/a/.*", |path| path.starts_with("/a/")),
    ("/?.*", |_| true),
    ("/a|.*", |_| true),
    ("^/b", |path| path == "/b"),
];

fn holds(matcher: &ValueMatcher, value: Option<&str>) -> bool {
    match (matcher, value) {
        (_, None) => false,
        (ValueMatcher::Exact(text), Some(value)) => text == value,
        (ValueMatcher::Present | ValueMatcher::Regex(_), Some(_)) => true,
    }
}

fn matches(matcher: &Matcher, request: &Request) -> bool {
    let fold = |text: &str| match matcher.case_sensitive {
        Some(false) => text.to_ascii_lowercase(),
        _ => text.to_owned(),
    };
    let path = match matcher.path.as_ref().expect("a path") {
        PathMatcher::Prefix(prefix) => fold(request.path).starts_with(&fold(prefix)),
        PathMatcher::Exact(exact) => fold(request.path) == fold(exact),
        PathMatcher::Regex(regex) => {
            let (_, takes) = REGEXES.iter().find(|(known, _)| known == regex).expect("a known expression");
            takes(request.path)
        }
    };
    path && (matcher.methods.is_empty() || matcher.methods.iter().any(|method| method == request.method))
        && matcher.headers.iter().all(|header| holds(&header.value, request.header) != header.invert)
        && matcher.query_parameters.iter().all(|parameter| holds(&parameter.value, request.parameter))
}

fn values() -> impl Strategy<Value = ValueMatcher> {
    select(vec![
        ValueMatcher::Present,
        ValueMatcher::Exact("1".to_owned()),
        ValueMatcher::Exact("2".to_owned()),
        ValueMatcher::Regex(".*".to_owned()),
    ])
}

fn matchers() -> impl Strategy<Value = Matcher> {
    let path = prop_oneof![
        3 => select(PATHS).prop_map(|path| PathMatcher::Prefix(path.replace('*', "/").to_owned())),
        2 => select(PATHS).prop_map(|path| PathMatcher::Exact(path.replace('*', "/").to_owned())),
        1 => select(REGEXES).prop_map(|(regex, _)| PathMatcher::Regex(regex.to_owned())),
    ];
    let case = select(vec![None, Some(true), Some(false)]);
    let headers = prop::collection::vec((values(), any::<bool>()), 0..2);
    let parameters = prop::collection::vec(values(), 0..2);
    let methods = prop::collection::vec(select(vec!["GET", "PUT"]), 0..2);
    (path, case, headers, parameters, methods).prop_map(
        |(path, case_sensitive, headers, parameters, methods)| Matcher {
            path: Some(path),
            case_sensitive,
            headers: headers
                .into_iter()
                .map(|(value, invert)| HeaderMatcher { name: "x".to_owned(), value, invert })
                .collect(),
            query_parameters: parameters
                .into_iter()
                .map(|value| QueryParameterMatcher { name: "q".to_owned(), value })
                .collect(),
            methods: methods.into_iter().map(str::to_owned).collect(),
        },
    )
}

fn routes() -> impl Strategy<Value = Vec<Route>> {
    let route = prop::collection::vec(matchers(), 1..3).prop_map(|matchers| Route {
        name: None,
        matchers,
        inheritable_matchers: None,
        inheritable_path_matchers: None,
        action: Action::DirectResponse(DirectResponse { status: 200, body: String::new() }),
        options: RouteOptions::default(),
        options_refs: Vec::new(),
    });
    prop::collection::vec(route, 1..6)
}

/// Every request that these matchers can tell from another.
fn requests() -> Vec<Request> {
    let values = [None, Some("1"), Some("2"), Some("")];
    let mut requests = Vec::new();
    for path in PATHS {
        for method in ["GET", "PUT", "POST"] {
            for header in values {
                for parameter in values {
                    requests.push(Request { path, method, header, parameter });
                }
            }
        }
    }
    requests
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_reached_is_not_said_to_be_unreachable(routes in routes()) {
        let meta = Meta::unnamed();
        let warnings = never_reached(&routes, Scope::Host(&meta));
        for request in requests() {
            let first = routes.iter().position(|route| route.matchers.iter().any(|one| matches(one, &request)));
            let Some(first) = first else { continue };
            let said = format!("{} is never reached", routes[first].label(first));
            let wrong = warnings.iter().find(|warning| warning.starts_with(&said));
            prop_assert!(wrong.is_none(), "{:?} is answered, but {:?}", request, wrong);
        }
    }
}

#[test]
fn a_great_many_routes_of_one_path_are_quick() {
    let meta = Meta::unnamed();
    let route = |index: usize| Route {
        name: None,
        matchers: vec![Matcher {
            path: Some(PathMatcher::Prefix("/".to_owned())),
            headers: vec![HeaderMatcher {
                name: "x".to_owned(),
                value: ValueMatcher::Exact(index.to_string()),
                invert: false,
            }],
            ..Matcher::default()
        }],
        inheritable_matchers: None,
        inheritable_path_matchers: None,
        action: Action::DirectResponse(DirectResponse { status: 200, body: String::new() }),
        options: RouteOptions::default(),
        options_refs: Vec::new(),
    };
    let mut routes: Vec<Route> = (0..20_000).map(route).collect();
    routes.push(route(5));
    let warnings = never_reached(&routes, Scope::Host(&meta));
    assert_eq!(
        warnings,
        ["routes[20000] (prefix /) is never reached: routes[5] (prefix /) matches all its requests"]
    );
}
