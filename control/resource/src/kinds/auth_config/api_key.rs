//! `spec.configs[].apiKeyAuth`: a key in a header, and which Secrets hold the valid ones.

use std::collections::BTreeMap;

use super::key_source::{self, KEY_SOURCE, KeyPlace};
use crate::kinds::secret::is_about_the_key;
use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax::{self, headers};

/// `spec.configs[].apiKeyAuth`, the storage block and the deprecated fields made one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// The header that carries the key, in lower case. Void where there are `places`.
    pub header_name: String,
    /// Where the key may stand, looked at in this order.
    pub places: Vec<KeyPlace>,
    /// Selects Secrets of the key type in every namespace that have all these labels.
    pub label_selector: BTreeMap<String, String>,
    /// Selects Secrets by name.
    pub secret_refs: Vec<ObjectRef>,
    /// Keeps the verified key for the upstream.
    pub forward_key: bool,
    /// Without a key it succeeds too, and gives no identity.
    pub anonymous: bool,
    /// Headers that tell the upstream an entry of the Secret, by their names in lower case.
    pub headers_from_metadata: BTreeMap<String, MetadataEntry>,
}

/// An entry of the Secret that holds a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataEntry {
    /// The name of the entry in the data of the Secret.
    pub name: String,
    /// A key whose Secret has no such entry is not valid.
    pub required: bool,
}

pub(super) static API_KEY_AUTH: Message = Message {
    name: "ApiKeyAuth",
    doc: "A request must carry the API key of a Secret. The name of the Secret is the identity of the caller, \
          which the upstream is told in the header `x-user-id`.",
    fields: &[
        Field::new(
            "headerName",
            Type::String,
            "The header that carries the key. Default `api-key`. Headers with another meaning, such as `host`, \
             `cookie` and `x-forwarded-for`, are refused; `authorization` is not.",
        ),
        Field::new(
            "keySource",
            Type::Object(&KEY_SOURCE),
            "Where the key may stand, in place of headerName: headers, with a prefix or without, query \
             parameters and cookies.",
        ),
        Field::new(
            "k8sSecretApikeyStorage",
            Type::Object(&STORAGE),
            "Which Secrets hold the valid keys. Stands in place of labelSelector and apiKeySecretRefs.",
        ),
        Field::new(
            "labelSelector",
            Type::STRINGS,
            "Deprecated: the same in k8sSecretApikeyStorage. Void beside it.",
        ),
        Field::new(
            "apiKeySecretRefs",
            Type::List(&Type::Object(&REFERENCE)),
            "Deprecated: the same in k8sSecretApikeyStorage. Void beside it.",
        ),
        Field::new(
            "headersFromMetadataEntry",
            Type::Map(&Type::Object(&METADATA_ENTRY)),
            "Headers for the upstream by name, and which entry in the data of the Secret fills each. While a route \
             uses the AuthConfig, what clients send in these headers is removed from every request to its proxy, \
             so headers with another meaning are refused.",
        ),
        Field::new(
            "headersFromMetadata",
            Type::Map(&Type::Object(&METADATA_ENTRY)),
            "Deprecated: the same as headersFromMetadataEntry, which wins for a header that stands in both.",
        ),
        Field::new(
            "forwardKey",
            Type::Boolean,
            "Whether the upstream sees the key too. Default false: it is taken out of the request.",
        ),
        Field::new(
            "anonymous",
            Type::Boolean,
            "Whether a request without a key succeeds here too, and passes without an identity: the upstream sees \
             no `x-user-id`. Every route of the AuthConfig is open then to requests without any key, unless \
             another config demands one. A key that is wrong, expired or disabled is still answered with 401, and \
             a valid one always gives its identity. Default false. A field of Keyward.",
        ),
        Field::new(
            "skipMetadataValidation",
            Type::Boolean,
            "Has no effect: the entries of a Secret are checked once, when it is read, and an entry that no \
             header can carry is never sent.",
        ),
    ],
    unsupported: &["aerospikeApikeyStorage", "digest", "hmac", "match"],
};

static STORAGE: Message = Message {
    name: "K8sSecretApiKeyStorage",
    doc: "Which Secrets of type `extauth.keyward.io/apikey` hold the valid keys: those that labelSelector \
          selects and those that are named, together.",
    fields: &[
        Field::new(
            "labelSelector",
            Type::STRINGS,
            "Secrets with all these labels, in every namespace that is watched. An empty selector selects none.",
        ),
        Field::new(
            "apiKeySecretRefs",
            Type::List(&Type::Object(&REFERENCE)),
            "Secrets by name. One without a namespace is looked for in that of the AuthConfig.",
        ),
    ],
    unsupported: &[],
};

static METADATA_ENTRY: Message = Message {
    name: "ApiKeyMetadataEntry",
    doc: "An entry in the data of the Secret that holds a key.",
    fields: &[
        Field::required(
            "name",
            Type::String,
            "The name of the entry; none of those that are about the key itself, such as `api-key` or `expires-at`.",
        ),
        Field::new(
            "required",
            Type::Boolean,
            "Whether a key whose Secret has no such entry is not valid. Default false: the header is left out.",
        ),
    ],
    unsupported: &[],
};

/// The header that carries the key when none is named.
const DEFAULT_HEADER: &str = "api-key";
/// The header that carries the identity. It is the default of the filter too, which is a lower layer.
pub(super) const IDENTITY_HEADER: &str = "x-user-id";

