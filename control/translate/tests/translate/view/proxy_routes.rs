//! Virtual hosts and routes in Keyward's own terms, as goldens show them: what is not said is left out.

use keyward_resource::kinds::options::{Cors, Faults, HeaderManipulation, HeaderToAdd};
use keyward_resource::kinds::route::{HeaderMatcher, PathMatcher, ValueMatcher};
use keyward_translate::proxy::{
    Action, Auth, Destination, Forward, PathRewrite, Route, RouteMatcher, VirtualHost,
};
use serde_json::{Map, Value, json};

pub(super) fn host(host: &VirtualHost) -> Value {
    let mut shown = json!({
        "from": host.virtual_service.to_string(),
        "domains": host.domains,
        "routes": host.routes.iter().map(route).collect::<Vec<_>>(),
    });
    put(&mut shown, "madeFrom", host.made_from.iter().map(ToString::to_string).collect::<Vec<_>>());
    put(&mut shown, "headers", headers(host.options.header_manipulation.as_ref()));
    put(&mut shown, "attemptCountInRequest", host.options.include_request_attempt_count);
    put(&mut shown, "attemptCountInResponse", host.options.include_attempt_count_in_response);
    shown
}

/// A route that only forwards is one line.
fn route(route: &Route) -> Value {
    let auth = match &route.auth {
        Auth::Open => "open".to_owned(),
        Auth::Secured { auth_id, open: true, .. } => format!("secured by {auth_id}, open without a key"),
        Auth::Secured { auth_id, .. } => format!("secured by {auth_id}"),
        Auth::Denied { auth_id, reason } => format!("denied by {auth_id}: {reason}"),
    };
    let mut more = json!({});
    let action = match &route.action {
        Action::Forward(forward) => {
            forwarding(forward, &mut more);
            forward.to.iter().map(destination).collect::<Vec<_>>().join(" + ")
        }
        Action::Redirect(redirect) => {
            more["redirect"] = json!(format!("{redirect:?}"));
            format!("redirect {}", redirect.code.status())
        }
        Action::DirectResponse(response) => format!("answer {} {:?}", response.status, response.body),
    };
    put(&mut more, "headers", headers(route.header_manipulation.as_ref()));
    put(&mut more, "cors", route.cors.as_ref().map(cors));
    put(&mut more, "faults", route.faults.as_ref().map(faults));
    let line = format!("{} -> {action}, {auth}", matcher(&route.matcher));
    let Value::Object(mut more) = more else { unreachable!("it was made an object") };
    if more.is_empty() && !route.path.contains("_rt:") {
        return json!(line);
    }
    let mut shown = Map::from_iter([("route".to_owned(), json!(line)), ("of".to_owned(), json!(route.path))]);
    shown.append(&mut more);
    Value::Object(shown)
}

fn destination(to: &Destination) -> String {
    let headers = headers(to.header_manipulation.as_ref());
    let headers = if headers == Value::Null { String::new() } else { format!(" {headers}") };
    if to.weight == 1 {
        format!("{}{headers}", to.cluster)
    } else {
        format!("{} x{}{headers}", to.cluster, to.weight)
    }
}

fn matcher(matcher: &RouteMatcher) -> String {
    let mut text = match &matcher.path {
        PathMatcher::Prefix(prefix) => prefix.clone(),
        PathMatcher::Exact(path) => format!("= {path}"),
        PathMatcher::Regex(regex) => format!("~ {regex}"),
    };
    if !matcher.case_sensitive {
        text.push_str(" in any case");
    }
    for HeaderMatcher { name, value, invert } in &matcher.headers {
        let not = if *invert { "not " } else { "" };
        text.push_str(&format!(", {not}header {name}{}", operand(value)));
    }
    for query in &matcher.query_parameters {
        text.push_str(&format!(", query {}{}", query.name, operand(&query.value)));
    }
    if !matcher.methods.is_empty() {
        text.push_str(&format!(", {}", matcher.methods.join("|")));
    }
    text
}

fn operand(value: &ValueMatcher) -> String {
    match value {
        ValueMatcher::Present => String::new(),
        ValueMatcher::Exact(value) => format!(" = {value}"),
        ValueMatcher::Regex(regex) => format!(" ~ {regex}"),
    }
}

fn forwarding(forward: &Forward, more: &mut Value) {
    let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
    put(more, "hostRewrite", forward.host_rewrite.as_ref().map(|value| debug(value)));
    put(more, "appendXForwardedHost", forward.append_x_forwarded_host);
    put(more, "pathRewrite", forward.path_rewrite.as_ref().map(path_rewrite));
    put(more, "timeout", forward.timeout.map(|value| debug(&value)));
    put(more, "idleTimeout", forward.idle_timeout.map(|value| debug(&value)));
    put(more, "maxStreamDuration", forward.max_stream_duration.as_ref().map(|value| debug(value)));
    put(more, "retries", forward.retries.as_ref().map(|value| debug(value)));
    put(more, "shadow", forward.shadow.as_ref().map(|value| debug(value)));
    put(more, "upgrades", forward.upgrades.iter().map(|value| debug(value)).collect::<Vec<_>>());
    put(more, "hash", forward.hash.iter().map(|value| debug(value)).collect::<Vec<_>>());
}

fn path_rewrite(rewrite: &PathRewrite) -> String {
    match rewrite {
        PathRewrite::Prefix(prefix) => prefix.clone(),
        PathRewrite::Regex(rewrite) => format!("s|{}|{}|", rewrite.regex, rewrite.substitution),
    }
}

fn headers(manipulation: Option<&HeaderManipulation>) -> Value {
    let Some(headers) = manipulation else { return Value::Null };
    let add = |header: &HeaderToAdd| {
        let how = if header.append { "" } else { ", replaced" };
        format!("{}: {}{how}", header.name, header.value)
    };
    let mut shown = json!({});
    put(&mut shown, "addToRequest", headers.request_add.iter().map(add).collect::<Vec<_>>());
    put(&mut shown, "removeFromRequest", headers.request_remove.clone());
    put(&mut shown, "addToResponse", headers.response_add.iter().map(add).collect::<Vec<_>>());
    put(&mut shown, "removeFromResponse", headers.response_remove.clone());
    shown
}

fn cors(cors: &Cors) -> String {
    format!("{cors:?}")
}

fn faults(faults: &Faults) -> String {
    format!("{faults:?}")
}

/// Puts a field that says something.
pub(super) fn put(into: &mut Value, field: &str, value: impl Into<Value>) {
    let value = value.into();
    let silent = match &value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    if !silent {
        into[field] = value;
    }
}
