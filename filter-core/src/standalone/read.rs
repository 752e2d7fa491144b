//! Reading values, with a note of every mistake and of where it is.
//!
//! Notes tell places and rules, never a value: whoever confuses two fields must not find a key in a
//! log. For the same reason the name of a field that is not known is not told either.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{self, Write as _};

use super::Problems;
use super::json::Json;

/// The most fields of an object.
const MAX_FIELDS: usize = 4096;
/// As much is told of a name that somebody chose.
const NAME_TOLD: usize = 40;

/// Where a value stands: shown as a JSON pointer (RFC 6901), the whole in words.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    /// The whole.
    Root,
    /// In a field of an object.
    Field(&'a Path<'a>, &'a str),
    /// At a place of a list.
    At(&'a Path<'a>, usize),
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Json<'a>,
    pub(super) path: Path<'a>,
    pub(super) notes: &'a Notes,
}

/// What is wrong.
#[derive(Default)]
pub(super) struct Notes(RefCell<Problems>);

/// The fields of an object.
pub(super) struct Fields<'a> {
    entries: &'a [(Cow<'a, str>, Json<'a>)],
    path: &'a Path<'a>,
    notes: &'a Notes,
}

// === impl Notes ===

impl Notes {
    /// Notes a mistake.
    #[inline]
    pub(super) fn note(&self, path: Path<'_>, what: impl fmt::Display) {
        self.note_any(path, &what);
    }

    // The filter is small because what is rare stands in it once.
    #[cold]
    #[inline(never)]
    fn note_any(&self, path: Path<'_>, what: &dyn fmt::Display) {
        if let Ok(mut problems) = self.0.try_borrow_mut() {
            problems.add(|| format!("{path}: {what}"));
        }
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// All of it.
    pub(super) fn into_problems(self) -> Problems {
        self.0.into_inner()
    }
}

// === impl Node ===

impl<'a> Node<'a> {
    /// Notes that something is wrong with it.
    pub(super) fn wrong(&self, what: impl fmt::Display) {
        self.notes.note(self.path, what);
    }

    #[inline(never)]
    pub(super) fn text(&self) -> Option<&'a str> {
        match self.value {
            Json::Text(text) => Some(text),
            _ => {
                self.wrong("must be text");
                None
            }
        }
    }

    #[inline(never)]
    pub(super) fn flag(&self) -> Option<bool> {
        match self.value {
            Json::Bool(flag) => Some(*flag),
            _ => {
                self.wrong("must be true or false");
                None
            }
        }
    }

    #[inline(never)]
    pub(super) fn number(&self, most: u32) -> Option<u32> {
        let number = match self.value {
            Json::Number(number) => number.and_then(|number| u32::try_from(number).ok()),
            _ => None,
        };
        let number = number.filter(|number| *number <= most);
        if number.is_none() {
            self.wrong(format_args!("must be a whole number from 0 to {most}"));
        }
        number
    }

    /// The items of a list.
    pub(super) fn items(&'a self) -> impl Iterator<Item = Node<'a>> {
        let items = match self.value {
            Json::List(items) => items.as_slice(),
            _ => {
                self.wrong("must be a list");
                &[]
            }
        };
        let item = |(at, value)| Node { value, path: Path::At(&self.path, at), notes: self.notes };
        items.iter().enumerate().map(item)
    }

    /// The fields of an object with these and no others.
    #[inline(never)]
    pub(super) fn fields(&'a self, known: &[&str]) -> Option<Fields<'a>> {
        let fields = self.object()?;
        fields.check_known(known, known);
        Some(fields)
    }

    /// The fields of an object whose names anybody may choose.
    pub(super) fn entries(&'a self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        let (entries, notes) = (self.object().map_or(&[][..], |fields| fields.entries), self.notes);
        let entry = move |(name, value): &'a (Cow<'a, str>, Json<'a>)| {
            (name.as_ref(), Node { value, path: Path::Field(&self.path, name), notes })
        };
        entries.iter().map(entry)
    }

    #[inline(never)]
    fn object(&'a self) -> Option<Fields<'a>> {
        let Json::Object(entries) = self.value else {
            self.wrong("must be an object");
            return None;
        };
        let fields = Fields { entries, path: &self.path, notes: self.notes };
        fields.check_once();
        Some(fields)
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(super) fn new(entries: &'a [(Cow<'a, str>, Json<'a>)], path: &'a Path<'a>, notes: &'a Notes) -> Self {
        let fields = Self { entries, path, notes };
        fields.check_once();
        fields
    }

    /// There must be no other fields than these, of which some are told.
    #[inline(never)]
    pub(super) fn check_known(&self, known: &[&str], told: &[&str]) {
        if self.entries.iter().any(|(name, _)| !known.contains(&name.as_ref())) {
            self.notes.note(*self.path, format_args!("has a field that is none of {}", told.join(", ")));
        }
    }

    /// A field, unless it is left out or null.
    #[inline(never)]
    pub(super) fn get(&self, name: &'a str) -> Option<Node<'a>> {
        let (_, value) = self.entries.iter().find(|(other, _)| other == name)?;
        let node = Node { value, path: Path::Field(self.path, name), notes: self.notes };
        (!matches!(value, Json::Null)).then_some(node)
    }

    /// A field that must be there.
    #[inline(never)]
    pub(super) fn required(&self, name: &'a str) -> Option<Node<'a>> {
        let found = self.get(name);
        if found.is_none() {
            self.notes.note(Path::Field(self.path, name), "is missing");
        }
        found
    }

    /// Of two that say the same thing nobody knows which one is meant.
    #[inline(never)]
    fn check_once(&self) {
        if self.entries.len() > MAX_FIELDS {
            self.notes.note(*self.path, format_args!("has more than {MAX_FIELDS} fields"));
            return;
        }
        // Most have a handful.
        let mut rest = self.entries;
        while let Some(((name, _), others)) = rest.split_first() {
            if others.iter().any(|(other, _)| other == name) {
                self.notes.note(*self.path, "has a field twice");
            }
            rest = others;
        }
    }
}

// === impl Path ===

impl Path<'_> {
    /// As what others begin with.
    fn lead(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self, Self::Root) { Ok(()) } else { fmt::Display::fmt(self, f) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parent, name) = match self {
            Self::Root => return f.write_str("the configuration"),
            Self::At(parent, at) => {
                parent.lead(f)?;
                return write!(f, "/{at}");
            }
            Self::Field(parent, name) => (parent, name),
        };
        parent.lead(f)?;
        f.write_str("/")?;
        for c in name.chars().take(NAME_TOLD) {
            match c {
                '~' => f.write_str("~0")?,
                '/' => f.write_str("~1")?,
                // It stands in a log.
                c if c.is_control() => f.write_str("?")?,
                c => f.write_char(c)?,
            }
        }
        if name.chars().nth(NAME_TOLD).is_some() { f.write_str("...") } else { Ok(()) }
    }
}
