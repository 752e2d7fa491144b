//! Reads a JSON value field by field and notes every mistake with its path.
//!
//! serde would stop at the first mistake. Here each step returns `None` after noting what is
//! wrong, the caller goes on with the other fields, and at the end all mistakes are known.

mod object;
mod scalar;

use std::cell::{Cell, RefCell};
use std::fmt;

use serde_json::{Map, Value};

pub(crate) use self::object::Object;
use self::object::unknown;
pub(crate) use self::scalar::parse_long_duration;
use crate::error::{FieldError, FieldErrorReason};
use crate::schema::Message;

/// More mistakes than this are counted, not listed: nobody reads them.
const MAX_ERRORS: usize = 100;
/// Longer bad values are cut in messages.
const MAX_ECHO: usize = 120;
/// Those of a wrong type are cut sooner: what stands there may be anything.
const MAX_TYPE_ECHO: usize = 64;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors {
    list: RefCell<Vec<FieldError>>,
    left_out: Cell<usize>,
    /// What is read was stored before, perhaps by another version.
    stored: bool,
}

/// Where a value stands in its object.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Entry(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

/// A value, where it stands, and where its mistakes are noted.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: Path<'a>,
    errors: &'a Errors,
    /// The value must not be repeated in a message.
    secret: bool,
    /// It is part of a Secret: of a wrong type, it may be a key that stands in the wrong place.
    confidential: bool,
}

/// An object whose keys are free.
pub(crate) struct Entries<'a> {
    node: Node<'a>,
    map: &'a Map<String, Value>,
}

/// A list.
pub(crate) struct List<'a> {
    node: Node<'a>,
    items: &'a [Value],
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A bad value in front of what is wrong with it, of at most so many characters. What holds others is
/// not repeated.
fn echo(value: &Value, most: usize) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => String::new(),
        Value::String(text) if text.chars().count() > most => {
            format!("{:?}: ", text.chars().take(most).chain(['…']).collect::<String>())
        }
        Value::String(text) => format!("{text:?}: "),
        other => format!("{other}: "),
    }
}

/// Quotes words for a message: `"a", "b"`.
pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

// === impl Errors ===

impl Errors {
    /// For an object that was stored before.
    pub(crate) fn of_stored() -> Self {
        Self { stored: true, ..Self::default() }
    }

    fn push(&self, error: FieldError) {
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_ERRORS {
            list.push(error);
        } else {
            self.left_out.set(self.left_out.get().saturating_add(1));
        }
    }

    /// The value that was read, if nothing was wrong.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Vec<FieldError>> {
        let mut list = self.list.into_inner();
        match value {
            Some(value) if list.is_empty() => Ok(value),
            _ => {
                if list.is_empty() {
                    list.push(FieldError::new("", FieldErrorReason::Invalid, "cannot be read"));
                }
                if self.left_out.get() > 0 {
                    let message = format!("{} more mistakes are not listed", self.left_out.get());
                    list.push(FieldError::new("", FieldErrorReason::Invalid, message));
                }
                Err(list)
            }
        }
    }
}

// === impl Path ===

