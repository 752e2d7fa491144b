//! `Secret` of type `extauth.keyward.io/apikey`: one API key, whose name is the identity.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::kind::{GroupVersion, Kind};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// The longest API key, in bytes.
pub const MAX_KEY_LEN: usize = 4096;

/// A Secret that should hold an API key. The key itself is gone: only its SHA-256 is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeySecret {
    /// Its metadata. The name is the identity of the key.
    pub meta: Meta,
    /// The SHA-256 of the key, or why there is none.
    pub key: Result<[u8; 32], KeyProblem>,
    /// A trailing newline was dropped from the key.
    pub trailing_newline: bool,
}

/// Why a Secret of the right type holds no usable key. It alone is skipped, and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// There is no `api-key`.
    #[error("data has no api-key")]
    Missing,
    /// The key is empty.
    #[error("data.api-key is empty")]
    Empty,
    /// The key is longer than [`MAX_KEY_LEN`].
    #[error("data.api-key is longer than 4096 bytes")]
    TooLong,
}

pub(crate) static KIND: Kind = Kind {
    name: "Secret",
    plural: "secrets",
    singular: "secret",
    short_names: &[],
    categories: &[],
    group_version: GroupVersion { group: "", version: "v1" },
    aliases: &[],
    fields: &FIELDS,
    normalize,
    read,
};

static FIELDS: Message = Message {
    name: "SecretFields",
    doc: "",
    fields: &[
        Field::new("apiVersion", Type::Any, ""),
        Field::new("kind", Type::Any, ""),
        Field::new("metadata", Type::Any, ""),
        Field::new("type", Type::Any, ""),
        Field::new("data", Type::Any, ""),
        Field::new("stringData", Type::Any, ""),
        Field::new("immutable", Type::Any, ""),
    ],
    unsupported: &[],
};

/// The type of a Secret that holds an API key.
pub const KEY_TYPE: &str = "extauth.keyward.io/apikey";
/// The original product's name of the same type, accepted as an alias.
pub const KEY_TYPE_ALIAS: &str = "extauth.solo.io/apikey";
/// The field of the data that holds the API key.
pub const KEY_FIELD: &str = "api-key";
/// The type of a Secret that names none, as in Kubernetes.
const DEFAULT_TYPE: &str = "Opaque";
/// All data of a Secret together, as Kubernetes limits them.
const MAX_DATA_LEN: usize = 1024 * 1024;

/// As lenient as the decoder of Kubernetes: padding is a must, stray bits at the end are not looked
/// at.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn normalize(fields: &mut Map<String, Value>) {
    let kind = fields.entry("type").or_insert_with(|| DEFAULT_TYPE.into());
    if kind == KEY_TYPE_ALIAS {
        *kind = KEY_TYPE.into();
    }
    if let Some(Value::Object(data)) = fields.get_mut("data") {
        for value in data.values_mut() {
            // Folded base64 is common in YAML, and Kubernetes reads over line ends too.
            if let Value::String(text) = value
                && text.contains(['\r', '\n'])
            {
                text.retain(|char| !matches!(char, '\r' | '\n'));
            }
        }
    }
    fold_string_data(fields);
}

/// Moves `stringData` into `data`, where it wins, unless either is malformed.
fn fold_string_data(fields: &mut Map<String, Value>) {
    let foldable = matches!(fields.get("data"), None | Some(Value::Object(_)))
        && matches!(fields.get("stringData"), Some(Value::Object(texts)) if texts.values().all(Value::is_string));
    if !foldable {
        return;
    }
    if let Some(Value::Object(texts)) = fields.remove("stringData")
        && let Value::Object(data) = fields.entry("data").or_insert_with(|| Map::new().into())
    {
        for (key, text) in texts {
            data.insert(key, BASE64.encode(text.as_str().unwrap_or_default()).into());
        }
    }
}

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    fields.only("immutable", false);
    let secret_type = fields.or("type", DEFAULT_TYPE, |node| node.string());
    if let Some(texts) = fields.optional("stringData").and_then(|node| node.secret().entries()) {
        for (_, text) in texts.iter() {
            text.string();
        }
    }
    let key = fields.or("data", None, data);
    if secret_type? != KEY_TYPE {
        return Some(Resource::OtherSecret(meta));
    }
    let (key, trailing_newline) = match key? {
        None => (Err(KeyProblem::Missing), false),
        Some(key) => digest(&key),
    };
    Some(Resource::ApiKeySecret(ApiKeySecret { meta, key, trailing_newline }))
}

/// Checks the data; answers with the API key in it.
fn data(node: Node<'_>) -> Option<Option<Vec<u8>>> {
    let entries = node.secret().entries()?;
    let mut len = 0_usize;
    let mut api_key = None;
    let mut valid = true;
    for (key, node) in entries.iter() {
        if let Err(why) = syntax::data_key(key) {
            node.invalid_key(why);
            valid = false;
        }
        let Some(text) = node.string() else {
            valid = false;
            continue;
        };
        match BASE64.decode(text) {
            Ok(bytes) => {
                len = len.saturating_add(bytes.len());
                if key == KEY_FIELD {
                    api_key = Some(bytes);
                }
            }
            Err(_) => {
                node.invalid("must be base64; plain text goes into stringData");
                valid = false;
            }
        }
    }
    if len > MAX_DATA_LEN {
        entries.node().invalid(format_args!("must have at most {MAX_DATA_LEN} bytes in all"));
        valid = false;
    }
    valid.then_some(api_key)
}

/// All that is kept of a key, and whether a newline at its end was dropped.
fn digest(key: &[u8]) -> (Result<[u8; 32], KeyProblem>, bool) {
    let line = key.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let trimmed = line.unwrap_or(key);
    let digest = match trimmed.len() {
        0 => Err(KeyProblem::Empty),
        1..=MAX_KEY_LEN => Ok(Sha256::digest(trimmed).into()),
        _ => Err(KeyProblem::TooLong),
    };
    (digest, line.is_some())
}
