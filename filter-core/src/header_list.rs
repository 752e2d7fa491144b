//! All headers of a request, as a proxy lays them out: how many (32 bits, little endian), the lengths of each
//! name and value, and then all of these, each with a zero byte behind it.

#[cfg(test)]
mod tests;

/// The values of a header, in order; names are in lower case. Nothing if the bytes are no such list.
#[must_use]
pub fn values(list: &[u8], name: &str) -> Option<Vec<Vec<u8>>> {
    let (count, rest) = list.split_first_chunk()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let (lengths, mut texts) = rest.split_at_checked(count.checked_mul(8)?)?;
    let mut values = Vec::new();
    for pair in lengths.as_chunks::<8>().0 {
        let (name_length, value_length) = pair.split_first_chunk::<4>()?;
        let found = take(&mut texts, *name_length)?;
        let value = take(&mut texts, *value_length.first_chunk()?)?;
        if found == name.as_bytes() {
            values.push(value.to_vec());
        }
    }
    Some(values)
}

/// The next text, without its zero byte.
fn take<'a>(texts: &mut &'a [u8], length: [u8; 4]) -> Option<&'a [u8]> {
    let (text, rest) = texts.split_at_checked(usize::try_from(u32::from_le_bytes(length)).ok()?)?;
    *texts = rest.strip_prefix(b"\0")?;
    Some(text)
}
