//! The `Accept` header: which of several forms of an answer a client wants.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// What a client accepts, what it likes best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accept(Vec<Range>);

/// One of the things it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    media: String,
    parameters: Vec<(String, String)>,
}

/// Reads one range, and how much it is liked in thousandths: RFC 9110, section 12.5.1. Unlike a type in
/// a quoted string, none of the types that matter here has a comma or a semicolon in it.
fn range(text: &str) -> Option<(Range, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?.to_ascii_lowercase();
    let mut quality = 1000;
    let mut parameters = Vec::new();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
        if name == "q" {
            quality = thousandths(value)?;
        } else {
            parameters.push((name, value.to_owned()));
        }
    }
    Some((Range { media, parameters }, quality))
}

fn thousandths(text: &str) -> Option<u16> {
    let number: f32 = text.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 1000 after the clamp"
    )]
    let thousandths = (number.clamp(0.0, 1.0) * 1000.0) as u16;
    Some(thousandths)
}

// === impl Accept ===

impl Accept {
    /// Reads the headers of a request. Without the header everything is accepted.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values: Vec<_> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if values.is_empty() {
            return Self(vec![Range { media: "*/*".to_owned(), parameters: Vec::new() }]);
        }
        let mut ranges: Vec<_> = values.iter().flat_map(|value| value.split(',')).filter_map(range).collect();
        ranges.retain(|(_, quality)| *quality > 0);
        // Stable: what is liked as much stays in the order in which it was said.
        ranges.sort_by_key(|(_, quality)| std::cmp::Reverse(*quality));
        Self(ranges.into_iter().map(|(range, _)| range).collect())
    }

    /// The first form that somebody can make of what is accepted.
    pub(crate) fn first<T>(&self, make: impl FnMut(&Range) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(make)
    }
}

// === impl Range ===

impl Range {
    /// Whether it takes this media type: `application/json`.
    pub(crate) fn takes(&self, media: &str) -> bool {
        let wildcard = media.split('/').next().is_some_and(|kind| self.media == format!("{kind}/*"));
        self.media == media || self.media == "*/*" || wildcard
    }

    /// A parameter: of `application/json;as=Table` it is `Table` for `as`.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests;
