//! Reads one file into the objects that it holds. Pure.

use std::fmt;
use std::sync::Arc;

use keyward_api::Target;
use keyward_resource::{ApiStatus, Format, GroupVersion, Kind, Place, Places, admit, kind, parse_documents};
use keyward_store::Key;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::mark;
use crate::problem::Problem;

/// The namespace of an object that names none, as with `kubectl apply`.
pub(crate) const NAMESPACE: &str = "default";

/// Fields of the metadata that servers keep. Files that were made from what a server showed have
/// them, and there they mean nothing.
const SERVERS_OWN: &[&str] = &["resourceVersion", "uid", "managedFields"];

/// An object as a file wants it.
#[derive(Clone, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) target: Target,
    pub(crate) key: Key,
    pub(crate) object: Value,
    pub(crate) place: Place,
    /// What the object says, as a hash.
    pub(crate) digest: [u8; 32],
}

/// A file that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Manifests {
    /// Its objects; none of a broken file.
    pub(crate) objects: Vec<Manifest>,
    /// What is wrong with it. It is broken when there is anything.
    pub(crate) problems: Vec<Problem>,
    /// Whether its lines may be shown.
    text: Option<Arc<str>>,
}

/// A file while it is read.
struct Reader<'a> {
    file: &'a str,
    namespace: &'a str,
    places: Places,
    objects: Vec<Manifest>,
    mistakes: Vec<Mistake>,
}

struct Mistake {
    place: Place,
    key: Option<Key>,
    message: String,
}

/// The format of a file of this name; none when it holds no resources.
pub(crate) fn format_of(name: &str) -> Option<Format> {
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() || name.starts_with('.') {
        return None;
    }
    match extension {
        "yaml" | "yml" => Some(Format::Yaml),
        "json" => Some(Format::Json),
        _ => None,
    }
}

/// Whether a text that could not be read may hold an API key. Only a text whose every document says,
/// on a line of its own, that it is something else is sure not to.
fn may_hold_keys(text: &str) -> bool {
    let mut said = 0;
    for line in text.lines() {
        let words = line.trim_start_matches(['-', ' ', '\t', '"', '\'']);
        let Some((key, value)) = words.split_once(':') else { continue };
        if key.trim_end().trim_end_matches(['"', '\'']) != "kind" {
            continue;
        }
        let name = value.trim().trim_matches(['"', '\'', ',']);
        if name != "List" && (name == "Secret" || kind::by_name(name).is_none()) {
            return true;
        }
        said += 1;
    }
    let lower = text.to_ascii_lowercase();
    let lines = || text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let starts = usize::from(lines().next().is_some_and(|line| !line.starts_with("---")));
    let documents = starts + lines().filter(|line| line.starts_with("---")).count();
    said == 0
        || said < documents
        || said != keys(&lower, "kind").count()
        || lower.contains("stringdata")
        || keys(&lower, "data").any(|before| !before.ends_with(|char: char| char.is_ascii_alphanumeric()))
}

/// What stands before each place where a word is a key, or the end of one.
fn keys<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(word).filter_map(move |(index, _)| {
        let (before, rest) = text.split_at(index);
        let after = rest.get(word.len()..)?.trim_start_matches(['"', '\'', ' ', '\t']);
        after.starts_with(':').then_some(before)
    })
}

/// Reads a file. Objects that name no namespace are in this one.
pub(crate) fn read(file: &str, bytes: &[u8], format: Format, namespace: &str) -> Manifests {
    let documents = match parse_documents(bytes, format) {
        Ok(documents) => documents,
        Err(malformed) => {
            let text = str::from_utf8(bytes).ok().filter(|text| !may_hold_keys(text));
            let problem = Problem::of_file(file, malformed.to_string());
            let problem = match malformed.place {
                Some(place) => problem.at(place, text),
                None => problem,
            };
            return Manifests { problems: vec![problem], ..Manifests::default() };
        }
    };
    let text = str::from_utf8(bytes).unwrap_or_default();
    let places = Places::of(text, format);
    let mut reader = Reader { file, namespace, places, objects: Vec::new(), mistakes: Vec::new() };
    for (index, document) in documents.into_iter().enumerate() {
        reader.document(index, document);
    }
    reader.finish(text)
}

// === impl Manifest ===

impl fmt::Debug for Manifest {
    // An object may hold an API key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifest").field("key", &self.key).field("place", &self.place).finish_non_exhaustive()
    }
}

// === impl Manifests ===

impl Manifests {
    /// A file that cannot be read at all.
    pub(crate) fn unreadable(file: &str, why: impl Into<String>) -> Self {
        Self { problems: vec![Problem::of_file(file, why)], ..Self::default() }
    }

    pub(crate) fn is_broken(&self) -> bool {
        !self.problems.is_empty()
    }