impl Path<'_> {
    /// Whether it is below `spec`, or is that.
    fn is_in_spec(&self) -> bool {
        match self {
            Path::Root => false,
            Path::Key(Path::Root, key) => *key == "spec",
            Path::Key(above, _) | Path::Entry(above, _) | Path::Index(above, _) => above.is_in_spec(),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Entry(parent, key) => write!(f, "{parent}[{key}]"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

// === impl Node ===

impl<'a> Node<'a> {
    /// The whole object.
    pub(crate) fn root(value: &'a Value, errors: &'a Errors) -> Self {
        Self { value, path: Path::Root, errors, secret: false, confidential: false }
    }

    /// The same value, never to be repeated in a message.
    pub(crate) fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The same value as part of a Secret: what is of a wrong type in it is not repeated.
    pub(crate) fn confidential(mut self) -> Self {
        self.confidential = true;
        self
    }

    /// Notes a mistake in a sentence that says all.
    pub(crate) fn error(&self, reason: FieldErrorReason, message: impl Into<String>) {
        self.errors.push(FieldError::new(self.path.to_string(), reason, message));
    }

    /// Notes that the value is not valid, and why.
    pub(crate) fn invalid(&self, why: impl fmt::Display) {
        self.error(FieldErrorReason::Invalid, format!("Invalid value: {}{why}", self.echo()));
    }

    /// Notes that the key under which the value stands is not valid, and why.
    pub(crate) fn invalid_key(&self, why: impl fmt::Display) {
        self.error(FieldErrorReason::Invalid, format!("Invalid key: {why}"));
    }

    /// Notes that the value was there before.
    pub(crate) fn duplicate(&self) {
        self.error(
            FieldErrorReason::Duplicate,
            format!("Duplicate value: {}stands there twice", self.echo()),
        );
    }

    /// Notes that the value, though right in the original product, is not implemented.
    pub(crate) fn unsupported(&self, why: impl fmt::Display) {
        self.error(FieldErrorReason::NotSupported, format!("Unsupported value: {}{why}", self.echo()));
    }

    /// Notes that the value is missing or empty.
    pub(crate) fn required(&self, why: impl fmt::Display) {
        self.error(FieldErrorReason::Required, format!("Required value: {why}"));
    }

    /// Where it stands, for a warning.
    pub(crate) fn place(&self) -> String {
        self.path.to_string()
    }

    /// Nothing was wrong so far, here or elsewhere in the object.
    pub(crate) fn is_flawless(&self) -> bool {
        self.errors.list.borrow().is_empty()
    }

    /// A field of an object whose shape does not matter here.
    pub(crate) fn field<'b>(&'b self, key: &'b str) -> Option<Node<'b>> {
        let value = self.value.get(key)?;
        Some(Node { value, path: Path::Key(&self.path, key), ..*self })
    }

    /// The value as it is, for what only people read.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn string(&self) -> Option<&'a str> {
        match self.value {
            Value::String(text) => Some(text),
            Value::Bool(_) | Value::Number(_) => self.wrong_type("a string in quotes"),
            _ => self.wrong_type("a string"),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(*value),
            Value::String(_) => self.wrong_type("true or false without quotes"),
            _ => self.wrong_type("true or false"),
        }
    }

    /// A whole number, not negative.
    pub(crate) fn count(&self) -> Option<i64> {
        let Value::Number(number) = self.value else { return self.wrong_type("a whole number") };
        let count = number.as_i64().filter(|count| *count >= 0);
        if count.is_none() {
            self.invalid("must be a whole number, not negative");
        }
        count
    }

    /// A whole number of 32 bits, negative or not.
    pub(crate) fn signed(&self) -> Option<i32> {
        let Value::Number(number) = self.value else { return self.wrong_type("a whole number") };
        let signed = number.as_i64().and_then(|number| i32::try_from(number).ok());
        if signed.is_none() {
            self.invalid("must be a whole number of 32 bits");
        }
        signed
    }

    /// A TCP port, not zero.
    pub(crate) fn port(&self) -> Option<u16> {
        let Value::Number(number) = self.value else { return self.wrong_type("a whole number") };
        let port = number.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0);
        if port.is_none() {
            self.invalid("must be a port, a whole number between 1 and 65535");
        }
        port
    }

    /// An object with these fields. Unknown and unimplemented fields are noted at once.
    pub(crate) fn object(self, shape: &'static Message) -> Option<Object<'a>> {
        let Value::Object(map) = self.value else { return self.wrong_type("an object") };
        let mut proto_names = false;
        for (key, value) in map {
            let node = Node { value, path: Path::Key(&self.path, key), ..self };
            if shape.field(key).is_some() {
            } else if let Some(field) = shape.field_of_proto_name(key).filter(|_| self.path.is_in_spec()) {
                proto_names = true;
                if map.contains_key(field.name) {
                    node.invalid_key(format_args!(
                        "is another name of {}, which stands there too",
                        field.name
                    ));
                }
            } else if shape.refuses(key) {
                node.error(FieldErrorReason::NotSupported, "is not supported yet by this version");
            } else {
                node.error(FieldErrorReason::Invalid, unknown(shape, key));
            }
        }
        Some(Object { node: self, map, shape, proto_names })
    }

    /// An object with free keys.
    pub(crate) fn entries(self) -> Option<Entries<'a>> {
        let Value::Object(map) = self.value else { return self.wrong_type("an object") };
        Some(Entries { node: self, map })
    }

    pub(crate) fn list(self) -> Option<List<'a>> {
        let Value::Array(items) = self.value else { return self.wrong_type("a list") };
        Some(List { node: self, items })
    }

    fn wrong_type<T>(&self, expected: &str) -> Option<T> {
        let found = kind_of(self.value);
        // The whole of a body is not known to be no Secret, and null says nothing more than its type.
        let untold = self.secret || self.confidential || self.value.is_null();
        let untold = untold || matches!(self.path, Path::Root);
        let echo = if untold { String::new() } else { echo(self.value, MAX_TYPE_ECHO) };
        let message = format!("Invalid value: {echo}must be {expected}, but is {found}");
        self.error(FieldErrorReason::TypeInvalid, message);
        None
    }

    /// The bad value, in front of what is wrong with it.
    fn echo(&self) -> String {
        if self.secret { "[redacted]: ".to_owned() } else { echo(self.value, MAX_ECHO) }
    }
}

// === impl Entries ===

impl Entries<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Node<'_>)> {
        self.map.iter().map(|(key, value)| {
            (key.as_str(), Node { value, path: Path::Entry(&self.node.path, key), ..self.node })
        })
    }

    /// The object itself.
    pub(crate) fn node(&self) -> &Node<'_> {
        &self.node
    }
}

// === impl List ===

impl List<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Node<'_>> {
        self.items.iter().enumerate().map(|(index, value)| Node {
            value,
            path: Path::Index(&self.node.path, index),
            ..self.node
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The list itself.
    pub(crate) fn node(&self) -> &Node<'_> {
        &self.node
    }
}
