//! What is in the words of a refusal.

/// The places that a message names like this, such as 3 in `VirtualHosts[3]`, each with what follows up
/// to the next.
pub(super) fn places<'m>(message: &'m str, what: &str) -> impl Iterator<Item = (usize, &'m str)> {
    message.split(what).skip(1).filter_map(|rest| {
        let (place, rest) = rest.split_once(']')?;
        Some((place.parse().ok()?, rest))
    })
}

/// Whether a message has this name, and not only a longer one that it is part of. A route name has the
/// virtual host's before its first slash; what stands behind a slash is the user's own.
pub(super) fn mentions(message: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    message.match_indices(name).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        // A full stop that nothing follows ends a sentence.
        let after = message[at + name.len()..].split(|c| !part(c)).next().unwrap_or_default();
        before.is_none_or(|c| !part(c) && c != '/') && after.trim_end_matches('.').is_empty()
    })
}

/// What stands in quotation marks: between each two that follow each other, and between the first and the
/// last, as what is quoted may have some itself.
pub(super) fn quotes(message: &str) -> impl Iterator<Item = &str> {
    /// A mark alone, or a letter, says nothing.
    const SHORTEST: usize = 3;
    let marks = ['\'', '"'].into_iter().flat_map(move |mark| {
        let whole =
            message.split_once(mark).and_then(|(_, rest)| rest.rsplit_once(mark)).map(|(whole, _)| whole);
        message.split(mark).skip(1).step_by(2).chain(whole)
    });
    marks.filter(|quote| quote.len() >= SHORTEST)
}
