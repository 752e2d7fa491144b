//! Where the fields of the documents in a text stand.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

use super::Format;

/// A point in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, the first is 1.
    pub line: usize,
    /// The column in characters, the first is 1.
    pub column: usize,
}

/// The places of the fields in each document of a text.
#[derive(Debug, Default)]
pub struct Places {
    documents: Vec<Document>,
}

/// The place of each field, by the words of its path.
type Document = HashMap<String, Place>;

/// A list or an object that has begun.
enum Frame {
    Object { key: Option<Place> },
    List { next: usize },
}

/// Follows the events of a document.
#[derive(Default)]
struct Walk {
    document: Document,
    frames: Vec<Frame>,
    path: Vec<String>,
}

/// Between the words of a path: no key has it.
const SEPARATOR: &str = "\u{1f}";

/// The words of a path such as `spec.routes[1].matchers[0]` or `metadata.labels[a.b/c]`.
fn words(path: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (word, after) = if let Some(inner) = rest.strip_prefix('[') {
            inner.split_once(']').unwrap_or((inner, ""))
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            plain.split_at(plain.find(['.', '[']).unwrap_or(plain.len()))
        };
        if after.len() == rest.len() {
            break;
        }
        words.push(word);
        rest = after;
    }
    words
}

fn is_nothing(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, ..)
        if matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL"))
}

// === impl Place ===

impl Place {
    /// The beginning of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// A place as parsers say it: a zero is one that they do not know.
    pub(super) fn known(line: usize, column: usize) -> Option<Self> {
        (line > 0).then(|| Self { line, column: column.max(1) })
    }

    /// The place behind a text.
    pub(super) fn after(text: &str) -> Self {
        let last = text.rsplit('\n').next().unwrap_or_default();
        Self { line: text.matches('\n').count() + 1, column: last.chars().count() + 1 }
    }

    fn of(span: &Span) -> Self {
        Self { line: span.start.line().max(1), column: span.start.col() + 1 }
    }
}

// === impl Places ===

impl Places {
    /// Finds the fields of a text that [`parse_documents`](super::parse_documents) has read.
    #[must_use]
    pub fn of(text: &str, format: Format) -> Self {
        // JSON may be indented with tabs, which YAML takes for a mistake. A string has none.
        let spaced = if format == Format::Json { text.replace('\t', " ") } else { text.to_owned() };
        let mut parser = Parser::new_from_str(&spaced);
        let mut places = Self::default();
        let mut walk = Walk::default();
        let mut nothing = false;
        // What cannot be read is not found, and the nearest field around it is.
        while let Some(Ok((event, span))) = parser.next_event() {
            match &event {
                Event::DocumentStart(..) => (walk, nothing) = (Walk::default(), false),
                Event::DocumentEnd if nothing => {}
                Event::DocumentEnd => places.documents.push(std::mem::take(&mut walk.document)),
                Event::StreamEnd => break,
                event => {
                    nothing |= walk.frames.is_empty() && walk.document.is_empty() && is_nothing(event);
                    walk.on(event, Place::of(&span));
                }
            }
        }
        places
    }

    /// The place of a field of a document, or of the nearest one around it that is there. Documents
    /// that say nothing do not count.
    #[must_use]
    pub fn find(&self, document: usize, path: &str) -> Place {
        let Some(places) = self.documents.get(document) else { return Place::START };
        let mut words = words(path);
        loop {
            if let Some(place) = places.get(&words.join(SEPARATOR)) {
                return *place;
            }
            if words.pop().is_none() {
                return Place::START;
            }
        }
    }

    /// Whether a document has exactly this field.
    #[must_use]
    pub fn has(&self, document: usize, path: &str) -> bool {
        let key = words(path).join(SEPARATOR);
        self.documents.get(document).is_some_and(|places| places.contains_key(&key))
    }
}

// === impl Walk ===

impl Walk {
    fn on(&mut self, event: &Event<'_>, place: Place) {
        match event {
            Event::Scalar(text, ..) => {
                if let Some(Frame::Object { key: key @ None }) = self.frames.last_mut() {
                    *key = Some(place);
                    self.path.push(text.clone().into_owned());
                } else {
                    self.begin(place);
                    self.end();
                }
            }
            Event::Alias(..) => {
                if let Some(Frame::Object { key: key @ None }) = self.frames.last_mut() {
                    *key = Some(place);
                    self.path.push("*".to_owned());
                } else {
                    self.begin(place);
                    self.end();
                }
            }
            Event::SequenceStart(..) => {
                self.begin(place);
                self.frames.push(Frame::List { next: 0 });
            }
            Event::MappingStart(..) => {
                self.begin(place);
                self.frames.push(Frame::Object { key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.frames.pop();
                self.end();
            }
            _ => {}
        }
    }

    /// A value begins: what is in an object stands where its key does.
    fn begin(&mut self, place: Place) {
        let place = match self.frames.last() {
            Some(Frame::Object { key: Some(key) }) => *key,
            Some(Frame::List { next }) => {
                self.path.push(next.to_string());
                place
            }
            _ => place,
        };
        self.document.entry(self.path.join(SEPARATOR)).or_insert(place);
    }

    /// A value has ended.
    fn end(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Object { key }) => *key = None,
            Some(Frame::List { next }) => *next += 1,
            None => return,
        }
        self.path.pop();
    }
}

#[cfg(test)]
mod tests;
