//! Steps in sentences, and what they are about.

use keyward_filter_core::config::without_list;

use crate::explanation::{KeySeen, Route, Step, VirtualHost};
use crate::headers::Headers;
use crate::host::Found;
use crate::path;
use crate::request::Request;
use crate::routing::{PassedOver, Selection};
use crate::served::{Chain, VirtualHost as ServedHost};

/// So many of the routes that do not fit are told.
const MAX_PASSED_OVER: usize = 10;
/// Begins the auth id of a route that lets nobody through.
pub(crate) const CLOSED: char = '!';

pub(crate) fn say(steps: &mut Vec<Step>, about: &'static str, says: impl Into<String>) {
    steps.push(Step { about, says: says.into() });
}

/// A path, as far as it may be shown: a query may hold a key.
pub(crate) fn shown(path: &str) -> String {
    let bare = path::without_query(path);
    if bare.len() == path.len() { bare.to_owned() } else { format!("{bare}?...") }
}

pub(crate) fn tell_chain(chain: &Chain, request: &Request, steps: &mut Vec<Step>) {
    let Some(server_name) = &request.tls else { return };
    let name = if server_name.is_empty() { "no server name" } else { server_name };
    say(steps, "connection", format!("TLS for {name}, by the filter chain {}", chain.name));
    if chain.wants_certificate() {
        say(
            steps,
            "connection",
            "clients have to show a certificate; that this one does is taken for granted",
        );
    }
}

pub(crate) fn tell_host(found: &Found<'_>, headers: &Headers, steps: &mut Vec<Step>) {
    let Found { virtual_host, domain } = found;
    let host = headers.text(":authority");
    let what = match virtual_host.metadata.origin() {
        Some(origin) => format!("{origin}, by the domain {domain} for the host {host}"),
        None => format!("{}, by the domain {domain} for the host {host}", virtual_host.name),
    };
    say(steps, "virtual service", what);
}

pub(crate) fn tell_passed_over(passed_over: &[PassedOver], steps: &mut Vec<Step>) {
    let near: Vec<&PassedOver> = passed_over.iter().filter(|one| one.is_near).collect();
    let others = passed_over.len() - near.len();
    // The last ones are nearest to the one that fits.
    let hidden = near.len().saturating_sub(MAX_PASSED_OVER);
    if hidden > 0 {
        say(steps, "route", format!("{hidden} passed over, though the path fits"));
    }
    for PassedOver { index, why, .. } in &near[hidden..] {
        say(steps, "route", format!("not {index}: {why}"));
    }
    if others > 0 {
        say(steps, "route", format!("{others} passed over, as the path does not fit"));
    }
}

pub(crate) fn tell_route(selection: &Selection<'_>, steps: &mut Vec<Step>) {
    tell_passed_over(&selection.passed_over, steps);
    let origin = selection.route.metadata.origin();
    let path = origin.and_then(|origin| origin.route).map(|path| format!(", {path}"));
    let matcher = selection.route.r#match.describe();
    say(steps, "route", format!("{}: {matcher}{}", selection.index, path.unwrap_or_default()));
}

pub(crate) fn route(selection: &Selection<'_>) -> Route {
    let origin = selection.route.metadata.origin();
    Route {
        index: selection.index,
        name: selection.route.name.clone(),
        matcher: selection.route.r#match.describe(),
        from: origin.as_ref().map(|origin| format!("{} {origin}", origin.kind)),
        path: origin.and_then(|origin| origin.route),
    }
}

pub(crate) fn virtual_host(Found { virtual_host, domain }: &Found<'_>) -> VirtualHost {
    let ServedHost { name, metadata, .. } = virtual_host;
    VirtualHost {
        name: name.clone(),
        domain: (*domain).to_owned(),
        virtual_service: metadata.origin().map(|origin| origin.to_string()),
    }
}

/// What is seen of a key, in a sentence.
pub(crate) fn key_line(seen: &KeySeen) -> String {
    let KeySeen { looked_in, found_in, key_id, identity, state, detail } = seen;
    let places = looked_in.join(", ");
    let (Some(place), Some(id)) = (found_in, key_id) else {
        return match *state {
            "ambiguous" => format!("two different ones in {places}"),
            _ => format!("none in {places}"),
        };
    };
    let whose = identity.as_ref().map(|identity| format!(", of {identity}"));
    let detail = detail.as_deref().unwrap_or_default();
    let state = match (*state, detail) {
        ("unknown", "") => "nobody has it".to_owned(),
        ("unknown", detail) => format!("nobody has it; {detail}"),
        ("unavailable", _) => "the keys have not arrived yet".to_owned(),
        (state, "") => state.to_owned(),
        (state, time) => format!("{state} {time}"),
    };
    format!("in {place}, key id {id}{}: {state}", whose.unwrap_or_default())
}

/// What a denial means.
pub(crate) fn meaning(reason: &str, auth_id: Option<&str>, keys: &[KeySeen]) -> String {
    match reason {
        "not-allowed" => {
            let who = keys.iter().rev().find_map(|seen| seen.identity.as_deref()).unwrap_or("its owner");
            format!(": the route does not allow {who}")
        }
        "no-policy" => match auth_id {
            Some(id) if id.starts_with(CLOSED) => {
                format!(": {} is closed here, its status says why", id.trim_start_matches(CLOSED))
            }
            Some(id) => format!(": the AuthConfig {} is missing or rejected", without_list(id)),
            None => ": the route does not say which AuthConfig applies".to_owned(),
        },
        "unavailable" => ": the keys have not arrived yet; requests wait for them before".to_owned(),
        _ => String::new(),
    }
}
