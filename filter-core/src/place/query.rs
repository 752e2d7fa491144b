//! Query parameters.

/// The values of a parameter, decoded. A plus sign is one, as keys have them and rarely blanks.
pub(super) fn values(path: &[u8], name: &str) -> Vec<Vec<u8>> {
    let Some((_, query)) = split(path) else { return Vec::new() };
    query.split(|byte| *byte == b'&').filter_map(|parameter| value(parameter, name)).collect()
}

/// The path without a parameter; nothing if it has none of this name.
pub(super) fn without(path: &[u8], name: &str) -> Option<Vec<u8>> {
    let (path, query) = split(path)?;
    let parameters = || query.split(|byte| *byte == b'&');
    if !parameters().any(|parameter| value(parameter, name).is_some()) {
        return None;
    }
    let kept: Vec<&[u8]> = parameters().filter(|parameter| value(parameter, name).is_none()).collect();
    if kept.is_empty() {
        return Some(path.to_vec());
    }
    Some([path, &kept.join(&b'&')].join(&b'?'))
}

fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = path.iter().position(|byte| *byte == b'?')?;
    let (path, query) = path.split_at_checked(at)?;
    Some((path, query.strip_prefix(b"?")?))
}

/// The value of a parameter, if it is the one of this name.
fn value(parameter: &[u8], name: &str) -> Option<Vec<u8>> {
    let at = parameter.iter().position(|byte| *byte == b'=').unwrap_or(parameter.len());
    let (found, value) = parameter.split_at_checked(at)?;
    (decoded(found) == name.as_bytes()).then(|| decoded(value.strip_prefix(b"=").unwrap_or_default()))
}

/// Percent signs that encode nothing stand for themselves.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let encoded = after.split_first_chunk::<2>().filter(|_| *byte == b'%');
        let encoded =
            encoded.and_then(|([high, low], after)| Some((digit(*high)? << 4 | digit(*low)?, after)));
        match encoded {
            Some((byte, after)) => {
                decoded.push(byte);
                rest = after;
            }
            None => decoded.push(*byte),
        }
    }
    decoded
}
