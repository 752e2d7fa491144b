//! The role of a proxy, as its certificate says it.

use std::fmt;
use std::str::FromStr;

use crate::error::RoleError;

#[cfg(test)]
mod tests;

/// What stands before the role in a certificate.
const PREFIX: &str = "spiffe://keyward/proxy/";

/// Which proxy somebody is: `<namespace>~<name>`, as in an Envoy's node metadata.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProxyRole {
    namespace: String,
    name: String,
}

/// An RFC 1123 label: it is a file name and a part of a URI as it is.
fn is_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

// === impl ProxyRole ===

impl ProxyRole {
    /// The role of a proxy of this name.
    ///
    /// # Errors
    ///
    /// When one of the two is no name.
    pub fn new(namespace: &str, name: &str) -> Result<Self, RoleError> {
        if is_label(namespace) && is_label(name) {
            return Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() });
        }
        Err(RoleError { text: format!("{namespace}~{name}") })
    }

    /// The role that a URI of a certificate says, if it says one.
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        uri.strip_prefix(PREFIX)?.parse().ok()
    }

    /// As a certificate says it.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("{PREFIX}{self}")
    }

    /// The name of the proxy.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ProxyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.namespace, self.name)
    }
}

impl FromStr for ProxyRole {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('~').ok_or_else(|| RoleError { text: text.to_owned() })?;
        Self::new(namespace, name)
    }
}
