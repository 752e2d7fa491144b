//! `AuthConfig`: what a secured route demands.

use std::collections::BTreeMap;

use crate::error::FieldErrorReason;
use crate::kind::{
    API_VERSION, CATEGORY, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::{Meta, ObjectRef};
use crate::metadata;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// An `AuthConfig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// Its metadata.
    pub meta: Meta,
    /// The one entry of `spec.configs`.
    pub api_key_auth: ApiKeyAuth,
}

/// `spec.configs[].apiKeyAuth`, the storage block and the deprecated fields made one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// The header that carries the key, in lower case.
    pub header_name: String,
    /// Selects Secrets of the key type in every namespace that have all these labels.
    pub label_selector: BTreeMap<String, String>,
    /// Selects Secrets by name.
    pub secret_refs: Vec<ObjectRef>,
    /// Keeps the verified key for the upstream.
    pub forward_key: bool,
}

pub(crate) static KIND: Kind = Kind {
    name: "AuthConfig",
    plural: "authconfigs",
    singular: "authconfig",
    short_names: &["ac"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "enterprise.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "enterprise.gloo.solo.io", version: "v1" }],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "AuthConfig",
    doc: "What a secured route demands of a request.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "AuthConfigSpec",
    doc: "",
    fields: &[Field::new("configs", Type::Any, ""), Field::new("failOnRedirect", Type::Any, "")],
    unsupported: &["booleanExpr"],
};

static CONFIG: Message = Message {
    name: "AuthConfigConfig",
    doc: "",
    fields: &[Field::new("name", Type::Any, ""), Field::new("apiKeyAuth", Type::Any, "")],
    unsupported: &[
        "basicAuth",
        "hmacAuth",
        "jwt",
        "ldap",
        "oauth",
        "oauth2",
        "opaAuth",
        "opaServerAuth",
        "passThroughAuth",
        "pluginAuth",
        "portalAuth",
    ],
};

static API_KEY_AUTH: Message = Message {
    name: "AuthConfigApiKeyAuth",
    doc: "",
    fields: &[
        Field::new("headerName", Type::Any, ""),
        Field::new("k8sSecretApikeyStorage", Type::Any, ""),
        Field::new("labelSelector", Type::Any, ""),
        Field::new("apiKeySecretRefs", Type::Any, ""),
        Field::new("forwardKey", Type::Any, ""),
    ],
    unsupported: &[
        "aerospikeApikeyStorage",
        "digest",
        "headersFromMetadata",
        "headersFromMetadataEntry",
        "hmac",
        "match",
        "skipMetadataValidation",
    ],
};

static STORAGE: Message = Message {
    name: "AuthConfigStorage",
    doc: "",
    fields: &[Field::new("labelSelector", Type::Any, ""), Field::new("apiKeySecretRefs", Type::Any, "")],
    unsupported: &[],
};

/// The header that carries the key when none is named.
const DEFAULT_HEADER: &str = "api-key";
/// The header that carries the identity. It is the default of the filter too, which is a lower layer.
const IDENTITY_HEADER: &str = "x-user-id";

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "an AuthConfig needs a spec")?.object(&SPEC)?;
    spec.only("failOnRedirect", false);
    let configs = spec.required("configs", "must have an entry, such as apiKeyAuth")?.list()?;
    match configs.len() {
        0 => {
            configs.node().required("must have an entry, such as apiKeyAuth");
            None
        }
        1 => {
            let api_key_auth = configs.iter().find_map(|config| read_config(config, &meta))?;
            Some(Resource::AuthConfig(AuthConfig { meta, api_key_auth }))
        }
        more => {
            for config in configs.iter() {
                read_config(config, &meta);
            }
            let message = format!("{more} entries: more than one is not supported yet by this version");
            configs.node().error(FieldErrorReason::NotSupported, message);
            None
        }
    }
}

fn read_config(node: Node<'_>, meta: &Meta) -> Option<ApiKeyAuth> {
    let config = node.object(&CONFIG)?;
    config.optional("name").and_then(|name| name.string());
    let auth = config.choice("apiKeyAuth", "an entry needs a method, such as apiKeyAuth")?;
    let auth = auth.object(&API_KEY_AUTH)?;
    let header_name = auth.or("headerName", DEFAULT_HEADER.to_owned(), header_name);
    let forward_key = auth.or("forwardKey", false, |forward| forward.boolean());
    // The deprecated fields are checked even where the storage block makes them void.
    let deprecated = selection(&auth, meta);
    let storage = auth.optional("k8sSecretApikeyStorage");
    let (label_selector, secret_refs) = match storage {
        Some(storage) => selection(&storage.object(&STORAGE)?, meta)?,
        None => deprecated?,
    };
    Some(ApiKeyAuth { header_name: header_name?, label_selector, secret_refs, forward_key: forward_key? })
}

fn header_name(node: Node<'_>) -> Option<String> {
    let name = node.string()?.to_ascii_lowercase();
    if name.is_empty() {
        return Some(DEFAULT_HEADER.to_owned());
    }
    match syntax::key_header(&name, IDENTITY_HEADER) {
        Ok(()) => Some(name),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}

/// Which Secrets: what matches the selector and what is named, together.
fn selection(fields: &Object<'_>, meta: &Meta) -> Option<(BTreeMap<String, String>, Vec<ObjectRef>)> {
    let labels = fields.or("labelSelector", BTreeMap::new(), metadata::labels);
    let refs = fields.or("apiKeySecretRefs", Vec::new(), |refs| metadata::references(&refs.list()?, meta));
    Some((labels?, refs?))
}

// === impl ApiKeyAuth ===

impl ApiKeyAuth {
    /// Why an `AuthConfig` that [selects nothing](Self::selects_nothing) is rejected.
    pub const SELECTS_NOTHING: &str =
        "it selects no Secret: give labelSelector or apiKeySecretRefs, else no key could ever be valid";

    /// Whether it names no Secret in any way. It is rejected then: an empty selector does not mean
    /// all Secrets.
    #[must_use]
    pub fn selects_nothing(&self) -> bool {
        self.label_selector.is_empty() && self.secret_refs.is_empty()
    }
}
