//! Reads matchers.

use crate::kinds::route::{Matcher, PathMatcher};
use crate::metadata;
use crate::reader::Node;
use crate::schema::{Field, Message, Type};
use crate::syntax;

pub(crate) static MATCHER: Message = Message {
    name: "Matcher",
    doc: "A condition on a request: all parts must hold.",
    fields: &[
        Field::new("prefix", Type::String, "The path begins with this."),
        Field::new("caseSensitive", Type::Boolean, "Whether the case of letters in the path counts."),
    ],
    unsupported: &["connectMatcher", "exact", "headers", "methods", "queryParameters", "regex"],
};

pub(crate) fn list(node: Node<'_>) -> Option<Vec<Matcher>> {
    let list = node.list()?;
    // All are read before the first failure counts, so that every mistake is found.
    let matchers: Vec<_> = list.iter().map(read).collect();
    matchers.into_iter().collect()
}

fn read(node: Node<'_>) -> Option<Matcher> {
    let fields = node.object(&MATCHER)?;
    fields.only("caseSensitive", true);
    let prefix = fields.choice("prefix", "no path specifier provided")?;
    let path = PathMatcher::Prefix(metadata::word(&prefix, syntax::path_prefix)?);
    let case_sensitive = fields.optional("caseSensitive").and_then(|node| node.boolean());
    Some(Matcher { path: Some(path), case_sensitive, ..Matcher::default() })
}
