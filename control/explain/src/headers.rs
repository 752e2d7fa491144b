//! The headers of a request inside the proxy.

/// Names in lower case; pseudo headers are among them. Holds keys, so it cannot be printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

/// Of these Envoy keeps one, and joins what comes more than once.
const JOINED: [(&str, &str); 2] = [("authorization", ","), ("cookie", "; ")];

fn join(mut values: impl Iterator<Item = Vec<u8>>, separator: &str) -> Option<Vec<u8>> {
    let first = values.next()?;
    Some(values.fold(first, |mut joined, value| {
        joined.extend_from_slice(separator.as_bytes());
        joined.extend_from_slice(&value);
        joined
    }))
}

// === impl Headers ===

impl Headers {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Vec<u8>> + 'a {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.clone())
    }

    pub(crate) fn add(&mut self, name: &str, value: &[u8]) {
        self.0.push((name.to_owned(), value.to_vec()));
    }

    /// The values that a filter is given, one by one.
    pub(crate) fn each(&self, name: &str) -> Vec<Vec<u8>> {
        match JOINED.iter().find(|(other, _)| *other == name) {
            Some((_, separator)) => join(self.values(name), separator).into_iter().collect(),
            None => self.values(name).collect(),
        }
    }

    /// The first of them.
    pub(crate) fn first(&self, name: &str) -> Option<Vec<u8>> {
        self.each(name).into_iter().next()
    }

    /// The values that a matcher sees: all of them, as one.
    pub(crate) fn all(&self, name: &str) -> Option<Vec<u8>> {
        let separator = if name == "cookie" { "; " } else { "," };
        join(self.values(name), separator)
    }

    /// The value as text, where it is one.
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.first(name).unwrap_or_default()).into_owned()
    }

    pub(crate) fn set(&mut self, name: &str, value: &[u8]) {
        self.remove(|other| other == name);
        self.add(name, value);
    }

    /// Removes those of these names, and says how they are called.
    pub(crate) fn remove(&mut self, is_one: impl Fn(&str) -> bool) -> Vec<String> {
        let (gone, kept) = std::mem::take(&mut self.0).into_iter().partition(|(name, _)| is_one(name));
        self.0 = kept;
        let gone: Vec<(String, Vec<u8>)> = gone;
        gone.into_iter().map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_is_joined_for_matchers_and_for_filters_only_where_envoy_keeps_one() {
        let mut headers = Headers::default();
        for (name, value) in [
            ("a", "1"),
            ("authorization", "x"),
            ("cookie", "k=1"),
            ("a", "2"),
            ("authorization", "y"),
            ("cookie", "l=2"),
        ] {
            headers.add(name, value.as_bytes());
        }
        let text = |value: Option<Vec<u8>>| value.map(|value| String::from_utf8(value).expect("text"));
        assert_eq!(text(headers.first("a")).as_deref(), Some("1"));
        assert_eq!(text(headers.all("a")).as_deref(), Some("1,2"));
        assert_eq!(headers.each("a"), [b"1", b"2"]);
        assert_eq!(headers.each("cookie"), [b"k=1; l=2"]);
        assert_eq!(text(headers.first("authorization")).as_deref(), Some("x,y"));
        assert_eq!(text(headers.first("cookie")).as_deref(), Some("k=1; l=2"));
        assert_eq!(headers.first("b"), None);
        assert_eq!(headers.remove(|name| name == "a"), ["a", "a"]);
        headers.set("cookie", b"m=3");
        assert_eq!(headers.text("cookie"), "m=3");
    }
}
