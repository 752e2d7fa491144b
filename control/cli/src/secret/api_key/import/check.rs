//! The first pass: everything that is wrong with a file.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use keyward_resource::kinds::secret::{
    ApiKeySecret, DIGEST_FIELD, KEY_FIELD, KeyProblem, PREVIOUS_KEY_FIELD,
};
use keyward_resource::{Kind, Resource, admit, decode, kind};
use serde_json::Value;

use crate::sheet::{Mistake, Row, Sheet};

#[cfg(test)]
mod tests;

/// What a file comes to.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// How many rows there are, right and wrong.
    pub(super) rows: usize,
    /// What is wrong, by line.
    pub(super) mistakes: Vec<Mistake>,
    /// Its keys, unless they may be shared.
    pub(super) keys: HashMap<[u8; 32], KeyOfRow>,
    /// The Secrets that it is about, by namespace and name.
    pub(super) places: HashSet<(String, String)>,
}

/// A key of a file.
#[derive(Debug)]
pub(super) struct KeyOfRow {
    pub(super) line: u64,
    pub(super) column: &'static str,
    /// Namespace and name.
    pub(super) place: (String, String),
}

/// What has been seen of a file, with the line where it was first.
#[derive(Default)]
struct Seen {
    places: HashMap<(String, String), u64>,
    keys: HashMap<[u8; 32], KeyOfRow>,
}

/// Reads a row as a server would: the Secret in the form in which it is stored, and what it says.
pub(super) fn read(row: &Row, namespace: &str) -> Result<(Value, ApiKeySecret), Vec<Mistake>> {
    let secret = kind::by_name("Secret").ok_or_else(Vec::new)?;
    let place = row.namespace.as_deref().unwrap_or(namespace);
    let object =
        admit(secret, place, None, row.object(namespace)).map_err(|errors| mistakes(row, &errors))?;
    let said = said(secret, &object).map_err(|errors| mistakes(row, &errors))?;
    let Some(said) = said else { return Err(Vec::new()) };
    match said.key {
        Ok(_) => Ok((object, said)),
        Err(problem) => Err(vec![Mistake::new(row.line, KEY_FIELD, lack(problem))]),
    }
}

fn said(
    secret: &'static Kind,
    object: &Value,
) -> Result<Option<ApiKeySecret>, Vec<keyward_resource::FieldError>> {
    match decode(secret, object)? {
        Resource::ApiKeySecret(said) => Ok(Some(said)),
        _ => Ok(None),
    }
}

fn mistakes(row: &Row, errors: &[keyward_resource::FieldError]) -> Vec<Mistake> {
    errors.iter().map(|error| Mistake::of_field(row.line, error)).collect()
}

/// What is wrong with a key. A server takes a Secret without one: it may be given one later.
fn lack(problem: KeyProblem) -> String {
    match problem {
        KeyProblem::Missing => format!("there is no key: {KEY_FIELD} or {DIGEST_FIELD} must say which it is"),
        other => other.to_string(),
    }
}

/// Checks all rows of a file.
pub(super) fn check(sheet: &Sheet, namespace: &str, may_share_keys: bool) -> Checked {
    let mut checked = Checked::default();
    let mut seen = Seen::default();
    for reading in sheet.rows() {
        checked.rows = checked.rows.saturating_add(1);
        let mut mistakes = reading.mistakes;
        if let Some(row) = reading.row {
            mistakes.extend(seen.place(&row, namespace));
            let more = match read(&row, namespace) {
                Ok((_, secret)) if !may_share_keys => seen.keys_of(&row, &secret),
                Ok(_) => Vec::new(),
                Err(more) => more,
            };
            // What could not be read is not missing as well.
            let told: Vec<_> = mistakes.iter().filter_map(|mistake| mistake.column.clone()).collect();
            let is_told =
                |mistake: &Mistake| mistake.column.as_ref().is_some_and(|column| told.contains(column));
            mistakes.extend(more.into_iter().filter(|mistake| !is_told(mistake)));
        }
        checked.mistakes.extend(mistakes);
    }
    checked.keys = seen.keys;
    checked.places = seen.places.into_keys().collect();
    checked
}

// === impl Checked ===

impl Checked {
    /// The namespaces of its Secrets.
    pub(super) fn namespaces(&self) -> BTreeSet<&str> {
        self.places.iter().map(|(namespace, _)| namespace.as_str()).collect()
    }
}

// === impl Seen ===

impl Seen {
    fn place(&mut self, row: &Row, namespace: &str) -> Vec<Mistake> {
        // One without a name has that mistake already.
        let Some(name) = row.name.clone() else { return Vec::new() };
        let namespace = row.namespace.as_deref().unwrap_or(namespace).to_owned();
        match self.places.entry((namespace, name)) {
            Entry::Occupied(first) => {
                let message = format!("the same name stands in line {}", first.get());
                vec![Mistake::new(row.line, "name", message)]
            }
            Entry::Vacant(place) => {
                place.insert(row.line);
                Vec::new()
            }
        }
    }

    fn keys_of(&mut self, row: &Row, secret: &ApiKeySecret) -> Vec<Mistake> {
        let present = secret.key.ok().map(|key| (KEY_FIELD, key));
        let previous = secret.previous.map(|previous| (PREVIOUS_KEY_FIELD, previous.key));
        let mut mistakes = Vec::new();
        for (column, key) in present.into_iter().chain(previous) {
            match self.keys.entry(key) {
                Entry::Occupied(first) => {
                    let message = format!("the same key stands in line {}", first.get().line);
                    mistakes.push(Mistake::new(row.line, column, message));
                }
                Entry::Vacant(vacant) => {
                    let place = (secret.meta.namespace.clone(), secret.meta.name.clone());
                    vacant.insert(KeyOfRow { line: row.line, column, place });
                }
            }
        }
        mistakes
    }
}
