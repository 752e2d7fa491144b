//! What Envoy makes of a path before it looks for a route.

use crate::served::Manager;

/// What becomes of a request because of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Normalised {
    /// It goes on, with this path.
    Path(String),
    /// The client is sent to this path.
    Redirect(String),
    /// It is refused with 400, and why.
    Refused(&'static str),
    /// What Envoy does here is not known.
    Untold(String),
}

/// A path without its query.
pub(crate) fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

/// Splits a path at its query, which keeps its question mark.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.find('?').unwrap_or(path.len()))
}

/// In the order in which Envoy does it.
pub(crate) fn normalise(manager: &Manager, path: &str) -> Normalised {
    if path.contains('#') {
        return Normalised::Refused("a path with a fragment is refused");
    }
    if !path.starts_with('/') {
        return Normalised::Refused("a path begins with a slash");
    }
    let mut path = path.to_owned();
    let mut redirects = false;
    match manager.path_with_escaped_slashes_action.as_str() {
        "" | "IMPLEMENTATION_SPECIFIC_DEFAULT" | "KEEP_UNCHANGED" => {}
        action @ ("UNESCAPE_AND_REDIRECT" | "UNESCAPE_AND_FORWARD" | "REJECT_REQUEST") => {
            if let Some(unescaped) = unescape_slashes(&path) {
                if action == "REJECT_REQUEST" {
                    return Normalised::Refused("a path with escaped slashes is refused");
                }
                redirects = action == "UNESCAPE_AND_REDIRECT";
                path = unescaped;
            }
        }
        other => return Normalised::Untold(format!("escaped slashes are treated by {other}")),
    }
    if manager.normalize_path {
        match canonical(&path) {
            Some(canonical) => path = canonical,
            None => return Normalised::Refused("a path with an escaped zero byte is refused"),
        }
    }
    if manager.merge_slashes {
        path = merge_slashes(&path);
    }
    if redirects { Normalised::Redirect(path) } else { Normalised::Path(path) }
}

/// The path with its escaped slashes of both kinds unescaped; nothing if there is none.
fn unescape_slashes(path: &str) -> Option<String> {
    let (path, query) = split(path);
    let unescaped = path.replace("%2F", "/").replace("%2f", "/").replace("%5C", "\\").replace("%5c", "\\");
    (unescaped != path).then(|| format!("{unescaped}{query}"))
}

fn merge_slashes(path: &str) -> String {
    let (path, query) = split(path);
    let mut merged = String::with_capacity(path.len());
    for character in path.chars() {
        if character != '/' || !merged.ends_with('/') {
            merged.push(character);
        }
    }
    format!("{merged}{query}")
}

/// What stands for itself when it is escaped.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~')
}

/// What is escaped when it stands for itself.
fn is_escaped(byte: u8) -> bool {
    !(b'!'..=b'~').contains(&byte)
        || matches!(byte, b'"' | b'#' | b'%' | b'<' | b'>' | b'?' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// The length of a dot at the beginning, escaped or not.
fn dot(text: &[u8]) -> Option<usize> {
    match text {
        [b'.', ..] => Some(1),
        [b'%', b'2', b'e' | b'E', ..] => Some(3),
        _ => None,
    }
}

fn ends_segment(text: &[u8]) -> Option<usize> {
    match text {
        [] => Some(0),
        [b'/' | b'\\', ..] => Some(1),
        _ => None,
    }
}

/// As browsers write paths: dots are resolved, backslashes are slashes, what needs no escape has none. Nothing
/// if there is a zero byte in it.
fn canonical(path: &str) -> Option<String> {
    let (path, query) = split(path);
    let mut rest = path.as_bytes();
    let mut made: Vec<u8> = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(length) = dot(rest) {
            let behind = &rest[length..];
            if made.last() == Some(&b'/') {
                if let Some(slash) = ends_segment(behind) {
                    rest = &behind[slash..];
                    continue;
                }
                let up = dot(behind).and_then(|second| Some(second + ends_segment(&behind[second..])?));
                if let Some(consumed) = up {
                    made.pop();
                    let parent = made.iter().rposition(|byte| *byte == b'/');
                    made.truncate(parent.map_or(0, |at| at + 1));
                    if made.is_empty() {
                        made.push(b'/');
                    }
                    rest = &behind[consumed..];
                    continue;
                }
            }
            made.push(b'.');
            rest = behind;
            continue;
        }
        rest = after;
        match byte {
            b'\\' => made.push(b'/'),
            b'%' => match escaped(after) {
                Some(0) => return None,
                Some(value) if is_unreserved(value) => {
                    made.push(value);
                    rest = &after[2..];
                }
                Some(_) => {
                    made.push(b'%');
                    made.extend_from_slice(&after[..2]);
                    rest = &after[2..];
                }
                None => made.push(b'%'),
            },
            byte if is_escaped(byte) => made.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            byte => made.push(byte),
        }
    }
    Some(format!("{}{query}", String::from_utf8_lossy(&made)))
}

fn escaped(after: &[u8]) -> Option<u8> {
    let [high, low, ..] = after else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(*high)? << 4 | digit(*low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager() -> Manager {
        Manager {
            normalize_path: true,
            merge_slashes: true,
            path_with_escaped_slashes_action: "UNESCAPE_AND_REDIRECT".to_owned(),
            ..Manager::default()
        }
    }

    #[test]
    fn paths_are_what_upstreams_see() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a//b///c?x=//y", "/a/b/c?x=//y"),
            ("/a/./b/../c", "/a/c"),
            ("/a/b/..", "/a/"),
            ("/a/b/.", "/a/b/"),
            ("/..", "/"),
            ("/../a", "/a"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/.%2e/b", "/b"),
            ("/a/...", "/a/..."),
            ("/a/.b", "/a/.b"),
            ("/a.b/..c", "/a.b/..c"),
            ("/a\\b\\..\\c", "/a/c"),
            ("/%61%7e%2d", "/a~-"),
            ("/%20%3f", "/%20%3f"),
            ("/100%", "/100%"),
            ("/a b\"<", "/a%20b%22%3C"),
            ("/é", "/%C3%A9"),
            ("/a?b/../c%2F", "/a?b/../c%2F"),
        ] {
            assert_eq!(normalise(&manager(), path), Normalised::Path(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn escaped_slashes_send_the_client_elsewhere() {
        for (path, expected) in
            [("/a%2fb", "/a/b"), ("/open/..%2Fsecret?x=%2F", "/secret?x=%2F"), ("/a%5C..%5cb", "/b")]
        {
            assert_eq!(normalise(&manager(), path), Normalised::Redirect(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn some_paths_are_refused() {
        for path in ["/a#b", "a", "", "/a%00b"] {
            assert!(matches!(normalise(&manager(), path), Normalised::Refused(_)), "{path}");
        }
        let other = Manager { path_with_escaped_slashes_action: "REJECT_REQUEST".to_owned(), ..manager() };
        assert!(matches!(normalise(&other, "/a%2fb"), Normalised::Refused(_)));
        assert_eq!(normalise(&other, "/a"), Normalised::Path("/a".to_owned()));
        let plain = Manager::default();
        assert_eq!(normalise(&plain, "/a//b/../%2f"), Normalised::Path("/a//b/../%2f".to_owned()));
    }
}
