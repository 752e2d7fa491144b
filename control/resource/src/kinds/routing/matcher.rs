//! Reads matchers.

use super::{Context, Scope, all, alternative, names};
use crate::kinds::route::{HeaderMatcher, Matcher, PathMatcher, QueryParameterMatcher, ValueMatcher};
use crate::re2::{self, Expression};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

pub(crate) static MATCHER: Message = Message {
    name: "Matcher",
    doc: "A condition on a request: all its parts must hold. At most one of `prefix`, `exact` and `regex`.",
    fields: &[
        Field::new(
            "prefix",
            Type::String,
            "The path begins with this, whatever follows: `/api` matches `/apiary` too. Begins with '/'; \
             without '?', '#', '//', '/./', '/../' and '%2f'.",
        ),
        Field::new("exact", Type::String, "The path is this. The same rules hold as for `prefix`."),
        Field::new(
            "regex",
            Type::String,
            "All of the path matches this regular expression (RE2), without the query.",
        ),
        Field::new(
            "caseSensitive",
            Type::Boolean,
            "Whether the case of letters counts in `prefix` and `exact`. Default true. In a `regex` write \
             `(?i)` instead.",
        ),
        Field::new(
            "headers",
            Type::List(&Type::Object(&HEADER_MATCHER)),
            "Conditions on headers. All must hold.",
        ),
        Field::new(
            "queryParameters",
            Type::List(&Type::Object(&QUERY_PARAMETER_MATCHER)),
            "Conditions on query parameters. All must hold.",
        ),
        Field::new(
            "methods",
            Type::STRING_LIST,
            "The methods that match, such as `GET`, in upper case. None means all.",
        ),
    ],
    unsupported: &["connectMatcher"],
};

static HEADER_MATCHER: Message = Message {
    name: "HeaderMatcher",
    doc: "A condition on a header.",
    fields: &[
        Field::required(
            "name",
            Type::String,
            "The name of the header, in any case; also `:authority`, `:method`, `:path` and `:scheme`. Not \
             the header that carries the identity of the caller, which is known only later.",
        ),
        Field::new("value", Type::String, "What the header must be. Empty: it must be there."),
        Field::new(
            "regex",
            Type::Boolean,
            "Whether `value` is a regular expression (RE2), which all of the header must match. Default \
             false.",
        ),
        Field::new("invertMatch", Type::Boolean, "Whether the condition must not hold. Default false."),
    ],
    unsupported: &[],
};

static QUERY_PARAMETER_MATCHER: Message = Message {
    name: "QueryParameterMatcher",
    doc: "A condition on a parameter of the query.",
    fields: &[
        Field::required("name", Type::String, "The name of the parameter; case counts."),
        Field::new("value", Type::String, "What the parameter must be. Empty: it must be there."),
        Field::new(
            "regex",
            Type::Boolean,
            "Whether `value` is a regular expression (RE2), which all of the parameter must match. Default \
             false.",
        ),
    ],
    unsupported: &[],
};

/// The longest name of a query parameter that the proxy takes.
const MAX_PARAMETER_LEN: usize = 1024;

/// What the rest of a route says about the paths of its matchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRule {
    /// There must be one.
    Needed,
    /// It may be inherited.
    Inherited,
    /// The route delegates: it is a prefix, `/` if none is written.
    Delegates,
}

pub(crate) fn list(
    node: Node<'_>,
    rule: PathRule,
    scope: Scope<'_>,
    context: &mut Context<'_>,
) -> Option<Vec<Matcher>> {
    if rule == PathRule::Delegates && node.list()?.len() > 1 {
        node.invalid("invalid route: routes with delegate actions must omit or specify a single matcher");
        return None;
    }
    let inherits = rule == PathRule::Inherited && matches!(scope, Scope::Table(_));
    all(node, |item| matcher(item, rule, inherits, context))
}

