//! What a request must be like, from flags.

use clap::Args;
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

/// What a request must be like.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Matcher")]
pub(crate) struct MatcherArgs {
    /// Its path is this.
    #[arg(long, short = 'e', value_name = "PATH", group = "path", required_unless_present_any = ["path_prefix", "path_regex"])]
    path_exact: Option<String>,

    /// Its path begins with this.
    #[arg(long, short = 'p', value_name = "PATH", group = "path")]
    path_prefix: Option<String>,

    /// All of its path matches this regular expression (RE2).
    #[arg(long, short = 'r', value_name = "REGEX", group = "path")]
    path_regex: Option<String>,

    /// Its method is one of these, with commas between them [default: any].
    #[arg(long, short = 'm', value_name = "METHODS", value_delimiter = ',')]
    method: Vec<String>,

    /// It has this header, and all of its value matches this regular expression; may be given several times.
    #[arg(long, short = 'd', value_name = "NAME=REGEX", value_parser = condition)]
    header: Vec<Condition>,

    /// It has this query parameter, and all of its value matches this regular expression; may be given several
    /// times.
    #[arg(long = "queryParameter", short = 'q', visible_alias = "query-parameter", value_name = "NAME=REGEX", value_parser = condition)]
    query_parameter: Vec<Condition>,
}

/// A header or query parameter that is there, or matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Condition {
    name: String,
    regex: Option<String>,
}

/// Reads `NAME=REGEX` or `NAME`.
fn condition(text: &str) -> Result<Condition, String> {
    let (name, regex) = match text.split_once('=') {
        Some((name, regex)) => (name, Some(regex.to_owned())),
        None => (text, None),
    };
    if name.trim().is_empty() {
        return Err(format!("{text:?} has no name: write NAME=REGEX"));
    }
    Ok(Condition { name: name.trim().to_owned(), regex })
}

// === impl MatcherArgs ===

impl MatcherArgs {
    /// The matcher of a route.
    pub(crate) fn matcher(&self) -> Value {
        let mut matcher = Map::new();
        let paths = [("exact", &self.path_exact), ("prefix", &self.path_prefix), ("regex", &self.path_regex)];
        for (field, path) in paths {
            matcher.extend(path.as_deref().map(|path| (field.to_owned(), path.into())));
        }
        if !self.method.is_empty() {
            let methods: Vec<String> = self.method.iter().map(|method| method.to_ascii_uppercase()).collect();
            matcher.insert("methods".to_owned(), methods.into());
        }
        for (field, conditions) in [("headers", &self.header), ("queryParameters", &self.query_parameter)] {
            let mut conditions = conditions.clone();
            conditions.sort();
            if !conditions.is_empty() {
                matcher.insert(field.to_owned(), conditions.iter().map(Condition::value).collect());
            }
        }
        matcher.into()
    }
}

// === impl Condition ===

impl Condition {
    fn value(&self) -> Value {
        match &self.regex {
            Some(regex) => json!({ "name": self.name, "value": regex, "regex": true }),
            None => json!({ "name": self.name }),
        }
    }
}
