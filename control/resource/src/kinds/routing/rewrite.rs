//! Reads rewrites of hosts and paths.

use super::{alternative, matcher, names};
use crate::kinds::options::{HostRewrite, RegexRewrite};
use crate::re2;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

pub(crate) static REGEX_REWRITE: Message = Message {
    name: "RegexMatchAndSubstitute",
    doc: "Replaces every part of a text that an expression matches.",
    fields: &[
        Field::required("pattern", Type::Object(&PATTERN), "What is replaced."),
        Field::new(
            "substitution",
            Type::String,
            "What stands in its place. `\\1` stands for what the first group matched, `\\0` for the whole, \
             `\\\\` for a backslash. Default empty.",
        ),
    ],
    unsupported: &[],
};

static PATTERN: Message = Message {
    name: "RegexMatcher",
    doc: "A regular expression.",
    fields: &[
        Field::required("regex", Type::String, "The expression (RE2)."),
        Field::new(
            "googleRe2",
            Type::Object(&GOOGLE_RE2),
            "Says that the expression is one of RE2, which it always is.",
        ),
    ],
    unsupported: &[],
};

static GOOGLE_RE2: Message = Message {
    name: "GoogleRe2",
    doc: "Without meaning: the size of expressions is bounded in any case.",
    fields: &[Field::new("maxProgramSize", Type::COUNT, "Without meaning.")],
    unsupported: &[],
};

/// `hostRewrite`.
pub(crate) const HOST: Field = Field::new(
    "hostRewrite",
    Type::String,
    "The host that the upstream sees in place of the client's, with a port or without. Excludes the other \
     host rewrites, as each of them does.",
);
/// `autoHostRewrite`.
pub(crate) const AUTO_HOST: Field = Field::new(
    "autoHostRewrite",
    Type::Boolean,
    "Whether the upstream sees the host name of the endpoint that was chosen, in place of the client's.",
);
/// `hostRewriteHeader`.
pub(crate) const HOST_HEADER: Field = Field::new(
    "hostRewriteHeader",
    Type::String,
    "The header of the request whose value the upstream sees as host. Without that header the host stays. Whoever \
     names a header in which a policy of the same virtual host looks for a key, or `api-key`, is rejected.",
);
/// `hostRewritePathRegex`.
pub(crate) const HOST_PATH_REGEX: Field = Field::new(
    "hostRewritePathRegex",
    Type::Object(&REGEX_REWRITE),
    "What an expression makes of the path is what the upstream sees as host.",
);

/// Reads a rewrite by an expression.
pub(crate) fn regex(node: Node<'_>) -> Option<RegexRewrite> {
    let fields = node.object(&REGEX_REWRITE)?;
    let pattern = fields.required("pattern", "a rewrite needs a pattern").and_then(pattern);
    let substitution = fields.or("substitution", "", |node| node.string());
    let ((regex, expression), substitution) = (pattern?, substitution?);
    let wrong = re2::check_substitution(substitution, expression)
        .and_then(|()| names::value(substitution).map_err(str::to_owned));
    if let (Err(why), Some(node)) = (wrong, fields.optional("substitution")) {
        node.invalid(why);
        return None;
    }
    Some(RegexRewrite { regex, substitution: substitution.to_owned() })
}

fn pattern(node: Node<'_>) -> Option<(String, re2::Expression)> {
    let fields = node.object(&PATTERN)?;
    if let Some(engine) = fields.optional("googleRe2")
        && let Some(engine) = engine.object(&GOOGLE_RE2)
    {
        engine.or("maxProgramSize", 0, |size| size.unsigned(0..=u32::MAX));
    }
    fields.required("regex", "a pattern needs a regular expression").and_then(matcher::regex)
}

/// Reads the host rewrite of a route.
pub(crate) fn host(fields: &Object<'_>) -> Option<Option<HostRewrite>> {
    let keys = ["hostRewrite", "autoHostRewrite", "hostRewriteHeader", "hostRewritePathRegex"];
    alternative(fields, &keys, |kind, node| match kind {
        "hostRewrite" => names::host_word(node).map(HostRewrite::Literal),
        "hostRewriteHeader" => names::header(node).map(HostRewrite::Header),
        "hostRewritePathRegex" => regex(node).map(HostRewrite::PathRegex),
        _ => node.boolean().map(HostRewrite::Auto),
    })
}
