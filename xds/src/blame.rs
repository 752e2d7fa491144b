//! Which resources of a refused response are at fault.

use crate::resource::Resource;

/// The resources that `message` names; else those of which `is_news` holds; else all of them.
///
/// A client refuses a response as a whole and says why in free text. Envoy's text names each bad
/// listener or cluster. When nothing is named, what the client accepted before is innocent and
/// nothing else is: sending any of the rest again would risk the same refusal for ever.
pub(crate) fn blamed<'a>(
    resources: impl IntoIterator<Item = &'a Resource>,
    message: &str,
    is_news: impl Fn(&Resource) -> bool,
) -> Vec<&'a Resource> {
    let all: Vec<_> = resources.into_iter().collect();
    let named: Vec<_> = all.iter().copied().filter(|r| all.len() > 1 && names(message, r.name())).collect();
    if !named.is_empty() {
        return named;
    }
    let news: Vec<_> = all.iter().copied().filter(|resource| is_news(resource)).collect();
    if news.is_empty() { all } else { news }
}

/// Cuts at a character boundary.
pub(crate) fn cut(message: &str, limit: usize) -> &str {
    let mut end = message.len().min(limit);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

/// Whether `name` stands in `text` as a word of its own.
fn names(text: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let mut after = text.get(at + name.len()..).unwrap_or_default().chars();
        let ends = match after.next() {
            None => true,
            // A full stop or a colon may end a sentence or go on with the name.
            Some('.' | ':') => after.next().is_none_or(char::is_whitespace),
            Some(c) => !continues_name(c),
        };
        ends && before.is_none_or(|c| !continues_name(c) && c != '.' && c != ':')
    })
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '~' | '|')
}

#[cfg(test)]
mod tests;