    /// A problem with one of its objects.
    pub(crate) fn problem(&self, file: &str, manifest: &Manifest, message: impl Into<String>) -> Problem {
        let problem = Problem::of_file(file, message).about(&manifest.key);
        problem.at(manifest.place, self.text.as_deref())
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn document(&mut self, index: usize, document: Value) {
        let is_list = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
        let items = match document {
            Value::Object(mut fields) if is_list && fields.contains_key("items") => fields.remove("items"),
            // As `keyward get -o json` writes them.
            document @ Value::Array(_) => Some(document),
            document => return self.object(index, "", document),
        };
        let list = if is_list { "items" } else { "" };
        match items {
            Some(Value::Array(items)) => {
                for (item, object) in items.into_iter().enumerate() {
                    self.object(index, &format!("{list}[{item}]"), object);
                }
            }
            _ => self.mistake(index, "items", None, "items: must be a list".to_owned()),
        }
    }

    /// Reads the object that stands at a path of a document.
    fn object(&mut self, document: usize, path: &str, object: Value) {
        let inside = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, name) = (text("/apiVersion"), text("/kind"));
        if !object.is_object() {
            return self.mistake(document, path, None, "an object was expected here".to_owned());
        }
        for (field, value) in [("apiVersion", api_version), ("kind", name)] {
            if value.is_empty() {
                let message = format!("{field}: an object says its {field}");
                return self.mistake(document, &inside(field), None, message);
            }
        }
        let target = match Target::of_object(&object, self.namespace) {
            Ok(target) => target,
            Err(status) => {
                let field = match (kind::by_type(api_version, name), kind::by_name(name)) {
                    (Some(_), _) => "metadata.name",
                    (None, Some(_)) => "apiVersion",
                    (None, None) => "kind",
                };
                let hint = kind::by_name(name).map_or_else(String::new, served);
                return self.mistake(document, &inside(field), None, status.message + &hint);
            }
        };
        if target.kind.is_written_by_server() {
            let message = ApiStatus::written_by_server(target.kind).message;
            return self.mistake(document, &inside("kind"), None, message);
        }
        let key = Key::new(
            target.kind.name,
            target.namespace.clone().unwrap_or_default(),
            target.name.clone().unwrap_or_default(),
        );
        let object = cleaned(object);
        let name = target.name.as_deref();
        if let Err(errors) = admit(target.kind, &key.namespace, name, object.clone()) {
            for error in errors {
                let mut field = inside(&error.path);
                if let Some(rest) = error.path.strip_prefix("data[") {
                    let text = inside(&format!("stringData[{rest}"));
                    // The one is folded into the other before it is checked.
                    field = if self.places.has(document, &text) { text } else { field };
                }
                self.mistake(document, &field, Some(key.clone()), error.to_string());
            }
            return;
        }
        let place = self.places.find(document, path);
        if let Some(first) = self.objects.iter().find(|manifest| manifest.key == key) {
            let Place { line, column } = first.place;
            let message = format!("this object stands in the file twice, also at {line}:{column}");
            return self.mistake(document, path, Some(key), message);
        }
        let digest = Sha256::digest(object.to_string()).into();
        self.objects.push(Manifest { target, key, object, place, digest });
    }

    fn mistake(&mut self, document: usize, path: &str, key: Option<Key>, message: String) {
        let place = self.places.find(document, path);
        self.mistakes.push(Mistake { place, key, message });
    }

    fn finish(self, text: &str) -> Manifests {
        let is_secret = |key: &Key| key.kind == "Secret";
        let all_known = self.mistakes.iter().all(|mistake| mistake.key.is_some());
        let any_secret = self.objects.iter().map(|manifest| &manifest.key).any(is_secret)
            || self.mistakes.iter().filter_map(|mistake| mistake.key.as_ref()).any(is_secret);
        let shown = !any_secret && (all_known || !may_hold_keys(text));
        let text = shown.then(|| Arc::from(text));
        if self.mistakes.is_empty() {
            return Manifests { objects: self.objects, problems: Vec::new(), text };
        }
        let problem = |mistake: Mistake| {
            let problem = Problem::of_file(self.file, mistake.message).at(mistake.place, text.as_deref());
            match mistake.key {
                Some(key) => problem.about(key),
                None => problem,
            }
        };
        let problems = self.mistakes.into_iter().map(problem).collect();
        Manifests { objects: Vec::new(), problems, text }
    }
}

fn served(kind: &Kind) -> String {
    let versions: Vec<_> =
        kind.group_versions().map(|served: GroupVersion| format!("\"{served}\"")).collect();
    format!("; {} is served as {}", kind.name, versions.join(", "))
}

/// The object without what only servers say.
fn cleaned(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in SERVERS_OWN {
            metadata.remove(*key);
        }
    }
    mark::strip(&mut object);
    object
}

#[cfg(test)]
mod tests;
