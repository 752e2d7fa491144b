//! `docs/resources.md` is made of the field tables, so that it cannot say anything else than what is
//! served. `UPDATE_GOLDENS=1` writes it anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use keyward_resource::KINDS;
use keyward_resource::schema::{Field, Message, Type};

const HEAD: &str = "# Resources

Every kind with every field: what it says, and what is refused by name. Fields that stand in no table are \
unknown, and refused with the nearest known name (`fieldValidation=Warn` or `Ignore` drops them). Below `spec` \
the names of the original's protobuf files are known as well (`retriable_status_codes` is `retriableStatusCodes`), \
and stay as they were written. A key that stands twice in one object is always refused: nobody knows which was \
meant. This page is made of the same tables that readers and `kubectl explain` use.

";

/// What stands in a field, in few words.
fn word(ty: Type) -> String {
    match ty {
        Type::Boolean => "boolean".to_owned(),
        Type::Integer(min, max) if (min, max) == (0, i64::MAX) => "integer".to_owned(),
        Type::Integer(min, max) => format!("integer {min} to {max}"),
        Type::Long(min, max) if (min, max) == (i64::MIN, i64::MAX) => "integer, also in quotes".to_owned(),
        Type::Long(min, max) => format!("integer {min} to {max}, also in quotes"),
        Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Duration => "duration".to_owned(),
        Type::Enum(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Type::Bytes => "base64".to_owned(),
        Type::Time => "time".to_owned(),
        Type::Object(message) => format!("[{}](#{})", message.name, message.name.to_lowercase()),
        Type::Map(of) => format!("map of {}", word(*of)),
        Type::List(of) => format!("list of {}", word(*of)),
        Type::Any => "anything".to_owned(),
    }
}

/// The message in a field, if there is one.
fn inner(ty: Type) -> Option<&'static Message> {
    match ty {
        Type::Object(message) => Some(message),
        Type::Map(of) | Type::List(of) => inner(*of),
        _ => None,
    }
}

fn row(page: &mut String, field: &Field) {
    let required = if field.required { " (required)" } else { "" };
    let doc = field.doc.replace('|', "\\|");
    writeln!(page, "| `{}`{required} | {} | {doc} |", field.name, word(field.ty)).expect("a string");
}

/// A message and those in it that were not described before.
fn describe(page: &mut String, message: &'static Message, level: &str, known: &mut BTreeSet<&'static str>) {
    if !known.insert(message.name) {
        return;
    }
    writeln!(page, "{level} {}\n\n{}\n", message.name, message.doc).expect("a string");
    if !message.fields.is_empty() {
        page.push_str("| field | type | meaning |\n|---|---|---|\n");
        message.fields.iter().for_each(|field| row(page, field));
        page.push('\n');
    }
    if !message.unsupported.is_empty() {
        let names: Vec<String> = message.unsupported.iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "Refused by name: {}.\n", names.join(", ")).expect("a string");
    }
    for message in message.fields.iter().filter_map(|field| inner(field.ty)) {
        describe(page, message, "###", known);
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| kind | group and version | also as | short names |\n|---|---|---|---|\n");
    for kind in KINDS {
        let aliases: Vec<String> = kind.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let short: Vec<String> =
            kind.short_names.iter().chain(kind.alias_short_names).map(|name| format!("`{name}`")).collect();
        let (name, anchor) = (kind.name, kind.name.to_lowercase());
        let (aliases, short) = (aliases.join(", "), short.join(", "));
        writeln!(page, "| [{name}](#{anchor}) | `{}` | {aliases} | {short} |", kind.group_version)
            .expect("a string");
    }
    page.push('\n');
    let mut known = BTreeSet::new();
    for kind in KINDS {
        describe(&mut page, kind.fields, "##", &mut known);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

#[test]
fn the_reference_says_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/resources.md");
    let page = page();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/resources.md is stale: `just golden` writes it anew");
}
