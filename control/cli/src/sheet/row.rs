//! A row: one Secret with a key.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use keyward_resource::kinds::secret::{
    ApiKeySecret, DIGEST_FIELD, DISABLED_FIELD, KEY_FIELD, KEY_TYPE, PREVIOUS_DIGEST_FIELD,
    PREVIOUS_KEY_FIELD, is_about_the_key,
};
use serde_json::{Map, Value, json};

use super::column::Column;
use crate::hex::hex;

/// As a server reads it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// One Secret with a key, as far as a file speaks of it. It cannot be printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// The line in which it begins.
    pub(crate) line: u64,
    /// The namespace, if the file says one.
    pub(crate) namespace: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// The entries of the data, decoded.
    pub(crate) data: BTreeMap<String, Vec<u8>>,
}

/// Reads `team=infra,tier=gold`; a semicolon separates as well.
fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for pair in text.split([',', ';']).map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or("must be written as in team=infra,tier=gold")?;
        if labels.insert(name.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err("a label stands there twice".to_owned());
        }
    }
    Ok(labels)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map(str::trim).map_err(|_| "is not UTF-8".to_owned())
}

// === impl Row ===

impl Row {
    /// A row of which nothing is known yet.
    pub(super) fn at(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// Takes in a cell.
    pub(super) fn put(&mut self, column: &Column, cell: &[u8]) -> Result<(), String> {
        match column {
            Column::Name => self.name = Some(text(cell)?.to_owned()),
            Column::Namespace => self.namespace = Some(text(cell)?.to_owned()),
            Column::Labels => self.labels = labels(text(cell)?)?,
            Column::Entry { name, is_base64: true } => {
                let value = BASE64.decode(text(cell)?).map_err(|_| "must be base64".to_owned())?;
                self.put_entry(name, value)?;
            }
            Column::Entry { name, .. } => {
                let is_verbatim =
                    !is_about_the_key(name) || [KEY_FIELD, PREVIOUS_KEY_FIELD].contains(&name.as_str());
                let value = if is_verbatim { cell } else { cell.trim_ascii() };
                // Spreadsheets write it in capitals.
                let value = if name == DISABLED_FIELD { value.to_ascii_lowercase() } else { value.to_vec() };
                self.put_entry(name, value)?;
            }
        }
        Ok(())
    }

    fn put_entry(&mut self, name: &str, value: Vec<u8>) -> Result<(), String> {
        match self.data.entry(name.to_owned()) {
            Entry::Occupied(_) => Err("stands there twice: as text, and in base64".to_owned()),
            Entry::Vacant(place) => {
                place.insert(value);
                Ok(())
            }
        }
    }

    /// The Secret, as people write it. Where the file says no namespace, it is the one given.
    pub(crate) fn object(&self, namespace: &str) -> Value {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        let mut metadata = json!({ "namespace": namespace });
        if let Some(name) = &self.name {
            metadata["name"] = name.as_str().into();
        }
        if !self.labels.is_empty() {
            metadata["labels"] = json!(self.labels);
        }
        let data: Map<String, Value> =
            self.data.iter().map(|(name, value)| (name.clone(), BASE64.encode(value).into())).collect();
        json!({ "apiVersion": "v1", "kind": "Secret", "type": KEY_TYPE, "metadata": metadata, "data": data })
    }

    /// The row of a Secret: its object, and what that says.
    pub(crate) fn of(object: &Value, secret: &ApiKeySecret) -> Self {
        let data = object["data"].as_object().into_iter().flatten();
        let data = data.filter_map(|(name, value)| {
            let bytes = BASE64.decode(value.as_str()?.as_bytes()).ok()?;
            Some((name.clone(), bytes))
        });
        Self {
            line: 0,
            namespace: Some(secret.meta.namespace.clone()),
            name: Some(secret.meta.name.clone()),
            labels: secret.meta.labels.clone(),
            data: data.collect(),
        }
    }

    /// Puts digests in the place of the keys; `secret` is what the row says.
    pub(crate) fn forget_keys(&mut self, secret: &ApiKeySecret) {
        let present = secret.key.as_ref().ok();
        let previous = secret.previous.as_ref().map(|previous| &previous.key);
        let pairs =
            [(KEY_FIELD, DIGEST_FIELD, present), (PREVIOUS_KEY_FIELD, PREVIOUS_DIGEST_FIELD, previous)];
        for (key, digest, sha256) in pairs {
            if self.data.remove(key).is_some()
                && let Some(sha256) = sha256
            {
                self.data.insert(digest.to_owned(), hex(sha256).into_bytes());
            }
        }
    }

    /// The columns that it fills.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Column> {
        self.data.iter().map(|(name, value)| Column::of_entry(name, value))
    }

    /// A cell, as text; nothing where there is none.
    pub(super) fn cell(&self, column: &Column) -> Option<String> {
        match column {
            Column::Name => self.name.clone(),
            Column::Namespace => self.namespace.clone(),
            Column::Labels => {
                let pairs: Vec<String> =
                    self.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
                Some(pairs.join(","))
            }
            Column::Entry { name, is_base64 } => {
                let value = self.data.get(name)?;
                match (std::str::from_utf8(value), is_base64) {
                    (Ok(text), false) => Some(text.to_owned()),
                    (Err(_), true) => Some(BASE64.encode(value)),
                    _ => None,
                }
            }
        }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<_> = self.data.keys().collect();
        f.debug_struct("Row")
            .field("line", &self.line)
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("labels", &self.labels)
            .field("entries", &entries)
            .finish()
    }
}
