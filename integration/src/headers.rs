//! HTTP headers as bytes: in order, with repetitions, values of any bytes.

use std::fmt;

/// Headers in the order in which they stand. Names compare without regard to case.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Headers {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

// === impl Headers ===

impl Headers {
    /// No headers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The headers with one more at the end.
    #[must_use]
    pub fn with(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.add(name, value);
        self
    }

    /// Adds a header at the end.
    pub fn add(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.entries.push((name.as_ref().to_vec(), value.as_ref().to_vec()));
    }

    /// The first value of a header.
    #[must_use]
    pub fn first(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.all(name).into_iter().next()
    }

    /// Every value of a header.
    #[must_use]
    pub fn all(&self, name: impl AsRef<[u8]>) -> Vec<&[u8]> {
        let name = name.as_ref();
        let same = self.entries.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_slice()).collect()
    }

    /// Removes every value of a header.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) {
        let name = name.as_ref();
        self.entries.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    /// Replaces every value of a header by one, which takes the place of the first.
    pub fn replace(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let name = name.as_ref();
        let place = self.entries.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
        self.remove(name);
        let place = place.unwrap_or(self.entries.len());
        self.entries.insert(place, (name.to_vec(), value.as_ref().to_vec()));
    }

    /// The headers with their names in lower case, as Envoy's codec gives them to filters.
    #[must_use]
    pub fn lower_case(&self) -> Self {
        let lower = |(name, value): &(Vec<u8>, Vec<u8>)| (name.to_ascii_lowercase(), value.clone());
        Self { entries: self.entries.iter().map(lower).collect() }
    }

    /// How many there are, repetitions counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Name and value of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for (name, value) in self.iter() {
            list.entry(&format_args!("{}: {}", name.escape_ascii(), value.escape_ascii()));
        }
        list.finish()
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        let mut headers = Self::new();
        for (name, value) in entries {
            headers.add(name, value);
        }
        headers
    }
}
