//! Routes, in a line each or in a table of their own.

use serde_json::Value;

use super::Cell;
use super::bordered::{Bordered, line};
use super::reference::{dotted, list, reference, text, texts};

/// How the original calls what a route does.
const ACTIONS: &[(&str, &str)] = &[
    ("routeAction", "route action"),
    ("directResponseAction", "direct response action"),
    ("redirectAction", "redirect action"),
    ("delegateAction", "delegate action"),
];

/// How the original calls the ways in which a path matches.
const PATHS: &[(&str, &str)] = &[("exact", "Exact Path"), ("prefix", "Path Prefix"), ("regex", "Regex Path")];

/// A matcher that says nothing of the path matches all.
const EVERYTHING: (&str, &str) = ("/", "Path Prefix");

/// The path that a matcher demands, and in which way.
fn path(matcher: &Value) -> (&str, &'static str) {
    let said = PATHS.iter().find_map(|(field, word)| Some((matcher.get(field)?.as_str()?, *word)));
    said.unwrap_or(EVERYTHING)
}

/// A line for a route: `name: /path -> apps.web (upstream)`.
pub(super) fn summary(object: &Value, route: &Value) -> String {
    let name = route["name"].as_str().filter(|name| !name.is_empty());
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let mut paths: Vec<_> = list(&route["matchers"]).map(|matcher| path(matcher).0).collect();
    if paths.is_empty() {
        paths.push(EVERYTHING.0);
    }
    format!("{name}{} -> {}", paths.join(", "), target(object, route))
}

/// Where a route leads.
fn target(object: &Value, route: &Value) -> String {
    let action = &route["routeAction"];
    if let Some(multi) = action.get("multi") {
        return format!("{} destinations", list(&multi["destinations"]).count());
    }
    if let Some(group) = action.get("upstreamGroup") {
        let (namespace, name) = reference(object, group);
        return format!("upstream group: {name}.{namespace}");
    }
    if let Some(upstream) = action["single"].get("upstream") {
        return format!("{} (upstream)", dotted(object, upstream));
    }
    if let Some(answer) = route.get("directResponseAction") {
        return answer["status"].to_string();
    }
    if let Some(redirect) = route.get("redirectAction") {
        let field = |name: &str| redirect[name].as_str().filter(|said| !said.is_empty());
        let said = field("hostRedirect").or_else(|| field("pathRedirect"));
        return said.or_else(|| field("prefixRewrite")).unwrap_or("redirect").to_owned();
    }
    let delegate = &route["delegateAction"];
    match (delegate.get("ref"), delegate.get("selector")) {
        (Some(table), _) => format!("{} (route table)", dotted(object, table)),
        (None, Some(_)) => "selected route tables".to_owned(),
        _ if delegate["name"].is_string() => format!("{} (route table)", dotted(object, delegate)),
        _ => String::new(),
    }
}

/// The routes of a VirtualService or a RouteTable as a table. `wide` adds where they lead, and the number
/// by which `remove route` knows each.
pub(crate) fn routes(object: &Value, wide: bool) -> String {
    let mut headings = vec!["Id", "Name", "Matchers", "Types", "Verbs", "Headers", "Action"];
    if wide {
        headings.extend(["Destination", "Index"]);
    }
    let table = Bordered::new(headings);
    let mut table = if wide { table.unwrapped() } else { table };
    for (index, route) in all(object).enumerate() {
        let everything = Value::Null;
        let mut matchers: Vec<_> = list(&route["matchers"]).collect();
        if matchers.is_empty() {
            matchers.push(&everything);
        }
        let of_matchers =
            |cell: fn(&Value) -> String| -> Cell { matchers.iter().map(|it| cell(it)).collect() };
        let action = ACTIONS.iter().find(|(field, _)| route.get(field).is_some());
        let mut cells = vec![
            line((index + 1).to_string()),
            line(text(&route["name"])),
            of_matchers(|matcher| path(matcher).0.to_owned()),
            of_matchers(|matcher| path(matcher).1.to_owned()),
            of_matchers(verbs),
            of_matchers(headers),
            line(action.map_or("unknown", |(_, word)| word)),
        ];
        if wide {
            cells.extend([line(target(object, route)), line(index.to_string())]);
        }
        table.row(cells);
    }
    table.to_string()
}

/// The routes of an object.
pub(crate) fn all(object: &Value) -> impl Iterator<Item = &Value> {
    let spec = &object["spec"];
    list(&spec["virtualHost"]["routes"]).chain(list(&spec["routes"]))
}

fn verbs(matcher: &Value) -> String {
    match texts(&matcher["methods"]).as_slice() {
        [] => "*".to_owned(),
        methods => methods.join(" "),
    }
}

fn headers(matcher: &Value) -> String {
    let header = |it: &Value| {
        let invert = if it["invertMatch"] == true { "!" } else { "" };
        format!("{invert}{}:{}; ", text(&it["name"]), text(&it["value"]))
    };
    list(&matcher["headers"]).map(header).collect()
}
