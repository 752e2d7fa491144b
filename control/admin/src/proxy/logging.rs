//! `/logging`: the loggers of the proxy and their levels.
//!
//! Envoy lists them only by POST; here GET does too. At `debug` some loggers write whole requests, with the API
//! keys in them: a level for all loggers leaves those at `info`, and who asks for one by name is told so. What goes
//! on to Envoy is made anew from what was read here, so that Envoy reads nothing else in it.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::loggers::{self, Logger};
use super::{Front, HeaderLogging, LOGGING, text};
use crate::gate::Who;

/// The longest form, and the longest list of loggers, in bytes.
pub(super) const LONGEST: usize = 64 * 1024;
/// The type of forms, as Envoy's own page sends them.
const FORM: &str = "application/x-www-form-urlencoded";
/// What stands in a query as it is.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b':').remove(b',').remove(b'.').remove(b'-');

/// What a request to set levels asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    List,
    /// All loggers at a level.
    All(String),
    /// Something that Envoy understands, or says why not: a name and a value.
    One(String, String),
}

/// Whether a request can only ask for the list.
pub(super) fn is_list(request: &Request) -> bool {
    request.uri().path() == LOGGING
        && request.method() == Method::POST
        && request.uri().query().unwrap_or_default().is_empty()
        && !is_form(request)
}

fn is_form(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(FORM)
}

/// Answers.
pub(super) async fn answer(front: &Front, request: Request, who: Who) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    match *request.method() {
        Method::GET | Method::HEAD if query.is_empty() => {
            let mut response = ask(front, "", None).await;
            if *request.method() == Method::HEAD {
                *response.body_mut() = Body::empty();
            }
            response
        }
        Method::POST => {
            let query = if query.is_empty() && is_form(&request) {
                match axum::body::to_bytes(request.into_body(), LONGEST).await {
                    Ok(form) => String::from_utf8_lossy(&form).trim().to_owned(),
                    Err(_) => return text(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long"),
                }
            } else {
                query
            };
            match asked(&query) {
                Ok(asked) => set(front, asked, who).await,
                Err(why) => text(StatusCode::BAD_REQUEST, why),
            }
        }
        // Envoy's own refusal.
        _ => front.forward(without_body(request.method().clone(), ""), None).await,
    }
}

fn without_body(method: Method, query: &str) -> Request {
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    let uri = if query.is_empty() { LOGGING.to_owned() } else { format!("{LOGGING}?{query}") };
    if let Ok(uri) = uri.parse() {
        *request.uri_mut() = uri;
    }
    request
}

async fn ask(front: &Front, query: &str, who: Option<Who>) -> Response {
    front.forward(without_body(Method::POST, query), who).await
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

pub(super) fn pair(name: &str, value: &str) -> String {
    let encoded = |text| utf8_percent_encode(text, QUERY);
    format!("{}={}", encoded(name), encoded(value))
}

/// The first words of an answer of Envoy's.
pub(super) fn words(said: &str) -> String {
    said.lines().next().unwrap_or_default().trim().to_owned()
}

fn asked(query: &str) -> Result<Asked, &'static str> {
    let mut pairs = query.split('&').filter(|pair| !pair.is_empty());
    let Some(first) = pairs.next() else { return Ok(Asked::List) };
    if pairs.next().is_some() {
        return Err("error: invalid number of parameters\n\none at a time: level=LEVEL for all loggers, \
                    LOGGER=LEVEL for one, or paths=LOGGER:LEVEL,LOGGER:LEVEL for some");
    }
    let (name, value) = first.split_once('=').unwrap_or((first, ""));
    let (name, value) = (decoded(name), decoded(value));
    Ok(if name == "level" { Asked::All(value) } else { Asked::One(name, value) })
}

/// The first logger that would write requests.
fn telling<'a>(name: &'a str, value: &'a str) -> Option<(&'a str, &'a str)> {
    let writes = |(logger, level): &(&str, &str)| loggers::writes_requests(logger, level);
    match name {
        // Of files, where Envoy logs by file: nobody knows which loggers those are.
        "group" => value.split_once(':').filter(writes),
        "paths" => value
            .split(',')
            .filter_map(|path| path.split_once(':'))
            .map(|(logger, level)| (logger.trim(), level.trim()))
            .find(writes),
        _ => Some((name, value)).filter(writes),
    }
}

