//! What the server says of each object.

use keyward_resource::ObjectRef;

use crate::Looked;
use crate::code::{self, Code};
use crate::finding::Finding;
use crate::section::Section;
use crate::world::{Reported, Status};

/// What is said in a status that has a code of its own.
const SENTENCES: &[(&str, &str, &Code)] = &[
    ("AuthConfig", "hold the same key", &code::DUPLICATE_KEYS),
    ("AuthConfig", "no Secret is selected", &code::SELECTS_NO_SECRET),
    ("AuthConfig", "no selected Secret holds a usable key", &code::NO_USABLE_KEY),
    ("Secret", "holds no usable key", &code::UNUSABLE_KEY),
    ("Secret", NO_API_KEY, &code::WRONG_TYPE),
    ("Proxy", " refuses ", &code::REFUSED),
    ("Proxy", "its new routes wait", &code::KEYS_BEHIND),
];
/// What is said of a Secret with a key and another type.
pub(crate) const NO_API_KEY: &str = "is no API key, although it has";
/// What is said of what a proxy refuses.
const REFUSES: &str = " refuses it: ";

pub(crate) fn findings(looked: Looked<'_>, section: Section) -> Vec<Finding> {
    let Some((kind, word)) = section.kind() else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(why) = looked.world.unlisted(kind) {
        findings
            .push(Finding::new(&code::NOT_LISTED, format!("Could not list objects of kind {kind}: {why}")));
    }
    for (id, item) in looked.world.chosen(kind, looked.choice) {
        if let Err(problem) = &item.resource {
            let message = format!("Could not read {word}: {} {} ({problem})", id.namespace, id.name);
            findings.push(Finding::new(&code::NOT_READABLE, message).of(kind, id));
        }
        findings.extend(of_status(kind, word, id, &item.status));
    }
    findings
}

/// What is wrong with an object by its status.
pub(crate) fn of_status<'a>(
    kind: &'static str,
    word: &'a str,
    id: &'a ObjectRef,
    status: &'a Status,
) -> impl Iterator<Item = Finding> + 'a {
    let ObjectRef { namespace, name } = id;
    let missing = (!status.is_current).then(|| {
        let message = format!("Found {word} with no status: {namespace} {name}");
        Finding::new(&code::NO_STATUS, message).of(kind, id)
    });
    let said = status.reports.iter().filter_map(move |report| {
        let Reported { by, state, reason } = report;
        let (found, otherwise) = match state.as_str() {
            "Rejected" => (format!("Found rejected {word} by '{by}'"), &code::REJECTED),
            "Warning" => (format!("Found {word} with warnings by '{by}'"), &code::WARNINGS),
            _ => return None,
        };
        // As the original product says it.
        let message = match kind {
            "Gateway" | "Proxy" => format!("{found}: {namespace} {name}\nReason: {reason}\n"),
            _ => format!("{found}: {namespace} {name} (Reason: {reason})"),
        };
        Some(Finding::new(code(kind, reason).unwrap_or(otherwise), message).of(kind, id))
    });
    said.chain(missing)
}

fn code(kind: &str, reason: &str) -> Option<&'static Code> {
    if reason.contains(REFUSES) {
        return Some(&code::REFUSED);
    }
    SENTENCES.iter().find(|(of, said, _)| *of == kind && reason.contains(said)).map(|(.., code)| *code)
}

#[cfg(test)]
mod tests;
