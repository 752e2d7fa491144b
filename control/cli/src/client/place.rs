//! Where things are in the API.

use std::fmt::{self, Write as _};

use keyward_resource::{Kind, kind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a part of a URL as it is.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The objects of a kind, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collection {
    kind: &'static Kind,
    namespace: Option<String>,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its kind.
    pub(crate) kind: &'static Kind,
    /// Its namespace; empty for kinds without.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}

fn part(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, PART)
}

/// A path with a query.
pub(crate) fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut path = path.to_owned();
    for (index, (name, value)) in pairs.iter().enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        let _ = write!(path, "{mark}{name}={}", part(value));
    }
    path
}

fn secrets() -> &'static Kind {
    kind::by_name("Secret").expect("it is in the table of kinds")
}

// === impl Collection ===

impl Collection {
    /// Those of a namespace, or of all.
    pub(crate) fn of(kind: &'static Kind, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|_| kind.is_namespaced()).map(str::to_owned);
        Self { kind, namespace }
    }

    /// The Secrets of a namespace, or of all.
    pub(crate) fn of_secrets(namespace: Option<&str>) -> Self {
        Self::of(secrets(), namespace)
    }

    /// The path of the collection.
    pub(crate) fn path(&self) -> String {
        let served = self.kind.group_version;
        let mut path = if served.group.is_empty() { "/api/".to_owned() } else { "/apis/".to_owned() };
        let _ = write!(path, "{served}");
        if let Some(namespace) = &self.namespace {
            let _ = write!(path, "/namespaces/{}", part(namespace));
        }
        path + "/" + self.kind.plural
    }

    /// The path of the collection with a query.
    pub(crate) fn query(&self, pairs: &[(&str, &str)]) -> String {
        query(&self.path(), pairs)
    }
}

// === impl Place ===

impl Place {
    /// An object of a kind; of the namespace, where the kind has any.
    pub(crate) fn of(kind: &'static Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let namespace = if kind.is_namespaced() { namespace.into() } else { String::new() };
        Self { kind, namespace, name: name.into() }
    }

    /// A Secret.
    pub(crate) fn of_secret(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::of(secrets(), namespace, name)
    }

    /// All that are where it is.
    pub(crate) fn collection(&self) -> Collection {
        Collection::of(self.kind, Some(&self.namespace))
    }

    /// Its path.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.collection().path(), part(&self.name))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_place() {
        let path = |name, namespace| Collection::of(kind::by_name(name).unwrap(), namespace).path();
        assert_eq!(path("Secret", Some("a b")), "/api/v1/namespaces/a%20b/secrets");
        assert_eq!(path("VirtualService", None), "/apis/gateway.keyward.io/v1/virtualservices");
        assert_eq!(path("Namespace", Some("x")), "/api/v1/namespaces");
        let place = Place::of(kind::by_name("AuthConfig").unwrap(), "apps", "keys/.");
        assert_eq!(place.path(), "/apis/enterprise.keyward.io/v1/namespaces/apps/authconfigs/keys%2F.");
        assert_eq!(place.to_string(), "apps/keys/.");
        assert_eq!(Place::of(kind::by_name("Namespace").unwrap(), "x", "y").to_string(), "y");
    }
}
