//! Which route a request takes: the first of its virtual host that fits.

use crate::headers::Headers;
use crate::host::{self, Found};
use crate::path::without_query;
use crate::served::{HeaderMatcher, PathMatch, QueryMatcher, Route, RouteConfiguration, RouteMatch};
use crate::text::{Fit, matches, whole};

/// What came of looking for one.
#[derive(Clone)]
pub(crate) enum Selected<'a> {
    /// This one.
    Route(Selection<'a>),
    /// Nobody has the host.
    NoHost,
    /// None of the virtual host fits.
    NoRoute(Found<'a>, Vec<PassedOver>),
    /// That is not known.
    Untold(Found<'a>, String),
}

/// A route.
#[derive(Clone)]
pub(crate) struct Selection<'a> {
    pub(crate) found: Found<'a>,
    /// Its place among the routes of its virtual host.
    pub(crate) index: usize,
    pub(crate) route: &'a Route,
    /// Those before it.
    pub(crate) passed_over: Vec<PassedOver>,
}

/// A route that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedOver {
    pub(crate) index: usize,
    pub(crate) why: String,
    /// Its path fits, so somebody may have meant it.
    pub(crate) is_near: bool,
}

/// Headers of which Envoy makes the value itself.
const MADE_BY_ENVOY: [&str; 3] = ["x-request-id", "x-forwarded-for", "x-forwarded-client-cert"];

/// Selects the route for a request, by its headers as they are at this moment.
pub(crate) fn select<'a>(routes: &'a RouteConfiguration, headers: &Headers) -> Selected<'a> {
    let Some(found) = host::find(routes, &headers.text(":authority")) else { return Selected::NoHost };
    let virtual_host = found.virtual_host;
    if virtual_host.require_tls.is_some() || virtual_host.matcher.is_some() {
        let why = format!("the virtual host {} has a field that is not known here", virtual_host.name);
        return Selected::Untold(found, why);
    }
    let mut passed_over = Vec::new();
    for (index, route) in virtual_host.routes.iter().enumerate() {
        match fits(&route.r#match, headers) {
            Fit::Yes => return Selected::Route(Selection { found, index, route, passed_over }),
            Fit::No(why) => {
                let is_near = path_fits(&route.r#match, without_query(&headers.text(":path"))) == Fit::Yes;
                passed_over.push(PassedOver { index, why, is_near });
            }
            Fit::Untold(why) => return Selected::Untold(found, format!("route {index}: {why}")),
        }
    }
    Selected::NoRoute(found, passed_over)
}

fn fits(matcher: &RouteMatch, headers: &Headers) -> Fit {
    if let Some(unknown) = matcher.rest.keys().next() {
        return Fit::Untold(format!("it asks for {unknown}"));
    }
    let path = headers.text(":path");
    let about_path = path_fits(matcher, without_query(&path));
    let about_headers = matcher.headers.iter().map(|matcher| header_fits(matcher, headers));
    let about_query = matcher.query_parameters.iter().map(|matcher| query_fits(matcher, &path));
    let mut untold = None;
    for fit in std::iter::once(about_path).chain(about_headers).chain(about_query) {
        match fit {
            Fit::Yes => {}
            // What does not fit does not fit, whatever else is not known of it.
            Fit::No(why) => return Fit::No(why),
            Fit::Untold(why) => untold = untold.or(Some(why)),
        }
    }
    untold.map_or(Fit::Yes, Fit::Untold)
}

fn path_fits(matcher: &RouteMatch, path: &str) -> Fit {
    let fold =
        |text: &str| if matcher.is_case_sensitive() { text.to_owned() } else { text.to_ascii_lowercase() };
    let fits = match matcher.path() {
        None => return Fit::Untold("what it asks of the path is not known".to_owned()),
        // Envoy gives expressions no case to ignore.
        Some(PathMatch::Regex(regex)) => return named("the path", whole(regex, path.as_bytes())),
        Some(PathMatch::Prefix(prefix)) => fold(path).starts_with(&fold(prefix)),
        Some(PathMatch::Exact(exact)) => fold(path) == fold(exact),
        Some(PathMatch::Segments(prefix)) => {
            let path = fold(path);
            path.strip_prefix(&fold(prefix)).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    };
    if fits { Fit::Yes } else { Fit::No("the path does not fit".to_owned()) }
}

fn named(what: &str, fit: Fit) -> Fit {
    match fit {
        Fit::No(why) => Fit::No(format!("{what}: {why}")),
        Fit::Untold(why) => Fit::Untold(format!("{what}: {why}")),
        Fit::Yes => Fit::Yes,
    }
}

fn header_fits(matcher: &HeaderMatcher, headers: &Headers) -> Fit {
    let name = matcher.name.to_ascii_lowercase();
    let what = format!("the header {name}");
    if let Some(unknown) = matcher.rest.keys().next() {
        return Fit::Untold(format!("{what}: it asks for {unknown}"));
    }
    if MADE_BY_ENVOY.contains(&name.as_str()) || name.starts_with("x-envoy-") {
        return Fit::Untold(format!("{what} is made by Envoy"));
    }
    let value = headers.all(&name);
    let Some(asked) = &matcher.string_match else {
        let holds = value.is_some() == (matcher.present_match.unwrap_or(true) != matcher.invert_match);
        let is = if value.is_some() { "there" } else { "missing" };
        return if holds { Fit::Yes } else { Fit::No(format!("{what} is {is}")) };
    };
    // Without the header nothing fits, the opposite neither.
    let value = value.or_else(|| matcher.treat_missing_header_as_empty.then(Vec::new));
    let Some(value) = value else { return Fit::No(format!("{what} is missing")) };
    match matches(asked, &value) {
        Fit::Yes if matcher.invert_match => Fit::No(format!("{what} is what it must not be")),
        Fit::No(_) if matcher.invert_match => Fit::Yes,
        fit => named(&what, fit),
    }
}

fn query_fits(matcher: &QueryMatcher, path: &str) -> Fit {
    let what = format!("the query parameter {}", matcher.name);
    if let Some(unknown) = matcher.rest.keys().next() {
        return Fit::Untold(format!("{what}: it asks for {unknown}"));
    }
    let query = path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let value = pairs.find(|(name, _)| *name == matcher.name).map(|(_, value)| value);
    match (value, &matcher.string_match) {
        (Some(value), Some(asked)) => named(&what, matches(asked, value.as_bytes())),
        (None, Some(_)) => Fit::No(format!("{what} is missing")),
        (value, None) if value.is_some() == matcher.present_match.unwrap_or(true) => Fit::Yes,
        (value, None) => Fit::No(format!("{what} is {}", if value.is_some() { "there" } else { "missing" })),
    }
}
