//! One named resource, encoded, with the version that its content gives it.

use crate::digest::digest;
use bytes::Bytes;
use envoy_types::pb::google::protobuf::Any;
use std::{fmt, sync::Arc};

/// A resource as it goes to clients: a type, a name and the encoded message.
///
/// The version is a digest of the encoded message, so equal bytes are never sent as a change.
/// Cloning costs one reference count.
#[derive(Clone)]
pub struct Resource(Arc<Inner>);

/// The name of a resource and the version of its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Versioned {
    /// The resource's name.
    pub name: Arc<str>,
    /// The version: 32 hexadecimal digits.
    pub version: Arc<str>,
}

struct Inner {
    type_url: Arc<str>,
    name: Arc<str>,
    version: Arc<str>,
    body: Bytes,
    rewarms: Vec<(Arc<str>, Arc<str>)>,
}

// === impl Resource ===

impl Resource {
    /// Makes a resource out of an encoded message.
    ///
    /// `name` must be the name that the message itself carries, because clients check that.
    pub fn new(type_url: impl Into<Arc<str>>, name: impl Into<Arc<str>>, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let version = digest([body.as_ref()]);
        Self(Arc::new(Inner {
            type_url: type_url.into(),
            name: name.into(),
            version,
            body,
            rewarms: Vec::new(),
        }))
    }

    /// Says that another resource must be sent again, changed or not, after each change of this one.
    ///
    /// Envoy needs this between a cluster and its endpoints: a changed cluster of type EDS stays in
    /// warming until endpoints arrive, and Envoy does not ask for them again.
    #[must_use]
    pub fn rewarming(self, type_url: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        let Inner { type_url: own_type, name: own_name, version, body, rewarms } = &*self.0;
        let mut rewarms = rewarms.clone();
        rewarms.push((type_url.into(), name.into()));
        Self(Arc::new(Inner {
            type_url: own_type.clone(),
            name: own_name.clone(),
            version: version.clone(),
            body: body.clone(),
            rewarms,
        }))
    }

    /// The type URL of the encoded message.
    pub fn type_url(&self) -> &Arc<str> {
        &self.0.type_url
    }

    /// The name, unique within its type.
    pub fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// The digest of the encoded message: 32 hexadecimal digits.
    pub fn version(&self) -> &Arc<str> {
        &self.0.version
    }

    /// The encoded message.
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// Type and name of what has to be sent again when this resource changes.
    pub fn rewarms(&self) -> &[(Arc<str>, Arc<str>)] {
        &self.0.rewarms
    }

    /// Name and version without the content.
    pub fn versioned(&self) -> Versioned {
        Versioned { name: self.0.name.clone(), version: self.0.version.clone() }
    }

    pub(crate) fn to_any(&self) -> Any {
        Any { type_url: self.0.type_url.to_string(), value: self.0.body.to_vec() }
    }
}

/// The content is left out: it may hold what must not be printed.
impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("type_url", &self.0.type_url)
            .field("name", &self.0.name)
            .field("version", &self.0.version)
            .field("len", &self.0.body.len())
            .finish_non_exhaustive()
    }
}
