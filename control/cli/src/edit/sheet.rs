//! What stands in the editor: an object as YAML, below comments that say what to do.

use std::fmt::Write as _;

use keyward_resource::{Format, Kind, admit, parse_body};
use serde_json::Value;

use crate::client::Place;
use crate::output::yaml;
use crate::tidy::content;

#[cfg(test)]
mod tests;

/// How wide a comment is at most.
const WIDTH: usize = 100;

/// The object as it is written, without the comments on top.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sheet(String);

/// A text as lines of a comment.
fn comment(text: &str, first: &str, into: &mut String) {
    let mut line = format!("# {first}");
    let mut words = 0;
    for word in text.split_whitespace() {
        if words > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(into, "{line}");
            line = format!("# {}", " ".repeat(first.len()));
            words = 0;
        }
        if words > 0 {
            line.push(' ');
        }
        line.push_str(word);
        words += 1;
    }
    let _ = writeln!(into, "{line}");
}

// === impl Sheet ===

impl Sheet {
    /// An object, without what only the server says.
    pub(super) fn of(object: &Value) -> anyhow::Result<Self> {
        Ok(Self(yaml(object)?))
    }

    /// What an editor has saved.
    pub(super) fn read(text: &str) -> Self {
        let rest =
            text.lines().skip_while(|line| line.trim_start().starts_with('#') || line.trim().is_empty());
        Self(rest.collect::<Vec<_>>().join("\n").trim_end().to_owned())
    }

    /// Whether nothing is written there.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an editor shows; `notes` is what is wrong.
    pub(super) fn text(&self, kind: &Kind, place: &Place, notes: &[String]) -> String {
        let mut text = String::new();
        for note in notes {
            comment(note, "error: ", &mut text);
        }
        if !notes.is_empty() {
            text.push_str("#\n");
        }
        let says = format!(
            "{} {place}. Save it and leave the editor to change it; leave it as it is, or empty, to change \
             nothing.",
            kind.name
        );
        comment(&says, "", &mut text);
        text + &self.0 + "\n"
    }

    /// The object, as it is stored without what only the server says.
    ///
    /// # Errors
    ///
    /// All mistakes in it.
    pub(super) fn object(&self, place: &Place) -> Result<Value, Vec<String>> {
        let object = parse_body(self.0.as_bytes(), Format::Yaml).map_err(|error| vec![error.to_string()])?;
        let admitted = admit(place.kind, &place.namespace, Some(&place.name), object);
        let admitted =
            admitted.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Ok(content(admitted))
    }
}
