//! What is asked of a request.

use serde::Deserialize;

use super::Rest;

/// What a route asks of a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RouteMatch {
    prefix: Option<String>,
    path: Option<String>,
    safe_regex: Option<RegexMatcher>,
    path_separated_prefix: Option<String>,
    case_sensitive: Option<bool>,
    pub(crate) headers: Vec<HeaderMatcher>,
    pub(crate) query_parameters: Vec<QueryMatcher>,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

/// What it asks of the path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathMatch<'a> {
    Prefix(&'a str),
    /// A prefix that ends where a segment does.
    Segments(&'a str),
    Exact(&'a str),
    Regex(&'a str),
}

/// What is asked of a header.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeaderMatcher {
    pub(crate) name: String,
    pub(crate) present_match: Option<bool>,
    pub(crate) string_match: Option<StringMatcher>,
    #[serde(default)]
    pub(crate) invert_match: bool,
    #[serde(default)]
    pub(crate) treat_missing_header_as_empty: bool,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

/// What is asked of a query parameter.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueryMatcher {
    pub(crate) name: String,
    pub(crate) present_match: Option<bool>,
    pub(crate) string_match: Option<StringMatcher>,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

/// What is asked of a text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StringMatcher {
    pub(crate) exact: Option<String>,
    pub(crate) prefix: Option<String>,
    pub(crate) suffix: Option<String>,
    pub(crate) contains: Option<String>,
    pub(crate) safe_regex: Option<RegexMatcher>,
    pub(crate) ignore_case: bool,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

/// A regular expression, of which all of a text has to be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RegexMatcher {
    pub(crate) regex: String,
}

// === impl RouteMatch ===

impl RouteMatch {
    /// What it asks of the path; none where that is not known here.
    pub(crate) fn path(&self) -> Option<PathMatch<'_>> {
        let prefix = self.prefix.as_deref().map(PathMatch::Prefix);
        let segments = self.path_separated_prefix.as_deref().map(PathMatch::Segments);
        let exact = self.path.as_deref().map(PathMatch::Exact);
        let regex = self.safe_regex.as_ref().map(|matcher| PathMatch::Regex(&matcher.regex));
        prefix.or(segments).or(exact).or(regex)
    }

    pub(crate) fn is_case_sensitive(&self) -> bool {
        self.case_sensitive.unwrap_or(true)
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        let mut words = match self.path() {
            Some(PathMatch::Prefix(prefix)) => format!("prefix {prefix}"),
            Some(PathMatch::Segments(prefix)) => format!("prefix {prefix} of whole segments"),
            Some(PathMatch::Exact(path)) => format!("exact {path}"),
            Some(PathMatch::Regex(regex)) => format!("regex {regex}"),
            None => "a path matcher that is not known".to_owned(),
        };
        if !self.is_case_sensitive() {
            words.push_str(" in letters of any case");
        }
        for header in &self.headers {
            let text = header.describe();
            words.push_str(&format!(", {text}"));
        }
        for parameter in &self.query_parameters {
            let text = parameter.string_match.as_ref().map(|text| format!(" {}", text.describe()));
            words.push_str(&format!(", query {}{}", parameter.name, text.unwrap_or_default()));
        }
        words
    }
}

// === impl HeaderMatcher ===

impl HeaderMatcher {
    fn describe(&self) -> String {
        let what = match self.name.as_str() {
            ":method" => "method".to_owned(),
            name => format!("header {name}"),
        };
        let not = if self.invert_match { " not" } else { "" };
        match &self.string_match {
            Some(text) => format!("{what}{not} {}", text.describe()),
            None if self.invert_match => format!("no {what}"),
            None => what,
        }
    }
}

// === impl StringMatcher ===

impl StringMatcher {
    pub(crate) fn describe(&self) -> String {
        if let Some(text) = &self.exact {
            return format!("= {text}");
        }
        if let Some(matcher) = &self.safe_regex {
            return format!("~ {}", matcher.regex);
        }
        let parts =
            [("starting with", &self.prefix), ("ending with", &self.suffix), ("with", &self.contains)];
        let known = parts.iter().find_map(|(words, text)| Some(format!("{words} {}", text.as_ref()?)));
        known.unwrap_or_else(|| "something that is not known".to_owned())
    }
}