fn matcher(node: Node<'_>, rule: PathRule, inherits: bool, context: &mut Context<'_>) -> Option<Matcher> {
    let fields = node.object(&MATCHER)?;
    let path = path(&fields, rule, inherits);
    let case_sensitive = fields.maybe("caseSensitive", |node| node.boolean());
    let headers = fields.or("headers", Vec::new(), |list| all(list, header));
    let query_parameters = fields.or("queryParameters", Vec::new(), |list| all(list, query_parameter));
    let methods = fields.or("methods", Vec::new(), |list| methods(list, context));
    let (path, case_sensitive) = (path?, case_sensitive?);
    if case_sensitive == Some(false) && matches!(path, Some(PathMatcher::Regex(_))) {
        context.warnings.push(format!(
            "{}: caseSensitive has no effect on a regex: begin it with (?i) instead",
            fields.node().place()
        ));
    }
    Some(Matcher {
        path,
        case_sensitive,
        headers: headers?,
        query_parameters: query_parameters?,
        methods: methods?,
    })
}

fn path(fields: &Object<'_>, rule: PathRule, inherits: bool) -> Option<Option<PathMatcher>> {
    let path = alternative(fields, &["prefix", "exact", "regex"], |kind, node| {
        if rule == PathRule::Delegates && fields.optional("prefix").is_none() {
            node.invalid("invalid route: routes with delegate actions must use a prefix matcher");
            return None;
        }
        match kind {
            "exact" => names::path(node).map(PathMatcher::Exact),
            "regex" => regex(node).map(|(text, _)| PathMatcher::Regex(text)),
            _ => names::path(node).map(PathMatcher::Prefix),
        }
    })?;
    if path.is_none() && !inherits && rule != PathRule::Delegates {
        fields.choice("prefix", "no path specifier provided");
        return None;
    }
    Some(path)
}

/// A regular expression that is not empty, and what is known of it.
pub(crate) fn regex(node: Node<'_>) -> Option<(String, Expression)> {
    let text = node.string()?;
    if text.is_empty() {
        node.required("an empty regular expression matches nothing but an empty text");
        return None;
    }
    match re2::parse(text) {
        Ok(expression) => Some((text.to_owned(), expression)),
        Err(why) => {
            node.invalid(format_args!("is not a regular expression in RE2 syntax: {why}"));
            None
        }
    }
}

fn header(node: Node<'_>) -> Option<HeaderMatcher> {
    let fields = node.object(&HEADER_MATCHER)?;
    let name = fields.required("name", "a header needs a name").and_then(names::matched_header);
    let value = value(&fields);
    let invert = fields.flag("invertMatch", false);
    if let Some(ValueMatcher::Exact(text)) = &value
        && let Err(why) = names::matched_value(text)
        && let Some(node) = fields.optional("value")
    {
        node.invalid(why);
        return None;
    }
    Some(HeaderMatcher { name: name?, value: value?, invert: invert? })
}

fn query_parameter(node: Node<'_>) -> Option<QueryParameterMatcher> {
    let fields = node.object(&QUERY_PARAMETER_MATCHER)?;
    let name = fields.required("name", "a query parameter needs a name").and_then(|name| {
        let text = name.string()?;
        if text.is_empty() {
            name.required("a query parameter needs a name");
            return None;
        }
        if text.len() > MAX_PARAMETER_LEN {
            name.invalid(format_args!("must have at most {MAX_PARAMETER_LEN} bytes"));
            return None;
        }
        Some(text.to_owned())
    });
    let value = value(&fields);
    Some(QueryParameterMatcher { name: name?, value: value? })
}

/// `value` and `regex`. An empty value means that there is any.
fn value(fields: &Object<'_>) -> Option<ValueMatcher> {
    let is_regex = fields.flag("regex", false);
    let Some(node) = fields.optional("value") else { return is_regex.map(|_| ValueMatcher::Present) };
    let text = node.string()?;
    match is_regex? {
        _ if text.is_empty() => Some(ValueMatcher::Present),
        true => regex(node).map(|(text, _)| ValueMatcher::Regex(text)),
        false => Some(ValueMatcher::Exact(text.to_owned())),
    }
}

fn methods(node: Node<'_>, context: &mut Context<'_>) -> Option<Vec<String>> {
    let mut methods = all(node, |item| {
        let method = names::method(item)?;
        if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
            context.warnings.push(format!(
                "{}: the case of methods counts: {method} is not {}",
                item.place(),
                method.to_ascii_uppercase()
            ));
        }
        Some(method)
    })?;
    let mut seen = std::collections::BTreeSet::new();
    methods.retain(|method| seen.insert(method.clone()));
    Some(methods)
}
