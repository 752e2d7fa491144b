//! What a path points at.

use keyward_resource::{ApiStatus, GroupVersion, Kind, kind};

use super::reply::ApiError;

/// A collection of a kind, or one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The kind.
    pub(super) kind: &'static Kind,
    /// The group and version asked for, which may be an alias.
    pub(super) asked: GroupVersion,
    /// The namespace, unless all are meant.
    pub(super) namespace: Option<String>,
    /// The name, when one object is meant.
    pub(super) name: Option<String>,
}

/// Undoes percent-encoding, RFC 3986 section 2.1. A slash must not come out of it: no name has one.
fn decode(segment: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().ok()?;
    (!decoded.contains('/')).then(|| decoded.into_owned())
}

// === impl Target ===

impl Target {
    /// Reads a request path.
    pub(super) fn of_path(path: &str) -> Result<Self, ApiError> {
        let not_found = || ApiError::from(ApiStatus::no_such_path());
        let decoded: Option<Vec<String>> =
            path.trim_start_matches('/').trim_end_matches('/').split('/').map(decode).collect();
        let decoded = decoded.ok_or_else(not_found)?;
        let mut segments = decoded.iter().map(String::as_str);
        let (group, version) = match segments.next() {
            Some("api") => ("", segments.next()),
            Some("apis") => (segments.next().ok_or_else(not_found)?, segments.next()),
            _ => return Err(not_found()),
        };
        let version = version.ok_or_else(not_found)?;
        let rest: Vec<&str> = segments.collect();
        let (namespace, plural, name) = match rest.as_slice() {
            [plural] => (None, plural, None),
            ["namespaces", namespace, plural] => (Some(*namespace), plural, None),
            ["namespaces", namespace, plural, name] => (Some(*namespace), plural, Some(*name)),
            _ => return Err(not_found()),
        };
        let (kind, asked) = kind::by_path(group, version, plural).ok_or_else(not_found)?;
        if namespace == Some("") || name == Some("") {
            return Err(not_found());
        }
        Ok(Self { kind, asked, namespace: namespace.map(str::to_owned), name: name.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_point_at_collections_and_objects() {
        let target = Target::of_path("/api/v1/namespaces/a/secrets/b").expect("a path of an object");
        assert_eq!(target.kind.name, "Secret");
        assert_eq!((target.namespace.as_deref(), target.name.as_deref()), (Some("a"), Some("b")));
        let target = Target::of_path("/api/v1/namespaces/key%2dward/secrets/%61/").expect("an encoded path");
        assert_eq!((target.namespace.as_deref(), target.name.as_deref()), (Some("key-ward"), Some("a")));
        let target = Target::of_path("/apis/gateway.solo.io/v1/virtualservices").expect("an alias");
        assert_eq!((target.kind.name, target.asked.group), ("VirtualService", "gateway.solo.io"));
        assert_eq!((target.namespace, target.name), (None, None));
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis/v1/secrets",
            "/api/v2/secrets",
            "/apis/gateway.keyward.io/v1/nothings",
            "/api/v1/namespaces/a/secrets/b/c",
            "/api/v1/namespaces//secrets",
            "/api/v1/namespaces/a/secrets/b%2fc",
            "/api/v1/namespaces/a/secrets/%ff",
        ] {
            assert!(Target::of_path(path).is_err(), "{path}");
        }
    }
}