/// Reads `apiKeyAuth`.
pub(super) fn read(node: Node<'_>, meta: &Meta, warnings: &mut Vec<String>) -> Option<ApiKeyAuth> {
    let auth = node.object(&API_KEY_AUTH)?;
    let header_name = auth.or("headerName", DEFAULT_HEADER.to_owned(), header_name);
    if let Some(header) = auth.optional("keySource").and_then(|_| auth.optional("headerName")) {
        header.invalid("stands beside keySource, which names all headers: give only one of them");
    }
    let places = auth.or("keySource", Vec::new(), key_source::read);
    let forward_key = auth.flag("forwardKey", false);
    let anonymous = auth.flag("anonymous", false);
    if auth.flag("skipMetadataValidation", false)? {
        warnings.push("skipMetadataValidation has no effect: checking costs nothing here".to_owned());
    }
    // The deprecated fields are checked even where newer ones make them void.
    let older = auth.or("headersFromMetadata", BTreeMap::new(), told);
    let newer = auth.or("headersFromMetadataEntry", BTreeMap::new(), told);
    let deprecated = selection(&auth, meta);
    let storage = auth.maybe("k8sSecretApikeyStorage", |storage| selection(&storage.object(&STORAGE)?, meta));
    let deprecated = deprecated?;
    let (label_selector, secret_refs) = storage?.unwrap_or(deprecated);
    let mut headers_from_metadata = older?;
    headers_from_metadata.extend(newer?);
    let read = ApiKeyAuth {
        header_name: header_name?,
        places: places?,
        label_selector,
        secret_refs,
        forward_key: forward_key?,
        anonymous: anonymous?,
        headers_from_metadata,
    };
    if read.selects_nothing() {
        node.required(ApiKeyAuth::SELECTS_NOTHING);
        return None;
    }
    Some(read)
}

fn header_name(node: Node<'_>) -> Option<String> {
    let name = node.string()?.to_ascii_lowercase();
    if name.is_empty() {
        return Some(DEFAULT_HEADER.to_owned());
    }
    match headers::key_header(&name, IDENTITY_HEADER) {
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

fn told(node: Node<'_>) -> Option<BTreeMap<String, MetadataEntry>> {
    let entries = node.entries()?;
    let mut told = BTreeMap::new();
    let mut valid = true;
    for (key, node) in entries.iter() {
        let name = key.to_ascii_lowercase();
        if let Err(why) = headers::told_header(&name, IDENTITY_HEADER) {
            node.invalid_key(why);
            valid = false;
        }
        match entry(node) {
            Some(_) if told.contains_key(&name) => {
                node.invalid_key("names a header that stands there in other letters too");
                valid = false;
            }
            Some(entry) => {
                told.insert(name, entry);
            }
            None => valid = false,
        }
    }
    valid.then_some(told)
}

fn entry(node: Node<'_>) -> Option<MetadataEntry> {
    let fields = node.object(&METADATA_ENTRY)?;
    let name = fields.required("name", "the name of an entry in the data of the Secret");
    let name = name.and_then(|node| metadata::word(&node, entry_name));
    let required = fields.flag("required", false);
    Some(MetadataEntry { name: name?, required: required? })
}

fn entry_name(name: &str) -> syntax::Check {
    if is_about_the_key(name) {
        return Err(
            "is about the key itself and goes into no header: forwardKey: true keeps the key in its own",
        );
    }
    syntax::data_key(name)
}

// === impl ApiKeyAuth ===

impl ApiKeyAuth {
    /// What is wrong with the headers that it names, where this header carries the identity: the same rules
    /// as when it is written, when the identity header is not known.
    #[must_use]
    pub fn header_problems(&self, identity_header: &str) -> Vec<String> {
        let only = self.places.is_empty().then_some(("headerName", self.header_name.as_str()));
        let places = self.places.iter().filter_map(|place| match place {
            KeyPlace::Header { name, .. } => Some(("keySource", name.as_str())),
            KeyPlace::QueryParam(_) | KeyPlace::Cookie(_) => None,
        });
        let key = only.into_iter().chain(places).filter_map(|(field, name)| {
            let why = headers::key_header(name, identity_header).err()?;
            Some(format!("{field}: {name} {why}"))
        });
        let told = self.headers_from_metadata.keys().filter_map(|name| {
            let why = headers::told_header(name, identity_header).err()?;
            Some(format!("headersFromMetadataEntry: {name} {why}"))
        });
        key.chain(told).collect()
    }

    /// Why an `AuthConfig` that [selects nothing](Self::selects_nothing) is rejected.
    pub const SELECTS_NOTHING: &str =
        "it selects no Secret: give labelSelector or apiKeySecretRefs, else no key could ever be valid";

    /// The header in which keys are looked for where no place is named.
    pub const DEFAULT_HEADER: &str = DEFAULT_HEADER;

    /// The headers in which the key is looked for.
    pub fn key_headers(&self) -> impl Iterator<Item = &str> {
        let only = self.places.is_empty().then_some(self.header_name.as_str());
        only.into_iter().chain(self.places.iter().filter_map(|place| match place {
            KeyPlace::Header { name, .. } => Some(name.as_str()),
            KeyPlace::Cookie(_) => Some("cookie"),
            KeyPlace::QueryParam(_) => None,
        }))
    }

    /// Whether it names no Secret in any way. It is rejected then: an empty selector does not mean
    /// all Secrets.
    #[must_use]
    pub fn selects_nothing(&self) -> bool {
        self.label_selector.is_empty() && self.secret_refs.is_empty()
    }
}
