//! `Secret`: an API key, whose name is the identity; or what TLS needs; or anything else, which is kept.

mod api_key;
mod der;
mod life;
mod pem;
mod previous;
mod tls;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use keyward_filter_core::record::is_header_value;
use serde_json::{Map, Value};

use crate::kind::{API_VERSION, GroupVersion, KIND as KIND_FIELD, Kind, METADATA};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

pub use api_key::{
    ApiKeySecret, DIGEST_FIELD, DISABLED_FIELD, EXPIRES_FIELD, KEY_FIELD, KeyProblem, MAX_KEY_LEN,
    NOT_BEFORE_FIELD, is_about_the_key,
};
pub use life::KeyLife;
pub use previous::{PREVIOUS_DIGEST_FIELD, PREVIOUS_EXPIRES_FIELD, PREVIOUS_KEY_FIELD, PreviousKey};
pub use tls::{KeyPair, PrivateKey, TlsSecret};

/// An entry of the data of a Secret. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Vec<u8>);

pub(crate) static KIND: Kind = Kind {
    name: "Secret",
    plural: "secrets",
    singular: "secret",
    short_names: &[],
    categories: &[],
    group_version: GroupVersion { group: "", version: "v1" },
    aliases: &[],
    alias_short_names: &[],
    fields: &FIELDS,
    normalize,
    read,
};

static FIELDS: Message = Message {
    name: "Secret",
    doc: "Something confidential. Type `extauth.keyward.io/apikey` holds an API key, `kubernetes.io/tls` a \
          certificate with its private key; Secrets of other types are kept and have no effect, but for root \
          certificates in `ca.crt`.",
    fields: &[
        API_VERSION,
        KIND_FIELD,
        METADATA,
        Field::new(
            "type",
            Type::String,
            "What the Secret holds: `extauth.keyward.io/apikey` (or `extauth.solo.io/apikey`), \
             `kubernetes.io/tls`, or any other word. Default `Opaque`.",
        ),
        Field::new(
            "data",
            Type::Map(&Type::Bytes),
            "The content in base64, at most 1 MiB in all. An API key stands in `api-key`, at most 4096 bytes, \
             and a line end behind it is dropped. In its place, or beside it, `api-key-sha256` may hold its \
             SHA-256 in 64 hexadecimal digits: then the key itself is known to nobody here. \
             `not-before` and `expires-at` (times as in RFC 3339) say from when and until when the key is \
             valid, by the clock of the proxy; `disabled`, `true` or `false`, whether it is refused for now. \
             `previous-api-key` or `previous-api-key-sha256`, with `previous-expires-at`, is the key before it, \
             for a rotation: it is the same identity, with the same data, until its own end. \
             While one of these cannot be read, the key is not valid. The other entries can be put into \
             headers by an AuthConfig, so each must be what a header can carry: UTF-8 without control characters \
             and without blanks at either end, but for one line end, which is dropped; and a key must be what a \
             client can send. A certificate stands in `tls.crt`, its private key in `tls.key`, root \
             certificates in `ca.crt`, all PEM.",
        ),
        Field::new(
            "stringData",
            Type::STRINGS,
            "The content as plain text. It is moved into `data`, where it wins, and never shown.",
        ),
        Field::new(
            "immutable",
            Type::Boolean,
            "Only false is supported: a Secret can always be changed. Default false.",
        ),
    ],
    unsupported: &[],
};

/// The type of a Secret that holds an API key.
pub const KEY_TYPE: &str = "extauth.keyward.io/apikey";
/// The original product's name of the same type. It is kept as it was written: who applies the same
/// file again changes nothing.
pub const KEY_TYPE_ALIAS: &str = "extauth.solo.io/apikey";
/// The type of a Secret that holds a certificate and its private key.
pub const TLS_TYPE: &str = "kubernetes.io/tls";
/// The field of the data that holds a certificate chain.
pub const TLS_CERT_FIELD: &str = "tls.crt";
/// The field of the data that holds the private key of a certificate.
pub const TLS_KEY_FIELD: &str = "tls.key";
/// The field of the data that holds root certificates.
pub const ROOT_CA_FIELD: &str = "ca.crt";
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

/// The type of a Secret by the name that it has here, where the original product has another one.
#[must_use]
pub fn canonical_type(name: &str) -> &str {
    if name == KEY_TYPE_ALIAS { KEY_TYPE } else { name }
}