async fn set(front: &Front, asked: Asked, who: Who) -> Response {
    let (name, value) = match asked {
        Asked::List => return ask(front, "", None).await,
        Asked::All(level) if front.manner.header_logging == HeaderLogging::Always => {
            ("level".to_owned(), level)
        }
        Asked::All(level) if matches!(level.as_str(), "debug" | "trace") => {
            return all(front, &level, who).await;
        }
        Asked::All(level) => ("level".to_owned(), level),
        Asked::One(name, value) => (name, value),
    };
    let Some((logger, level)) = telling(&name, &value) else {
        return ask(front, &pair(&name, &value), Some(who)).await;
    };
    if front.manner.header_logging == HeaderLogging::Never {
        let known = match list(front).await {
            Ok(known) => known,
            Err(response) => return response,
        };
        // Of one that there is not, Envoy says so.
        if known.iter().any(|known| known.name == logger) {
            let why = format!(
                "the logger {logger} writes whole requests at the level {level}, API keys included: it stays at \
                 info or above\nhint: keyward serve --proxy-header-logging named lets it"
            );
            return text(StatusCode::FORBIDDEN, &why);
        }
    }
    let set = ask(front, &pair(&name, &value), Some(who)).await;
    let note = format!(
        "the logger {logger} writes whole requests at {level}, API keys included: what it writes is in the file \
         of the proxy's log and nowhere else"
    );
    noted(set, &note).await
}

/// The loggers of the proxy, or the answer of who cannot list them.
async fn list(front: &Front) -> Result<Vec<Logger>, Response> {
    let list = ask(front, "", None).await;
    if list.status() != StatusCode::OK {
        return Err(list);
    }
    match axum::body::to_bytes(list.into_body(), LONGEST).await {
        Ok(list) => Ok(loggers::read(&String::from_utf8_lossy(&list))),
        Err(_) => Err(text(StatusCode::BAD_GATEWAY, "the list of loggers broke off")),
    }
}

/// Sets all loggers at once, those that write requests to `info`.
async fn all(front: &Front, level: &str, who: Who) -> Response {
    let list = match list(front).await {
        Ok(list) => list,
        Err(response) => return response,
    };
    let (paths, behind) = loggers::all_at(level, &list);
    if paths.is_empty() {
        return text(StatusCode::BAD_GATEWAY, "the proxy lists no loggers");
    }
    let set = ask(front, &pair("paths", &paths), Some(who)).await;
    let note = format!(
        "these stay at info, as they write whole requests at {level}, API keys included: {}",
        behind.join(", ")
    );
    noted(set, &note).await
}

/// The list that follows a change, with something to know below it.
async fn noted(set: Response, note: &str) -> Response {
    if set.status() != StatusCode::OK {
        return set;
    }
    let (mut head, body) = set.into_parts();
    let Ok(list) = axum::body::to_bytes(body, LONGEST).await else {
        return text(StatusCode::BAD_GATEWAY, "the answer broke off");
    };
    head.headers.remove(CONTENT_LENGTH);
    let list = String::from_utf8_lossy(&list);
    Response::from_parts(head, Body::from(format!("{}\n\nnote: {note}\n", list.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_as_envoy_reads_it() {
        assert_eq!(asked(""), Ok(Asked::List));
        assert_eq!(asked("&"), Ok(Asked::List));
        assert_eq!(asked("level=debug"), Ok(Asked::All("debug".to_owned())));
        assert_eq!(asked("%6cevel=%64ebug&"), Ok(Asked::All("debug".to_owned())));
        assert_eq!(asked("http=debug"), Ok(Asked::One("http".to_owned(), "debug".to_owned())));
        assert_eq!(asked("http"), Ok(Asked::One("http".to_owned(), String::new())));
        assert!(asked("a=b&c=d").is_err() && asked("level=info&level=debug").is_err());
    }

    #[test]
    fn what_would_write_requests_is_found_in_every_form() {
        for (name, value, found) in [
            ("http", "debug", Some("http")),
            ("http", "trace", Some("http")),
            ("http", "info", None),
            ("upstream", "trace", None),
            ("rbac", "debug", Some("rbac")),
            ("unheard_of", "debug", Some("unheard_of")),
            ("paths", "upstream:debug,wasm:trace", Some("wasm")),
            ("paths", "upstream:debug,wasm:info", None),
            ("paths", "upstream:debug, http : debug", Some("http")),
            ("group", "http:debug", Some("http")),
        ] {
            assert_eq!(telling(name, value).map(|(logger, _)| logger), found, "{name}={value}");
        }
    }

    #[test]
    fn what_goes_on_is_one_parameter() {
        assert_eq!(pair("a&b", "c=d"), "a%26b=c%3Dd");
    }
}
