//! What a path points at.

use keyward_resource::{ApiStatus, GroupVersion, Kind, kind};
use keyward_store::Key;
use serde_json::Value;

/// The kind whose objects are the namespaces.
pub(crate) const NAMESPACE: &str = "Namespace";

/// The label of a namespace that repeats its name.
pub(crate) const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A part of an object with a path of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The object itself, without its status.
    #[default]
    Main,
    /// Its status alone.
    Status,
}

/// A collection of a kind, or one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The kind.
    pub kind: &'static Kind,
    /// The group and version asked for, which may be an alias.
    pub asked: GroupVersion,
    /// The namespace, unless all are meant or the kind has none.
    pub namespace: Option<String>,
    /// The name, when one object is meant.
    pub name: Option<String>,
    /// Which part of it.
    pub part: Part,
}

/// Undoes percent-encoding, RFC 3986 section 2.1. A slash must not come out of it: no name has one.
fn decode(segment: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().ok()?;
    (!decoded.contains('/')).then(|| decoded.into_owned())
}

// === impl Target ===

impl Target {
    /// The object that a manifest describes, in the namespace that it names or else in this one.
    ///
    /// # Errors
    ///
    /// When it says no kind that is served, or no name.
    pub fn of_object(object: &Value, namespace: &str) -> Result<Self, ApiStatus> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (api_version, name) = (text("/apiVersion"), text("/kind"));
        let Some((kind, asked)) = kind::by_type(api_version, name) else {
            let message = format!("no matches for kind {name:?} in version {api_version:?}");
            return Err(ApiStatus::bad_request(message));
        };
        if text("/metadata/name").is_empty() {
            return Err(ApiStatus::bad_request("metadata.name: Required value: an object needs a name"));
        }
        let namespace = match text("/metadata/namespace") {
            "" => namespace,
            namespace => namespace,
        };
        Ok(Self {
            kind,
            asked,
            namespace: kind.is_namespaced().then(|| namespace.to_owned()),
            name: Some(text("/metadata/name").to_owned()),
            part: Part::Main,
        })
    }

    /// Reads a request path; none when it points at no resource.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let trimmed = path.trim_start_matches('/').trim_end_matches('/');
        let segments: Option<Vec<String>> = trimmed.split('/').map(decode).collect();
        let segments = segments?;
        if segments.iter().any(String::is_empty) {
            return None;
        }
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let at = |namespace, plural, name, part| Self::at(group, version, namespace, plural, name, part);
        match rest {
            [plural] => at(None, plural, None, Part::Main),
            [plural, name] => at(None, plural, Some(*name), Part::Main),
            // The status of a namespace looks like a collection in it.
            ["namespaces", name, "status"] if group.is_empty() => {
                at(None, "namespaces", Some(*name), Part::Status)
            }
            ["namespaces", namespace, plural] => at(Some(*namespace), plural, None, Part::Main),
            [plural, name, "status"] => at(None, plural, Some(*name), Part::Status),
            ["namespaces", namespace, plural, name] => at(Some(*namespace), plural, Some(*name), Part::Main),
            ["namespaces", namespace, plural, name, "status"] => {
                at(Some(*namespace), plural, Some(*name), Part::Status)
            }
            _ => None,
        }
    }

    fn at(
        group: &str,
        version: &str,
        namespace: Option<&str>,
        plural: &str,
        name: Option<&str>,
        part: Part,
    ) -> Option<Self> {
        let (kind, asked) = kind::by_path(group, version, plural)?;
        let fits = match (kind.is_namespaced(), namespace, name) {
            // An object of a kind with namespaces has one; a collection may span all.
            (true, namespace, name) => namespace.is_some() || name.is_none(),
            (false, namespace, _) => namespace.is_none(),
        };
        let has_part = part == Part::Main || kind.fields.field("status").is_some();
        (fits && has_part).then(|| Self {
            kind,
            asked,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            part,
        })
    }

    /// Whether it is one place in which objects are, and not all namespaces at once.
    pub(crate) fn is_one_place(&self) -> bool {
        self.namespace.is_some() || !self.kind.is_namespaced()
    }

    /// The namespace in which objects are kept here: empty for a kind without.
    pub(crate) fn place(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// The object of this name here.
    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(self.kind.name, self.place(), name)
    }
}

#[cfg(test)]
mod tests;