fn normalize(fields: &mut Map<String, Value>) {
    fields.entry("type").or_insert_with(|| DEFAULT_TYPE.into());
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
    // As Kubernetes shows it, when the last entry is gone.
    if fields.get("data").and_then(Value::as_object).is_some_and(Map::is_empty) {
        fields.remove("data");
    }
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
    let data = fields.or("data", BTreeMap::new(), data);
    match canonical_type(secret_type?) {
        KEY_TYPE => Some(Resource::ApiKeySecret(api_key::read(fields, meta, data?))),
        TLS_TYPE => tls_pair(fields, meta, &data?).map(Resource::TlsSecret),
        _ => Some(match tls_anyway(&meta, &data?) {
            Some(secret) => Resource::TlsSecret(secret),
            None => Resource::OtherSecret(meta),
        }),
    }
}

/// Reads a Secret that says that it holds a certificate and its key. Every mistake is found.
fn tls_pair(fields: &Object<'_>, meta: Meta, data: &BTreeMap<String, Vec<u8>>) -> Option<TlsSecret> {
    let entry = |key| data.get(key).map(Vec::as_slice).filter(|bytes| !bytes.is_empty());
    let (cert, key) = (entry(TLS_CERT_FIELD), entry(TLS_KEY_FIELD));
    let cert_chain = checked(fields, TLS_CERT_FIELD, cert, tls::chain);
    let private_key = checked(fields, TLS_KEY_FIELD, key, tls::private_key);
    let root_ca = match entry(ROOT_CA_FIELD) {
        None => Some(None),
        root_ca => checked(fields, ROOT_CA_FIELD, root_ca, tls::roots).map(Some),
    };
    let (cert_chain, private_key, root_ca) = (cert_chain?, private_key?, root_ca?);
    if !tls::belong_together(cert?, key?) {
        fields.invalid_entry("data", TLS_KEY_FIELD, "is not the key of the certificate in tls.crt");
        return None;
    }
    Some(TlsSecret { meta, pair: Some(KeyPair { cert_chain, private_key }), root_ca })
}

/// Reads an entry of the data that must be there.
fn checked<T>(
    fields: &Object<'_>,
    key: &str,
    bytes: Option<&[u8]>,
    read: fn(&[u8]) -> Result<T, String>,
) -> Option<T> {
    let Some(bytes) = bytes else {
        fields.missing_entry("data", key, "a Secret of this type needs it");
        return None;
    };
    read(bytes).map_err(|why| fields.invalid_entry("data", key, &why)).ok()
}

/// What TLS can use of a Secret of another type: tools often keep root certificates in an `Opaque` one.
/// Whatever else stands there is no mistake, because the Secret never said that it is about TLS.
fn tls_anyway(meta: &Meta, data: &BTreeMap<String, Vec<u8>>) -> Option<TlsSecret> {
    let root_ca = data.get(ROOT_CA_FIELD).and_then(|bytes| tls::roots(bytes).ok());
    let pair = data.get(TLS_CERT_FIELD).zip(data.get(TLS_KEY_FIELD)).and_then(|(cert, key)| {
        let pair = KeyPair { cert_chain: tls::chain(cert).ok()?, private_key: tls::private_key(key).ok()? };
        tls::belong_together(cert, key).then_some(pair)
    });
    (root_ca.is_some() || pair.is_some()).then(|| TlsSecret { meta: meta.clone(), pair, root_ca })
}

/// Checks the data and decodes them.
fn data(node: Node<'_>) -> Option<BTreeMap<String, Vec<u8>>> {
    let entries = node.secret().entries()?;
    let mut len = 0_usize;
    let mut data = BTreeMap::new();
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
                data.insert(key.to_owned(), bytes);
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
    valid.then_some(data)
}

// === impl SecretValue ===

impl SecretValue {
    /// The bytes, for the header of a request alone.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The value as a header can carry it: one line end behind it is dropped, as `echo` leaves it there.
    /// None when no header can carry it (see [`header_problem`](Self::header_problem)).
    #[must_use]
    pub fn header_value(&self) -> Option<&[u8]> {
        self.header_problem().is_none().then(|| api_key::line(&self.0))
    }

    /// Why no header can carry it as it is (RFC 9110, section 5.5).
    #[must_use]
    pub fn header_problem(&self) -> Option<&'static str> {
        let value = api_key::line(&self.0);
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if std::str::from_utf8(value).is_err() {
            Some("must be UTF-8: what stands beside a key is what an AuthConfig can put into a header")
        } else if is_header_value(value) {
            None
        } else if is_blank(value.first()) || is_blank(value.last()) {
            Some("must not begin or end with a blank, which no header carries")
        } else {
            Some(
                "must have no control characters, such as line ends: what stands beside a key is what an AuthConfig \
                 can put into a header",
            )
        }
    }
}

impl From<Vec<u8>> for SecretValue {
    fn from(value: Vec<u8>) -> Self {
        Self(value)
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
