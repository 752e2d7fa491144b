//! Cookies.

/// The values of a cookie.
pub(super) fn values(cookies: &[u8], name: &str) -> Vec<Vec<u8>> {
    pairs(cookies).filter_map(|pair| value(pair, name)).map(<[u8]>::to_vec).collect()
}

/// The header without a cookie; nothing if it has none of this name.
pub(super) fn without(cookies: &[u8], name: &str) -> Option<Vec<u8>> {
    if !pairs(cookies).any(|pair| value(pair, name).is_some()) {
        return None;
    }
    let kept: Vec<&[u8]> =
        pairs(cookies).filter(|pair| !pair.is_empty() && value(pair, name).is_none()).collect();
    Some(kept.join(&b"; "[..]))
}

fn pairs(cookies: &[u8]) -> impl Iterator<Item = &[u8]> {
    cookies.split(|byte| *byte == b';').map(<[u8]>::trim_ascii)
}

/// The value of a cookie, if it is the one of this name.
fn value<'a>(pair: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let at = pair.iter().position(|byte| *byte == b'=')?;
    let (found, value) = pair.split_at_checked(at)?;
    (found.trim_ascii() == name.as_bytes()).then(|| value.strip_prefix(b"=").unwrap_or_default().trim_ascii())
}
